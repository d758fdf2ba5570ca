# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-doctor -f
complete -c ptrace-doctor -a '(__ptrace_sessions)' -d session
complete -c ptrace-doctor -a '(__ptrace_logs)'
complete -c ptrace-doctor -s e -l event -x -d 'the event that is missed'
__ptrace_json ptrace-doctor
__ptrace_standard ptrace-doctor

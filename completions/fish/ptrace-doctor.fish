# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-doctor -a '(__ptrace_sessions)' -d session
complete -c ptrace-doctor -a '(__ptrace_logs)'
complete -c ptrace-doctor -s e -l event -x -d 'name of the event that is missing from the trace'
__ptrace_json ptrace-doctor
__ptrace_standard ptrace-doctor

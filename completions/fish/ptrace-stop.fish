# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-stop -f
complete -c ptrace-stop -a '(__ptrace_sessions)' -d session
__ptrace_json ptrace-stop
__ptrace_standard ptrace-stop

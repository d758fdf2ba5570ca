# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-start -f
complete -c ptrace-start -a '(__ptrace_sessions)' -d session
__ptrace_json ptrace-start
__ptrace_standard ptrace-start

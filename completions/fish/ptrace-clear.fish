# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-clear -f
complete -c ptrace-clear -a '(__ptrace_sessions)' -d session
__ptrace_json ptrace-clear
__ptrace_standard ptrace-clear

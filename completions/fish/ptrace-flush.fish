# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-flush -f
complete -c ptrace-flush -a '(__ptrace_sessions)' -d session
__ptrace_json ptrace-flush
__ptrace_standard ptrace-flush

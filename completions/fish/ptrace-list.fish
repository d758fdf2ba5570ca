# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-list -f
__ptrace_format ptrace-list
__ptrace_json ptrace-list
__ptrace_standard ptrace-list

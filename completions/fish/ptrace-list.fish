# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
__ptrace_format ptrace-list
__ptrace_json ptrace-list
__ptrace_standard ptrace-list

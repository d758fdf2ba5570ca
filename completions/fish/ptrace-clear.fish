# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
__ptrace_session_command ptrace-clear

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
__ptrace_loss ptrace-shutdown
complete -c ptrace-shutdown -l all -d 'end all sessions of the user'
__ptrace_session_command ptrace-shutdown

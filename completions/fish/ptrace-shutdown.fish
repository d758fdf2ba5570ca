# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-shutdown -f
complete -c ptrace-shutdown -a '(__ptrace_sessions)' -d session
__ptrace_loss ptrace-shutdown
complete -c ptrace-shutdown -l all -d 'all sessions'
__ptrace_json ptrace-shutdown
__ptrace_standard ptrace-shutdown

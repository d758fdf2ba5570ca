# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-events -a '(__ptrace_sessions)' -d session
complete -c ptrace-events -a '(__ptrace_logs)'
complete -c ptrace-events -l names -d 'only the names, one per line, without counting'
complete -c ptrace-events -l user -d 'leave the system\'s own event types out'
__ptrace_json ptrace-events
__ptrace_loss ptrace-events
__ptrace_standard ptrace-events

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-stat -a '(__ptrace_sessions)' -d session
complete -c ptrace-stat -a '(__ptrace_logs)'
__ptrace_format ptrace-stat
complete -c ptrace-stat -l utc -d 'times in text are UTC'
__ptrace_loss ptrace-stat
__ptrace_json ptrace-stat
__ptrace_standard ptrace-stat

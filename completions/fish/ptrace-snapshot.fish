# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-snapshot -a '(__ptrace_sessions)' -d session
complete -c ptrace-snapshot -s o -l output -r -F -d 'write the events to this log'
complete -c ptrace-snapshot -l force -d 'replace an existing file even if it is not a log'
__ptrace_json ptrace-snapshot
__ptrace_loss ptrace-snapshot
__ptrace_standard ptrace-snapshot

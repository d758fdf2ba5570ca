# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-dump -f
complete -c ptrace-dump -a '(__ptrace_logs)'
__ptrace_format ptrace-dump
complete -c ptrace-dump -s e -l event -x -a '(__ptrace_events)' -d 'only events whose name matches'
complete -c ptrace-dump -l pid -x -a '(__ptrace_pids)' -d 'only events of the process'
complete -c ptrace-dump -l first -x -d 'only the first ones'
complete -c ptrace-dump -l last -x -d 'only the last ones'
complete -c ptrace-dump -l count -d 'only how many'
__ptrace_loss ptrace-dump
__ptrace_standard ptrace-dump

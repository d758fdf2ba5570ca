# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-dump -f
complete -c ptrace-dump -a '(__ptrace_logs)'
complete -c ptrace-dump -l follow -x -a '(__ptrace_sessions)' -d 'a session, as its events come'
complete -c ptrace-dump -s e -l event -x -a '(__ptrace_events)' -d 'only events whose name matches'
complete -c ptrace-dump -l user -d 'leave system events out'
complete -c ptrace-dump -l pid -x -a '(__ptrace_pids)' -d 'only events of the process'
complete -c ptrace-dump -l tid -x -d 'only events of the thread'
complete -c ptrace-dump -l since -x -d 'only events from then on'
complete -c ptrace-dump -l until -x -d 'only events up to then'
complete -c ptrace-dump -l around -x -a '(__ptrace_events)' -d 'only events near to those whose name matches'
complete -c ptrace-dump -l before -x -d 'how long before them'
complete -c ptrace-dump -l after -x -d 'how long after them'
complete -c ptrace-dump -l where -x -d 'only events for which it holds'
complete -c ptrace-dump -l first -x -d 'only the first ones'
complete -c ptrace-dump -l last -x -d 'only the last ones'
complete -c ptrace-dump -l count -d 'only how many'
complete -c ptrace-dump -l decode -x -d 'what the data of events means'
complete -c ptrace-dump -s c -l config -r -F -d 'configuration to read'
complete -c ptrace-dump -l fields -x -a '(__fish_append , time ns event id pid tid thread address truncated len data log reason error)' -d 'what is shown of each'
__ptrace_format ptrace-dump
complete -c ptrace-dump -l json -d 'output as JSON'
complete -c ptrace-dump -l color -x -a 'auto always never' -d 'colours in text'
complete -c ptrace-dump -l summary -d 'say at the end what was shown and what is missing'
__ptrace_loss ptrace-dump
__ptrace_standard ptrace-dump

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-dump -a '(__ptrace_sessions)' -d session
complete -c ptrace-dump -a '(__ptrace_logs)'
complete -c ptrace-dump -s f -l follow -x -a '(__ptrace_sessions)' -d 'show the events of a session as they come'
complete -c ptrace-dump -s e -l event -x -a '(__ptrace_events)' -d 'show only events whose name matches'
complete -c ptrace-dump -l user -d 'leave the system\'s own events out'
complete -c ptrace-dump -s p -l pid -x -a '(__ptrace_pids)' -d 'show only events of the process'
complete -c ptrace-dump -l tid -x -d 'show only events of the thread'
complete -c ptrace-dump -l since -x -d 'show only events from this time on'
complete -c ptrace-dump -l until -x -d 'show only events up to this time'
complete -c ptrace-dump -l around -x -a '(__ptrace_events)' -d 'show only events near to those whose name matches'
complete -c ptrace-dump -l before -x -d 'how long before them'
complete -c ptrace-dump -l after -x -d 'how long after them'
complete -c ptrace-dump -l where -x -d 'show only events for which the expression holds'
complete -c ptrace-dump -l first -x -d 'show only the first of them'
complete -c ptrace-dump -l last -x -d 'show only the last of them'
complete -c ptrace-dump -l count -d 'show only how many there are'
complete -c ptrace-dump -l threads -x -d 'how many threads format events'
complete -c ptrace-dump -l verify -d 'show none, but compare all with what the logs say'
complete -c ptrace-dump -l decode -x -d 'what the data of events means'
complete -c ptrace-dump -s c -l config -r -F -d 'take layouts from the decode: of this file'
complete -c ptrace-dump -l fields -x -a '(__fish_append , time ns event id pid tid thread address truncated len data data_hex log reason error host comm exe user command_line)' -d 'show these fields, in this order'
__ptrace_format ptrace-dump
complete -c ptrace-dump -l json -d 'output as JSON'
complete -c ptrace-dump -l color -x -a 'auto always never' -d 'colours in text'
complete -c ptrace-dump -l summary -d 'say at the end what was shown and what is missing'
complete -c ptrace-dump -l to-log -r -F -d 'write the events to this log, in place of showing them'
complete -c ptrace-dump -l force -d 'replace an existing file even if it is not a log'
complete -c ptrace-dump -l utc -d 'times in text are UTC'
complete -c ptrace-dump -l relative -d 'show the time since the first event and since the event before'
complete -c ptrace-dump -l header -x -a 'auto always never' -d 'a line that names the columns of text'
__ptrace_loss ptrace-dump
__ptrace_standard ptrace-dump

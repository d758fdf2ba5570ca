# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-report -a '(__ptrace_sessions)' -d session
complete -c ptrace-report -a '(__ptrace_logs)'
complete -c ptrace-report -s o -l output -r -F -d 'write the report to this file'
complete -c ptrace-report -l force -d 'replace an existing file even if it is not a report'
complete -c ptrace-report -l max-size -x -d 'the most bytes that the report may have'
complete -c ptrace-report -l text -d 'show summary, durations and gaps as text instead'
complete -c ptrace-report -l utc -d 'times in text are UTC'
complete -c ptrace-report -s e -l event -x -a '(__ptrace_events)' -d 'only events whose name matches'
complete -c ptrace-report -l user -d 'leave the system\'s own events out'
complete -c ptrace-report -s p -l pid -x -a '(__ptrace_pids)' -d 'only events of the process'
complete -c ptrace-report -l tid -x -d 'only events of the thread'
complete -c ptrace-report -l since -x -d 'only events from this time on'
complete -c ptrace-report -l until -x -d 'only events up to this time'
complete -c ptrace-report -l around -x -a '(__ptrace_events)' -d 'only events near to those whose name matches'
complete -c ptrace-report -l before -x -d 'how long before them'
complete -c ptrace-report -l after -x -d 'how long after them'
complete -c ptrace-report -l where -x -d 'only events for which the expression holds'
complete -c ptrace-report -l first -x -d 'only the first of them'
complete -c ptrace-report -l last -x -d 'only the last of them'
complete -c ptrace-report -l label -x -d 'what the host of a log is called'
complete -c ptrace-report -l pair -x -d 'take these for pairs, too: BEGIN..END [by FIELD]'
complete -c ptrace-report -l decode -x -d 'what the data of events means'
complete -c ptrace-report -l strict -d 'exit with 3 if data does not fit its layout'
complete -c ptrace-report -l symbols -d 'say where it is not known where events come from'
complete -c ptrace-report -s c -l config -r -F -d 'take layouts from the decode: of this file'
__ptrace_loss ptrace-report
__ptrace_standard ptrace-report

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-export -a '(__ptrace_sessions)' -d session
complete -c ptrace-export -a '(__ptrace_logs)'
complete -c ptrace-export -l to -x -a 'chrome perfetto ctf folded speedscope csv' -d 'the format'
complete -c ptrace-export -s o -l output -r -F -d 'write to this file'
complete -c ptrace-export -l force -d 'replace an existing file even if it is not of the format'
complete -c ptrace-export -s e -l event -x -a '(__ptrace_events)' -d 'only events whose name matches'
complete -c ptrace-export -l user -d 'leave the system\'s own events out'
complete -c ptrace-export -s p -l pid -x -a '(__ptrace_pids)' -d 'only events of the process'
complete -c ptrace-export -l tid -x -d 'only events of the thread'
complete -c ptrace-export -l since -x -d 'only events from this time on'
complete -c ptrace-export -l until -x -d 'only events up to this time'
complete -c ptrace-export -l around -x -a '(__ptrace_events)' -d 'only events near to those whose name matches'
complete -c ptrace-export -l before -x -d 'how long before them'
complete -c ptrace-export -l after -x -d 'how long after them'
complete -c ptrace-export -l where -x -d 'only events for which the expression holds'
complete -c ptrace-export -l first -x -d 'only the first of them'
complete -c ptrace-export -l last -x -d 'only the last of them'
complete -c ptrace-export -l label -x -d 'what the host of a log is called'
complete -c ptrace-export -l sync -x -d 'compare clocks by messages between hosts'
complete -c ptrace-export -l pair -x -d 'these events, too, are a slice of time: BEGIN..END [by FIELD]'
complete -c ptrace-export -l counters -d 'numbers become counters'
complete -c ptrace-export -l symbols -d 'tell function, file and line of each event'
complete -c ptrace-export -l decode -x -d 'what the data of events means'
complete -c ptrace-export -l strict -d 'exit with 3 if data does not fit its layout'
complete -c ptrace-export -s c -l config -r -F -d 'take layouts from the decode: of this file'
__ptrace_loss ptrace-export
__ptrace_standard ptrace-export

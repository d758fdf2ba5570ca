# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-check -a '(__ptrace_logs)'
complete -c ptrace-check -a '(__fish_complete_suffix .yaml)'
complete -c ptrace-check -l never -x -a '(__ptrace_events)' -d 'no such event happens'
complete -c ptrace-check -l exists -x -d 'an event happens'
complete -c ptrace-check -l count -x -d 'so many events happen'
complete -c ptrace-check -l after -x -d 'after the first event comes the second'
complete -c ptrace-check -l before -x -d 'before the first event there has been the second'
complete -c ptrace-check -l order -x -d 'events come in this order'
complete -c ptrace-check -l p50 -x -d 'how long half of the pairs take at most'
complete -c ptrace-check -l p90 -x -d 'how long 90 of 100 pairs take at most'
complete -c ptrace-check -l p99 -x -d 'how long 99 of 100 pairs take at most'
complete -c ptrace-check -l max -x -d 'how long the longest pair takes'
complete -c ptrace-check -l min -x -d 'how long the shortest pair takes'
complete -c ptrace-check -l no-loss -d 'nothing is missing from the logs'
complete -c ptrace-check -l tolerance -x -d 'events as near are in any order'
complete -c ptrace-check -l label -x -d 'what the host of a log is called'
complete -c ptrace-check -l sync -x -d 'compare clocks by messages between hosts'
complete -c ptrace-check -l decode -x -d 'what the data of events means'
complete -c ptrace-check -s c -l config -r -F -d 'take layouts from the decode: of this file'
complete -c ptrace-check -l format -x -a 'text json tap junit github' -d 'how the result looks'
__ptrace_json ptrace-check
complete -c ptrace-check -l tap -d 'print the result as TAP'
complete -c ptrace-check -l junit -d 'print the result as XML'
complete -c ptrace-check -l github -d 'print text and annotations'
complete -c ptrace-check -l utc -d 'times in text are UTC'
__ptrace_loss ptrace-check
__ptrace_standard ptrace-check

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-stat -a '(__ptrace_sessions)' -d session
complete -c ptrace-stat -a '(__ptrace_logs)'
complete -c ptrace-stat -l pair -x -d 'how long it took from one event to another'
complete -c ptrace-stat -l pairs -d 'the same of all event types X.begin and X.end'
complete -c ptrace-stat -l diff -d 'compare two logs'
complete -c ptrace-stat -l before -r -F -d 'a log from before the change'
complete -c ptrace-stat -l fail-if -x -d 'exit with 5 if this is so'
complete -c ptrace-stat -l per -x -d 'for each value of the field'
complete -c ptrace-stat -l histogram -d 'how many there are of each length'
complete -c ptrace-stat -l label -x -d 'what the host of a log is called'
complete -c ptrace-stat -l sync -x -d 'compare clocks by messages between hosts'
complete -c ptrace-stat -l decode -x -d 'what the data of events means'
complete -c ptrace-stat -l strict -d 'exit with 3 if data does not fit its layout'
complete -c ptrace-stat -s c -l config -r -F -d 'take layouts from the decode: of this file'
__ptrace_format ptrace-stat
complete -c ptrace-stat -l utc -d 'times in text are UTC'
__ptrace_loss ptrace-stat
__ptrace_json ptrace-stat
__ptrace_standard ptrace-stat

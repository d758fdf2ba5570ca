# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-event -s p -l pid -x -a '(__ptrace_pids)' -d 'process whose event it is'
complete -c ptrace-event -l require -d 'fail if the event is recorded nowhere'
complete -c ptrace-event -l stdin -d 'take the data from standard input'
complete -c ptrace-event -l json -d 'the data is JSON'
__ptrace_standard ptrace-event

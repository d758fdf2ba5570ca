# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-create -s p -l pid -x -a '(__ptrace_pids)' -d 'the process to trace'
complete -c ptrace-create -s o -l output -r -F -d 'write the events to this file'
complete -c ptrace-create -l force -d 'replace an existing file even if it is not a log'
complete -c ptrace-create -l no-sync -d 'close the log without waiting for the disk'
complete -c ptrace-create -l no-command-line -d 'keep command lines out of the log'
complete -c ptrace-create -l start -d 'start the trace at once'
complete -c ptrace-create -l keep -d 'go on when the process ends'
complete -c ptrace-create -l all -d 'make every session of the file, or none'
complete -c ptrace-create -l json -d 'print an object per session instead of its name'
__ptrace_configuration ptrace-create
__ptrace_attributes ptrace-create
__ptrace_standard ptrace-create

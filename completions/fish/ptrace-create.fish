# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-create -f
complete -c ptrace-create -l pid -x -a '(__ptrace_pids)' -d 'process to trace'
complete -c ptrace-create -s o -l output -r -F -d 'log to write'
complete -c ptrace-create -l start -d 'start the trace at once'
complete -c ptrace-create -l until-exit -d 'end with the process'
complete -c ptrace-create -l all -d 'make every session of the file'
complete -c ptrace-create -l json -d 'JSON output'
__ptrace_configuration ptrace-create
__ptrace_attributes ptrace-create
__ptrace_standard ptrace-create

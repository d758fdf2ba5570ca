# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-run -x -a '(__fish_complete_subcommand)'
complete -c ptrace-run -s o -l output -r -F -d 'write the events to this file'
__ptrace_loss ptrace-run
complete -c ptrace-run -l json -d 'print the result at the end, as a JSON object on standard error'
__ptrace_configuration ptrace-run
__ptrace_attributes ptrace-run
__ptrace_standard ptrace-run

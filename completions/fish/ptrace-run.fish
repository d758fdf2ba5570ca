# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-run -f
complete -c ptrace-run -x -a '(__fish_complete_subcommand)'
complete -c ptrace-run -s o -l output -r -F -d 'log to write'
__ptrace_loss ptrace-run
complete -c ptrace-run -l json -d 'JSON output'
__ptrace_configuration ptrace-run
__ptrace_attributes ptrace-run
__ptrace_standard ptrace-run

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-run -x -a '(__fish_complete_subcommand)'
complete -c ptrace-run -s o -l output -r -F -d 'write the events to this file'
__ptrace_loss ptrace-run
complete -c ptrace-run -l force -d 'replace an existing file even if it is not a log'
complete -c ptrace-run -l no-sync -d 'close the log without waiting for the disk'
complete -c ptrace-run -l no-command-line -d 'keep command lines out of the log'
complete -c ptrace-run -l functions -d 'record begin and end of the functions'
complete -c ptrace-run -l check -r -F -d 'judge the log by the rules in this file'
complete -c ptrace-run -l tap -d 'write the verdicts as TAP to this file, or to standard error'
complete -c ptrace-run -l junit -d 'write the verdicts as XML to this file, or to standard error'
complete -c ptrace-run -l github -d 'write the verdicts as text with annotations'
complete -c ptrace-run -l quiet -d 'say only what was lost or has failed'
complete -c ptrace-run -l until -x -a 'command all' -d 'record until this has ended'
complete -c ptrace-run -l no-loss -d 'have COMMAND wait for the log rather than lose an event'
complete -c ptrace-run -l json -d 'write the result, a JSON object, to this file, or to standard error'
complete -c ptrace-run -l json-fd -x -d 'write it to this descriptor'
__ptrace_configuration ptrace-run
__ptrace_attributes ptrace-run
__ptrace_standard ptrace-run

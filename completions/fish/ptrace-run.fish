# SPDX-License-Identifier: MIT
complete -c ptrace-run -f
complete -c ptrace-run -x -a '(__fish_complete_subcommand)'
complete -c ptrace-run -s o -l output -r -F -d 'log to write'
complete -c ptrace-run -l name -x -d 'name of the trace'
complete -c ptrace-run -l stream-min-size -x -d 'bytes that the stream holds'
complete -c ptrace-run -l stream-full-policy -x -a 'loop until-full flush' -d 'when the stream is full'
complete -c ptrace-run -l max-data-size -x -d 'cut data to so many bytes'
complete -c ptrace-run -l inheritance -x -a 'inherited close-for-child' -d 'trace children'
complete -c ptrace-run -l log-max-size -x -d 'bytes that the log holds'
complete -c ptrace-run -l log-full-policy -x -a 'loop until-full append' -d 'when the log is full'
complete -c ptrace-run -s h -l help -d 'show help'
complete -c ptrace-run -s V -l version -d 'show the version'

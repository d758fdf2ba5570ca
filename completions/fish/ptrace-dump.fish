# SPDX-License-Identifier: MIT
complete -c ptrace-dump -f
complete -c ptrace-dump -F
complete -c ptrace-dump -l format -x -a 'text json' -d 'output format'
complete -c ptrace-dump -s e -l event -x -d 'only events whose name matches'
complete -c ptrace-dump -l pid -x -a '(__fish_complete_pids)' -d 'only events of the process'
complete -c ptrace-dump -l first -x -d 'only the first ones'
complete -c ptrace-dump -l last -x -d 'only the last ones'
complete -c ptrace-dump -l count -d 'only how many'
complete -c ptrace-dump -l allow-loss -d 'exit with 0 even if data is incomplete'
complete -c ptrace-dump -s h -l help -d 'show help'
complete -c ptrace-dump -s V -l version -d 'show the version'

# SPDX-License-Identifier: MIT
complete -c ptrace-list -f
complete -c ptrace-list -l format -x -a 'text json' -d 'output format'
complete -c ptrace-list -s h -l help -d 'show help'
complete -c ptrace-list -s V -l version -d 'show the version'

# SPDX-License-Identifier: MIT
complete -c ptrace-stat -f
complete -c ptrace-stat -a '(set --local s /dev/shm/posixtrace-(id -u)/c.*; string replace -r ".*/c\." "" -- $s)' -d session
complete -c ptrace-stat -a '(__fish_complete_path (commandline -ct))'
complete -c ptrace-stat -l format -x -a 'text json' -d 'output format'
complete -c ptrace-stat -l allow-loss -d 'exit with 0 even if data is incomplete'
complete -c ptrace-stat -s h -l help -d 'show help'
complete -c ptrace-stat -s V -l version -d 'show the version'

# SPDX-License-Identifier: MIT
complete -c ptrace-shutdown -f
complete -c ptrace-shutdown -a '(set --local s /dev/shm/posixtrace-(id -u)/c.*; string replace -r ".*/c\." "" -- $s)' -d session
complete -c ptrace-shutdown -l allow-loss -d 'exit with 0 even if data is incomplete'
complete -c ptrace-shutdown -s h -l help -d 'show help'
complete -c ptrace-shutdown -s V -l version -d 'show the version'

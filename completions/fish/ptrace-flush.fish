# SPDX-License-Identifier: MIT
complete -c ptrace-flush -f
complete -c ptrace-flush -a '(set --local s /dev/shm/posixtrace-(id -u)/c.*; string replace -r ".*/c\." "" -- $s)' -d session
complete -c ptrace-flush -s h -l help -d 'show help'
complete -c ptrace-flush -s V -l version -d 'show the version'

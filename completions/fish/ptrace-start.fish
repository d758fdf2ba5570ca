# SPDX-License-Identifier: MIT
complete -c ptrace-start -f
complete -c ptrace-start -a '(set --local s /dev/shm/posixtrace-(id -u)/c.*; string replace -r ".*/c\." "" -- $s)' -d session
complete -c ptrace-start -s h -l help -d 'show help'
complete -c ptrace-start -s V -l version -d 'show the version'

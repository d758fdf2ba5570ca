# SPDX-License-Identifier: MIT
complete -c ptrace-clear -f
complete -c ptrace-clear -a '(set --local s /dev/shm/posixtrace-(id -u)/c.*; string replace -r ".*/c\." "" -- $s)' -d session
complete -c ptrace-clear -s h -l help -d 'show help'
complete -c ptrace-clear -s V -l version -d 'show the version'

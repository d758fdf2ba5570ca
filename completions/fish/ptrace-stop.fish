# SPDX-License-Identifier: MIT
complete -c ptrace-stop -f
complete -c ptrace-stop -a '(set --local s /dev/shm/posixtrace-(id -u)/c.*; string replace -r ".*/c\." "" -- $s)' -d session
complete -c ptrace-stop -s h -l help -d 'show help'
complete -c ptrace-stop -s V -l version -d 'show the version'

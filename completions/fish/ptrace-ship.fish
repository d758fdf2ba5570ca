# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-ship -a '(__ptrace_logs)'
complete -c ptrace-ship -l server -x -d 'the server'
complete -c ptrace-ship -l database -x -d 'its database'
complete -c ptrace-ship -l user -x -d 'as which user'
complete -c ptrace-ship -l password-file -r -F -d 'the first line of this file is the password'
complete -c ptrace-ship -l ca-file -r -F -d 'certificates by which that of the server is verified'
complete -c ptrace-ship -l dialect -x -a 'modern plain' -d 'of the server'
complete -c ptrace-ship -l batch-size -x -d 'about how many bytes are sent at once'
complete -c ptrace-ship -l state-directory -x -a '(__fish_complete_directories)' -d 'keep the progress files there'
complete -c ptrace-ship -l give-up -x -d 'how long a server that does not answer is tried'
complete -c ptrace-ship -l create-table -d 'make the tables on the server first'
complete -c ptrace-ship -l print-schema -d 'print the SQL that makes the tables'
complete -c ptrace-ship -l verbose -d 'say how many rows were sent'
__ptrace_standard ptrace-ship

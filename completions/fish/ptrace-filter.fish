# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-filter -f
complete -c ptrace-filter -a '(__ptrace_sessions)' -d session
complete -c ptrace-filter -a '(__ptrace_events)'
complete -c ptrace-filter -l set -d 'filter out these and no others'
complete -c ptrace-filter -l add -d 'filter out these, too'
complete -c ptrace-filter -l remove -d 'filter out these no longer'
complete -c ptrace-filter -l system -d 'all system events'
complete -c ptrace-filter -l all -d 'all events'
complete -c ptrace-filter -l new -d 'accept names that are new'
__ptrace_json ptrace-filter
__ptrace_standard ptrace-filter

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-filter -a '(__ptrace_sessions)' -d session
complete -c ptrace-filter -a '(__ptrace_events)'
complete -c ptrace-filter -l set -d 'filter out these events and no others'
complete -c ptrace-filter -l add -d 'filter out these events, too'
complete -c ptrace-filter -l remove -d 'do not filter out these events any more'
complete -c ptrace-filter -l system -d 'all system events, as if each were an EVENT'
complete -c ptrace-filter -l all -d 'all events, also those whose names come later'
complete -c ptrace-filter -l new -d 'let EVENT hold for names that come later, too'
complete -c ptrace-filter -l only -x -a '(__ptrace_events)' -d 'record only events whose name matches'
complete -c ptrace-filter -l exclude -x -a '(__ptrace_events)' -d 'do not record events whose name matches'
__ptrace_json ptrace-filter
__ptrace_standard ptrace-filter

# SPDX-License-Identifier: MIT
source (status dirname)/ptrace.fish
complete -c ptrace-salvage -s o -l output -r -F -d 'write the events to this new file'
complete -c ptrace-salvage -l all -d 'write all unfinished streams'
complete -c ptrace-salvage -l discard -d 'remove the streams with their events instead'
__ptrace_json ptrace-salvage
__ptrace_standard ptrace-salvage

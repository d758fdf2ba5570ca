# SPDX-License-Identifier: MIT
# Completion of all commands of posixtrace. The command itself says what can follow, see src/base/complete.h.

function __ptrace
    set --local words (commandline -opc) (commandline -ct)
    set --local command (string replace -r '.*/' '' -- $words[1])
    set --local answer (timeout 2 $command --complete $words[2..-1] </dev/null 2>/dev/null)
    set --local knows (string split ' ' -- $answer[1])
    set -q knows[2]; or return
    set --erase answer[1]
    set --local prefix (string sub -l $knows[1] -- $words[-1])
    set --local rest (string sub -s (math $knows[1] + 1) -- $words[-1])
    switch $knows[2]
        case files
            # What fish proposes for a command that it does not know.
            set answer $answer (complete -C "__ptrace_unknown $rest")
        case directories
            set answer $answer (complete -C "__ptrace_unknown $rest" | string match -r '.*/(?:\t.*)?$')
        case commands
            set answer (complete -C $rest)
        case command
            set answer (complete -C (string join ' ' -- $words[(math $knows[3] + 1)..-1]))
    end
    printf '%s\n' $prefix$answer
end

for command in check clear create doctor dump event events export filter flush list report run salvage \
    ship shutdown snapshot start stat stop
    complete -c ptrace-$command -f -a '(__ptrace)'
end

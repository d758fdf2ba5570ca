# SPDX-License-Identifier: MIT
# What the completions of the commands share; their files load this one. No command is
# called ptrace.

# __ptrace_standard COMMAND: options that every command has; no files unless an option takes one
function __ptrace_standard
    complete -c $argv[1] -f
    complete -c $argv[1] -s h -l help -d 'show this help and exit'
    complete -c $argv[1] -s V -l version -d 'show the version and exit'
end

# __ptrace_format COMMAND: of commands that print
function __ptrace_format
    complete -c $argv[1] -l format -x -a 'text json' -d 'text or json'
end

# __ptrace_json COMMAND: of commands that say how it went, or print
function __ptrace_json
    complete -c $argv[1] -l json -d 'print the result as JSON'
end

# __ptrace_session_command COMMAND: of commands whose operands are sessions
function __ptrace_session_command
    complete -c $argv[1] -a '(__ptrace_sessions)' -d session
    __ptrace_json $argv[1]
    __ptrace_standard $argv[1]
end

# __ptrace_loss COMMAND: of commands that tell of losses by their exit status
function __ptrace_loss
    complete -c $argv[1] -l allow-loss -d 'exit with 0 even if data is incomplete'
end

# __ptrace_attributes COMMAND: of commands that create traces
function __ptrace_attributes
    complete -c $argv[1] -s n -l name -x -d 'name of the session and of the trace'
    complete -c $argv[1] -l stream-min-size -x -d 'bytes of events that the stream holds at least'
    complete -c $argv[1] -l stream-full-policy -x -a 'loop until-full flush' -d 'what happens when the stream is full'
    complete -c $argv[1] -l full-wait -x -d 'how long an event waits for room in a full stream'
    complete -c $argv[1] -l max-data-size -x -d 'cut the data of an event to so many bytes'
    complete -c $argv[1] -l inheritance -x -a 'inherited close-for-child' -d 'trace the children of a traced process or not'
    complete -c $argv[1] -l log-max-size -x -d 'bytes of events that the log holds at most'
    complete -c $argv[1] -l log-full-policy -x -a 'loop until-full append' -d 'what happens when the log is full'
    complete -c $argv[1] -l log-rotate -x -d 'go on in another file when the log has so many bytes or is so old'
    complete -c $argv[1] -l log-keep -x -d 'keep the last N files of --log-rotate'
    complete -c $argv[1] -l snapshot-on -x -d 'write what the stream holds when an event with such a name comes'
    complete -c $argv[1] -l snapshot-max -x -d 'how often at most'
    complete -c $argv[1] -l os -x -a 'process sched samples process,sched,samples none auto' -d 'record what the operating system does, too'
end

# __ptrace_configuration COMMAND: of the same
function __ptrace_configuration
    complete -c $argv[1] -l only -x -a '(__ptrace_events)' -d 'record only events whose name matches'
    complete -c $argv[1] -l exclude -x -a '(__ptrace_events)' -d 'do not record events whose name matches'
    complete -c $argv[1] -s c -l config -r -F -d 'read ptrace.yaml(5) from this file'
    complete -c $argv[1] -l dump-config -d 'show what the file and the options come to'
end

# The user's directory may end in digits, or have another number in a user namespace; others may
# have made directories of such names, too.
function __ptrace_directories
    for directory in /dev/shm/posixtrace-*
        test -d $directory -a -O $directory; and echo $directory
    end
end

function __ptrace_sessions
    set --local sockets (__ptrace_directories)/c.*
    string replace -rf '.*/c\.([^~].*)' '$1' -- $sockets
end

# Processes that use the library, which show that by what they have mapped; if there is none, all.
function __ptrace_pids
    set --local own (readlink /proc/self/ns/pid)
    set --local found
    set --local maps (grep -ls '/dev/shm/posixtrace-[^/]*/bells$' /proc/*/maps)
    for pid in (string replace -rf '/proc/(\d+)/maps' '$1' -- $maps)
        test (readlink /proc/$pid/ns/pid)x = {$own}x; or continue
        set found $found $pid\t(cat /proc/$pid/comm 2>/dev/null)
    end
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_pids
    end
end

# Files that begin as a log does, and directories; if there is none, all files.
function __ptrace_logs
    set --local paths (__fish_complete_path (commandline -ct))
    set --local kept
    set --local is_any
    for path in $paths
        set --local file (string replace -r '\t.*' '' -- $path)
        if string match -q '*/' -- $file
            set kept $kept $path
        else if test -f $file -a -r $file
            set --local signature
            read -n 7 signature <$file 2>/dev/null
            if string match -q '*PTRLOG' -- $signature
                set kept $kept $path
                set is_any yes
            end
        end
    end
    if set -q is_any[1]
        printf '%s\n' $kept
    else if set -q paths[1]
        printf '%s\n' $paths
    end
end

# Names of the event types of the sessions and logs on the line: at once or not at all, as
# someone waits for the answer.
function __ptrace_events
    for thing in (commandline -op)[2..-1]
        set thing (string replace -r '^--[^=]*=' '' -- $thing)
        test -f $thing; or contains -- $thing (__ptrace_sessions); or continue
        timeout 2 ptrace-events --names -- $thing </dev/null 2>/dev/null
    end
end

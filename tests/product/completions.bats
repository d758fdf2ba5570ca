#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the completions propose of the values that are there, as the shells themselves say.

load ../support/helpers

# bash_completes WORD...: what bash proposes for the last word; = and : are words, as
# readline has them
bash_completes() {
	bash -c '. "$PTRC_SOURCE/completions/bash/ptrace-run"; COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1)); _ptrace; printf "%s\n" "${COMPREPLY[@]}"' _ "$@"
}

# fish_completes LINE: what fish proposes at the end of the line, without its explanations
fish_completes() {
	HOME=$BATS_TEST_TMPDIR fish --no-config -c '
		source $argv[1]
		complete -C $argv[2]
	' "$PTRC_SOURCE/completions/fish/ptrace-run.fish" "$1" | cut -f 1
}

# zsh_completes LINE: what zsh proposes when a tab is typed behind the line, on a terminal of
# its own; its compadd is told to write down what matches.
zsh_completes() {
	rm -f hits
	cat >setup.zsh <<'END'
fpath=($PTRC_SOURCE/completions/zsh $fpath)
autoload -U compinit
compinit -u -D
compadd() {
	local -a matching
	if [[ ${@[1,(i)--]} != *(-[A-Za-z]#[OAD])* ]]; then
		builtin compadd -O matching "$@"
		print -rl -- $matching >>hits
	fi
	builtin compadd "$@"
}
tell() {
	_main_complete
	print end >>hits
}
zle -C tell complete-word tell
bindkey '^I' tell
setopt extendedglob
print r''eady
END
	HOME=$BATS_TEST_TMPDIR TERM=dumb timeout "$patience" zsh -f -c '
		zmodload zsh/zpty zsh/zselect
		zpty z zsh -f -i
		zpty -w z ". ./setup.zsh"
		zpty -r z out "*ready*"
		zpty -n -w z "$1"$'\''\t'\''
		until grep -qsx end hits; do
			zpty -rt z out
			zselect -t 2
		done
		zpty -d z
	' _ "$1" 3>&-
	sed '/^$/d; /^end$/d' hits | sort -u
}

# What is proposed, without what stays of the word, which some shells repeat.
rests() {
	sed -E 's/^(--[a-z-]+=|-o)(.)/\2/; s/.*,//' | sort | xargs
}

# agree EXPECTED LINE: all the shells that are here propose exactly these words for the value
# of the last option or operand
agree() {
	local expected=$1 line=$2
	local -a words
	IFS=' ' read -ra words <<<"${line//=/ = }"
	[[ $line == *' ' ]] && words+=('')
	[ "$(bash_completes "${words[@]}" | rests)" = "$expected" ]
	if command -v zsh >/dev/null; then
		[ "$(zsh_completes "$line" | rests)" = "$expected" ]
	fi
	if command -v fish >/dev/null; then
		[ "$(fish_completes "$line" | rests)" = "$expected" ]
	fi
}

@test "values that are one of a few words" {
	agree 'columns csv json text' 'ptrace-dump --format='
	agree until-full 'ptrace-create --log-full-policy u'
	agree 'flush loop until-full' 'ptrace-run --stream-full-policy='
	agree 'close-for-child inherited' 'ptrace-run --name x --inheritance='
}

@test "lists with commas, and values right after a letter" {
	agree 'samples sched syscalls' 'ptrace-run --os process,s'
	agree 'error event exe' 'ptrace-dump --fields time,e'
	touch file
	agree file 'ptrace-run -of'
}

# kind_of COMMAND OPTION: what is proposed for its value, by the files here and run.log
kind_of() {
	"ptrace-$1" --complete --output=run.log "$2" >proposals
	case $(sed -n '1s/.* //p' proposals) in
	files) echo files ;;
	directories) sed 1d proposals | cut -f 1 | xargs echo directories ;;
	*)
		sed -i 1d proposals
		if grep -q '^traced\.one$' proposals; then
			echo events
		elif grep -Eq '^[0-9]+	' proposals; then
			echo processes
		else
			cut -f 1 proposals | xargs
		fi
		;;
	esac
}

@test "the values of each option, by all that is known of some" {
	ptrace-run -o run.log -- "$traced" -e traced.one
	touch rules.yaml other
	for c in $commands; do
		for option in $("ptrace-$c" --complete -- | sed -n 's/^--\([a-z0-9-]*\)=.*/\1/p'); do
			echo "$c --$option: $(kind_of "$c" "--$option=")"
		done
	done | grep -v ': $' >found
	[[ " $commands " == *" ship "* ]] || without='/^ship /d'
	sed "${without-}" <<'END' >expected
check --config: directories rules.yaml
check --event: events
check --format: text json tap junit github
check --never: events
check --pid: processes
create --config: directories rules.yaml
create --exclude: events
create --inheritance: close-for-child inherited
create --log-full-policy: loop until-full append
create --only: events
create --os: process sched samples syscalls faults none auto
create --output: files
create --pid: processes
create --snapshot-on: events
create --stacks: dwarf fp
create --stream-full-policy: loop until-full flush
doctor --event: events
doctor --pid: processes
dump --around: events
dump --color: auto always never
dump --config: directories rules.yaml
dump --event: events
dump --fields: time ns event type_id pid tid thread address truncated len data data_hex log reason error host comm thread_name exe user command_line gap bound function file line
dump --format: text json csv columns
dump --header: auto always never
dump --pid: processes
dump --to-log: files
event --pid: processes
export --around: events
export --config: directories rules.yaml
export --counters: events
export --ctf-version: 1.8 2
export --event: events
export --output: files
export --pid: processes
export --to: chrome perfetto ctf folded speedscope csv otlp
filter --exclude: events
filter --only: events
list --format: text json
report --around: events
report --config: directories rules.yaml
report --event: events
report --output: files
report --pid: processes
run --check: directories rules.yaml
run --config: directories rules.yaml
run --exclude: events
run --functions: events
run --inheritance: close-for-child inherited
run --json: files
run --junit: files
run --log-full-policy: loop until-full append
run --only: events
run --os: process sched samples syscalls faults none auto
run --output: files
run --sdt: events
run --snapshot-on: events
run --stacks: dwarf fp
run --stream-full-policy: loop until-full flush
run --tap: files
run --until: command all
run --waits: lock io net sleep child
salvage --output: files
ship --ca-file: files
ship --config: directories rules.yaml
ship --dialect: modern plain
ship --follow: directories
ship --password-file: files
ship --state-directory: directories
snapshot --output: files
stat --baseline: directories run.log
stat --config: directories rules.yaml
stat --event: events
stat --format: text json
stat --pid: processes
END
	diff <(sort expected) <(sort found)
}

@test "the words that are proposed are those that an option takes" {
	for option in inheritance stream-full-policy log-full-policy; do
		exits 125 ptrace-run --"$option"=x true
		[ "$(sed "s/.* is not one of //; s/, / /g; s/ and / /; s/\\. Try.*//" <<<"$stderr")" = \
			"$(kind_of run --"$option"=)" ]
	done
	for word in $(kind_of run --os=); do exits 0 ptrace-run --os="$word" --dump-config; done
	ptrace-run -o run.log -- "$traced"
	fields=$(kind_of dump --fields= | sed 's/ function file line$//')
	ptrace-dump --fields="${fields// /,}" run.log
	[[ " $commands " == *" ship "* ]] || return 0
	for word in $(kind_of ship --dialect=); do ptrace-ship --dialect="$word" --print-schema; done
}

@test "exactly the options of --help" {
	for c in $commands; do
		"ptrace-$c" --help | grep -oE '^ +(-[A-Za-z], )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort -u >help
		[ -s help ]
		"ptrace-$c" --complete -- | sed -nE 's/^(--[a-z0-9-]+).*/\1/p' | sort -u | diff help -
		for shell in bash fish zsh; do
			command -v "$shell" >/dev/null || continue
			line=("ptrace-$c --")
			[ "$shell" != bash ] || line=("ptrace-$c" --)
			"${shell}_completes" "${line[@]}" | grep '^--' | tr -d = | sort -u | diff help -
		done
	done
}

@test "options, and nothing behind COMMAND" {
	[ "$(bash_completes ptrace-run --name x --inher)" = --inheritance= ]
	if command -v fish >/dev/null; then
		[ "$(fish_completes 'ptrace-run --name x --inher')" = --inheritance= ]
		[ -z "$(fish_completes 'ptrace-run cat --inher')" ]
	fi
	if command -v zsh >/dev/null; then
		[ "$(zsh_completes 'ptrace-run --name x --inher')" = --inheritance= ]
		[ -z "$(zsh_completes 'ptrace-run cat --inher')" ]
	fi
	[ -z "$(bash_completes ptrace-run cat --inher)" ]
	[ -z "$(bash_completes ptrace-run -o a -- cat --inher)" ]
}

@test "sessions" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.b"
	ptrace-create --pid="$pid" --name="$me.c"
	for c in clear flush shutdown snapshot start stat stop; do
		agree "$me.b $me.c" "ptrace-$c $me"
	done
	agree "$me.b $me.c" "ptrace-dump --follow=$me"
	agree "$me.b $me.c" "ptrace-dump -f $me"
}

@test "logs by what is in them, other files if there is none" {
	touch a.log
	agree a.log 'ptrace-dump a'
	ptrace-run -o a.trace -- "$traced"
	agree a.trace 'ptrace-dump a'
	agree a.trace 'ptrace-stat a'
	agree 'a.log a.trace' 'ptrace-run -o a'
	# A name that the shells would take apart, and what would keep a reader waiting.
	ptrace-run -o 'b $(c).trace' -- "$traced"
	mkfifo b.fifo
	[ "$(bash_completes ptrace-dump b)" = 'b $(c).trace' ]
}

@test "processes that use the library" {
	traced_start -w
	wait_until says ready
	for maps in /proc/[0-9]*/maps; do
		# A shell or the like may end meanwhile.
		grep -qs "^[^/]*/dev/shm/posixtrace-$EUID/bells\$" "$maps" || continue
		maps=${maps%/maps}
		echo "${maps#/proc/}"
	done | sort | xargs >users
	grep -qw "$pid" users
	agree "$(cat users)" 'ptrace-create --pid='
}

@test "names of event types, of the session or log on the line" {
	ptrace-run -o run.log -- "$traced" -e traced.one
	agree traced.one 'ptrace-dump run.log --event=tra'
	agree traced.one 'ptrace-dump run.log --event tra'
	agree traced.one 'ptrace-dump run.log --around=traced'
	traced_session "$me.b" -- -e traced.two -w
	agree traced.two "ptrace-filter $me.b tra"
	agree '' "ptrace-filter $me.nobody tra"
	# What a shell would take apart, and what is typed of it so far.
	ptrace-run -o odd.log -- "$traced" -e 'a $(b):c'
	[ "$(bash_completes ptrace-dump odd.log -e a)" = 'a\ \$\(b\):c' ]
	[ "$(bash_completes ptrace-dump odd.log -e 'a\ \$\(b\)' : '')" = c ]
}

@test "completion does not wait for a command that does not answer" {
	cat >ptrace-events <<'END'
#!/bin/sh
echo complaint >&2
exec sleep 1000
END
	# The completions give it two seconds, a test less.
	cat >timeout <<END
#!/bin/sh
[ "\$1" != 2 ] || { shift; set -- 0.2 "\$@"; }
exec $(command -v timeout) "\$@"
END
	chmod +x ptrace-events timeout
	touch run.log
	PATH=$PWD:$PATH
	agree '' 'ptrace-dump run.log --event=tra' 2>complaints
	[ ! -s complaints ]
}

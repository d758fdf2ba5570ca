#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../support/helpers

# has_ship: there is a ptrace-ship, which is not built without libcurl
has_ship() {
	[[ " $commands " == *" ship "* ]]
}

@test "every command answers --help and --version on standard output" {
	for c in $commands; do
		for option in --help -h; do
			silently 0 "ptrace-$c" "$option"
			[[ $stdout == "Usage: ptrace-$c "* ]]
		done
		for option in --version -V; do
			silently 0 "ptrace-$c" "$option"
			[[ $stdout =~ ^ptrace-$c\ \(posixtrace\ [0-9.]+(-dev)?\)$ ]]
		done
	done
}

@test "every command refuses a wrong command line in one line" {
	for c in $commands; do
		expected=2
		[ "$c" = run ] && expected=125
		for option in --no-such-option -Q --help=no; do
			refuses "$expected" "*Try 'ptrace-$c --help'.*" "ptrace-$c" "$option"
		done
		case $c in doctor | list | salvage) continue ;; esac
		refuses "$expected" '*' "ptrace-$c"
	done
	exits 2 ptrace-list operand
}

@test "an empty operand is shown in the message about it" {
	for c in dump events export flush shutdown start stat stop; do
		options=()
		[ "$c" != export ] || options=(--to=csv)
		run_split "ptrace-$c" "${options[@]}" ""
		echo "$stderr"
		[ "$status" -ne 0 ]
		[[ $stderr == "ptrace-$c: '': no such session"* ]]
	done
	run_split ptrace-check --never=x ""
	[[ $stderr == "ptrace-check: '': "* ]]
}

@test "--help fits a terminal of 80 columns" {
	for c in $commands; do
		run awk 'length > 80' <("ptrace-$c" --help)
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
}

@test "a misspelt option gets the nearest ones proposed" {
	reports 2 "*unknown option (did you mean '--stream-min-size'\?).*" ptrace-create --stream-min-sise=8M
	# Nor is an abbreviation one of them: --all is not --allow-loss.
	reports 2 "--all: unknown option (did you mean '--allow-loss'\?).*" ptrace-dump --all some.log
	reports 2 "--relativ: unknown option (did you mean '--relative'\?).*" ptrace-dump --relativ 3 some.log
	# A letter is told, and not the option before it.
	reports 2 "-d: unknown option.*" ptrace-dump --utc -dash.log
	run_split ptrace-create --nothing-like-it
	[[ $stderr != *"did you mean"* ]]
	# A long option with one dash is no letter with an argument, and no group of letters.
	local option
	for option in -pairs '-event=a.*' -json -count=1; do
		reports 2 "${option/\*/\\*}: unknown option (did you mean '-${option%%=*}'\?).*" ptrace-dump --utc "$option" some.log
	done
	exits 1 ptrace-dump -eve some.log
}

# is_wrong WORDS REASON: the command line, whose words have no blanks, is refused for this reason
is_wrong() {
	local expected=2
	[[ $1 != "ptrace-run "* ]] || expected=125
	# shellcheck disable=SC2086 # a list of words
	reports "$expected" "$2. Try '*" $1
}

@test "options that exclude each other are refused in one form" {
	local together='cannot be used together with'
	is_wrong 'ptrace-events --json --names x' "--names: $together --json"
	is_wrong 'ptrace-report --text -o x' "--text: $together --output"
	is_wrong 'ptrace-report --text --max-size=1M' "--text: $together --max-size"
	is_wrong 'ptrace-report --text --first=1 --last=1' "--last: $together --first"
	is_wrong 'ptrace-salvage --discard --output=x' "--output: $together --discard"
	is_wrong 'ptrace-salvage --all 1' "--all: $together STREAM"
	is_wrong 'ptrace-shutdown --all x' "--all: $together SESSION"
	is_wrong 'ptrace-filter --exclude=a --add x' "--exclude: $together --add"
	is_wrong 'ptrace-filter --remove --add x' "--remove: $together --add"
	is_wrong 'ptrace-stat --diff --per=pid x y' "--per: $together --diff"
	is_wrong 'ptrace-dump --pairs --user' "--pairs: $together --user"
	is_wrong 'ptrace-dump --tree --longest=1' "--tree: $together --longest"
	is_wrong 'ptrace-dump --pairs --longest=1 --last=1' "--longest: $together --last"
	is_wrong 'ptrace-dump --pairs --longest=1 --relative' "--longest: $together --relative"
	is_wrong 'ptrace-dump --count --first=1' "--count: $together --first"
	is_wrong 'ptrace-dump --count --fields=time' "--count: $together --fields"
	is_wrong 'ptrace-dump --to-log=x --fields=time' "--to-log: $together --fields"
	is_wrong 'ptrace-dump --to-log=x --count' "--to-log: $together --count"
	is_wrong 'ptrace-dump --verify -e x' "--verify: $together --event"
	is_wrong 'ptrace-dump --verify --where=1' "--verify: $together --where"
	is_wrong 'ptrace-dump -f x --last=1' "--follow: $together --last"
	is_wrong 'ptrace-dump -f x y' "--follow: $together LOG"
	is_wrong 'ptrace-dump --utc --relative' "--relative: $together --utc"
}

@test "options that need another one are refused in one form without it" {
	is_wrong 'ptrace-create --all' '--all: needs --config'
	is_wrong 'ptrace-export --to=csv --force' '--force: needs --output'
	is_wrong 'ptrace-dump --context=1s' '--context: needs --around'
	is_wrong 'ptrace-dump --force' '--force: needs --to-log'
	is_wrong 'ptrace-dump --longest=1' '--longest: needs --pair or --pairs'
	is_wrong 'ptrace-report --utc -o x' '--utc: needs --text'
	is_wrong 'ptrace-run --tap true' '--tap: needs --check'
	is_wrong 'ptrace-stat --strict x' '--strict: needs --pair, --pairs, --diff or --waits'
	is_wrong 'ptrace-stat --fail-if=loss>0 x' '--fail-if: needs --diff'
	is_wrong 'ptrace-stat --histogram x' '--histogram: needs --pair or --pairs'
}

@test "a full disk is an error of --help" {
	[ -w /dev/full ] || skip "no /dev/full"
	for c in $commands; do
		expected=1
		[ "$c" = run ] && expected=125
		status=0
		"ptrace-$c" --help >/dev/full 2>stderr.txt || status=$?
		stderr=$(cat stderr.txt)
		[ "$status" -eq "$expected" ]
		assert_one_message "ptrace-$c"
	done
}

# The options of a page, each on a line as under OPTIONS it stands at the head of its paragraph.
page_options() {
	awk '/^\.SH/ { is_list = $2 == "OPTIONS" }
		is_list && is_head {
			gsub(/\\f[BIPR]/, "")
			gsub(/\\-/, "-")
			# A macro joins its arguments; only in quotes they have blanks.
			if (sub(/^\.[BIR]+ /, "")) {
				count = split($0, part, "\"")
				$0 = ""
				for (i = 1; i <= count; i++) {
					if (i % 2)
						gsub(/ /, "", part[i])
					$0 = $0 part[i]
				}
			}
			gsub(/, /, "\n")
			print
		}
		{ is_head = /^\.T[PQ]/ }' "$(page_of "$1")" | grep '^-'
}

# page_of COMMAND: the page that it opens, links followed
page_of() {
	link=$(sed -n 's|^\.so man1/||p' "$PTRC_SOURCE/man/ptrace-$1.1")
	echo "$PTRC_SOURCE/man/${link:-ptrace-$1.1}"
}

@test "the manual pages have exactly the options of --help, with the same arguments" {
	for c in $commands; do
		# Five commands share a page, and two of its options are only for one of them.
		case $c in
		start | stop | flush | clear) help_of=shutdown ;;
		*) help_of=$c ;;
		esac
		# -o, --output=FILE is -o FILE and --output=FILE.
		"ptrace-$help_of" --help | sed -nE 's/^(  (-[A-Za-z]), |      )(--[^ ]+).*/\2 \3/p' |
			awk '{ argument = index($2, "=") ? substr($2, index($2, "=")) : "" }
				NF == 2 { sub(/^=/, " ", argument); print $1 argument }
				{ print $NF }' | sort >help
		[ -s help ]
		page_options "$c" | sort | diff help -
	done
}

@test "a page of a command names under SEE ALSO the commands that it speaks of" {
	for c in $commands; do
		page=$(page_of "$c")
		sed '/^\.SH "SEE ALSO"/q' "$page" | grep -oE 'fBptrace\\-[a-z]+\\fR\(1\)' |
			grep -oE '\-[a-z]+' | grep -vxF -e "-$c" | sort -u >spoken || true
		sed '1,/^\.SH "SEE ALSO"/d' "$page" | grep -oE '^\.BR ptrace\\-[a-z]+ \(1\)' |
			grep -oE '\-[a-z]+' | sort -u >named
		[ -z "$(comm -23 spoken named)" ]
	done
	# These speak of logs and streams that may be unfinished.
	for c in create doctor dump list run stat; do
		grep -qE '(\\fB|^\.BR )ptrace\\-salvage(\\fR| )\(1\)' "$PTRC_SOURCE/man/ptrace-$c.1"
	done
}

@test "-p, -n and -f stand for --pid, --name and --follow" {
	traced_start -w -W -n 3
	wait_until says ready
	[ "$(ptrace-create -p "$pid" -n "$me.a" --start)" = "$me.a" ]
	begins follower ptrace-dump -f "$me.a" -p "$pid" --first=4 >events
	go
	wait_until says done
	ptrace-event -p "$pid" other
	wait_until is_ended "$follower"
	[ "$(jq -s 'map(.pid) | unique == ['"$pid"']' events)" = true ]
	[ "$(tail -n 1 events | jq -r .event)" = other ]
	ptrace-run -n mine -o run.log -- "$traced"
	[ "$(ptrace-stat --json run.log | jq -r .attributes.trace_name)" = mine ]
}

# rows TABLES SOURCE: the lines of these tables of a command
rows() {
	awk -v "tables=\\.($1) =" '$0 ~ tables { on = 1 } on { print } /\),$/ { on = 0 }' "$2"
}

@test "the tables of what excludes and needs what name options that there are" {
	for source in "$PTRC_SOURCE"/src/ptrace-*.c; do
		command=$(basename "$source" .c)
		[ "$command" != ptrace-ship ] || has_ship || continue
		"$command" --help >help
		# This program has five names.
		[ "$command" != ptrace-start ] || ptrace-shutdown --help >>help
		rows 'exclusions|needs' "$source" | grep -oE '"[^"]+"' | tr -d '"' | tr ' ' '\n' | grep '^[a-z]' |
			sort -u >words
		rows words "$source" | grep -oE '\{"[^"]+"' | tr -d '{"' | tr ' ' '\n' >>words
		while read -r word; do
			grep -qE -- "--$word([=[ ,]|$)" help || { echo "$command: there is no --$word" >&2; return 1; }
			echo "$word"
		done <words >>all
	done
	[ "$(wc -l <all)" -gt 60 ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Takes long, as each of twenty selections shows the events of a log that has enough of them for several jobs
# of the threads, and all of these are searched for what is shown.

load ../../support/helpers

fields=ns,pid,tid,thread,event,gap

# show LOG... [OPTION]...: the fields of the events, with one blank between them
show() {
	ptrace-dump --format=text --fields="$fields" --allow-loss "$@" 2>/dev/null | sed 's/  */ /g; s/^ //'
}

# model: of the lines that show prints for all events, those with the gap as it has to be
model() {
	awk '
		# Behind such a place, the event before may be lost.
		$5 == "posix_trace_overflow" || $5 == "posix_trace_resume" { delete last }
		{
			gap = "-"
			key = $2 " " $3 " " $4
			if ($3 != 0 && key in last) {
				s = substr($1, 1, 10) - substr(last[key], 1, 10)
				ns = substr($1, 11) - substr(last[key], 11)
				if (ns < 0) { s--; ns += 1000000000 }
				gap = sprintf("+%d.%09ds", s, ns)
			}
			if ($3 != 0) last[key] = $1
			print $1, $2, $3, $4, $5, gap
		}'
}

# is_right LOG: all events of the log have the gaps that they have to have
is_right() {
	show "$1" >all
	[ "$(wc -l <all)" -gt 100 ]
	[ "$(grep -c ' +[0-9.]*s$' all)" -gt 100 ]
	model <all | diff all - | head -n 5 >differences
	[ ! -s differences ] || { cat differences; return 1; }
}

@test "gap: the time since the event before it of the same thread" {
	ptrace-run -o run.log -- "$traced" -t 3 -c 2 -n 700
	is_right run.log
	# Each thread has a first event, which has none.
	[ "$(ptrace-dump -e traced.event --count --where='!(gap >= 0s)' run.log)" -eq 9 ]
	[ "$(ptrace-dump -e traced.event --count --where='gap >= 0s' run.log)" -eq 6291 ]
	[ "$(ptrace-dump -e traced.event --count --where='gap < 0s || gap != gap' run.log)" -eq 0 ]
	# As JSON it is a number of nanoseconds, and missing where there is none.
	ptrace-dump --fields=tid,event,gap run.log | jq -c . | sed 's/,"gap_ns":\([0-9]*\)}$/ \1/; s/}$/ -/' |
		awk '{ print $NF }' >json
	awk '{ gap = $6; if (gap != "-") { gsub(/[+.s]/, "", gap); sub(/^0*/, "", gap) }
		print gap == "" ? 0 : gap }' all | diff - json
	ptrace-dump --header=always --fields=tid,gap,event run.log | head -n 1 | grep -qE '^ *tid +gap event'
	[ "$(ptrace-dump --count --where='gap / 1us * 1us == gap' run.log)" -gt 6000 ]
	# Both events of a pair have one.
	ptrace-dump --pair=posix_trace_flush_start..posix_trace_flush_stop \
		--where='end.gap == duration && !(begin.gap >= 1000w)' run.log >pairs
	[ "$(wc -l <pairs)" -ge 1 ]
}

@test "gap: the event before need not be selected" {
	# A job has 4096 events, and two workers have six jobs at a time.
	ptrace-run -o run.log -- "$traced" -t 2 -n 15000
	is_right run.log
	ptrace-run -o other.log -- "$traced" -t 2 -n 10
	show other.log >other
	tid=$(ptrace-dump -e traced.event --first=1 run.log | jq .tid)
	# How long the run took is up to the machine: when a quarter and three quarters of its events were
	# recorded, and gaps that few events have.
	read -r t u <<<"$(ptrace-dump run.log | jq -rs '"\(.[length / 4 | floor].ns - .[0].ns)ns \(.[length * 3 / 4 | floor].ns - .[0].ns)ns"')"
	g=$(ptrace-dump --fields=gap run.log | jq -s 'map(.gap_ns // 0) | sort | .[-300]')ns
	while read -ra options; do
		show "${options[@]}" run.log >some
		[ -s some ] || { echo "${options[*]}"; return 1; }
		# What is shown is shown as it is among all events.
		awk 'NR == FNR { is_shown[$0]; next } !($0 in is_shown) { print; exit 1 }' all some ||
			{ echo "${options[*]}"; return 1; }
	done <<-END
		--threads=1
		--threads=3
		--since=+$t
		--since=-$t --threads=1
		--until=+$t
		--since=+$t --until=+$u -e traced.event
		-e posix_trace_*
		-e posix_trace_* --threads=1
		--user --tid=$tid
		--last=7
		--last=7 -e posix_trace_*
		--last=3 --until=-$t
		--first=1000
		--around=posix_trace_flush_start --context=10us,10us
		--where=gap>$g
		--where=gap<$g --threads=1
		--where=gap<$g&&data%100==1 --since=+$t --last=5
	END
	for where in "gap > $g" "gap > $g && time > \"+0s\"" "$g < gap && data > 100"; do
		expected=$(ptrace-dump --fields=ns --where="$where" --threads=1 run.log | wc -l)
		[ "$expected" -gt 0 ]
		[ "$(ptrace-dump --count --where="$where" run.log)" -eq "$expected" ]
	done
	# Each log has its own threads.
	cp run.log again.log
	show run.log other.log again.log | sort >merged
	sort all other all | diff - merged
	# What was selected by it can be written to a log.
	ptrace-dump --where="gap > $g" --to-log=slow.log run.log
	[ "$(ptrace-dump --count slow.log)" -eq "$(ptrace-dump --count --where="gap > $g" run.log)" ]
}

@test "gap: not over a place where events were lost" {
	ptrace-run -o lossy.log --allow-loss --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -t 2 -n 20000 2>/dev/null
	show lossy.log >all
	model <all | diff all -
	ptrace-run -o run.log -- "$traced" -n 15000 -s 300
	# In the second of three packets.
	at=$(($(stat -c %s run.log) / 2))
	flips run.log 255 "$at"
	is_right run.log
	# The first event, and the first one behind the damage.
	[ "$(grep -c '^[^-]* traced.event -$' all)" -gt 1 ]
	# A full stream that stops is such a place as well.
	ptrace-run -o full.log --allow-loss --stream-min-size=64K --stream-full-policy=flush -- \
		"$traced" -t 2 -n 60000 2>/dev/null
	ptrace-dump --fields=tid,event,reason,gap --allow-loss full.log 2>/dev/null |
		jq -se 'reduce .[] as $e ({};
			if $e.event == "posix_trace_stop" and $e.reason != 0 then {}
			elif $e.tid == 0 or has($e.tid | tostring) == ($e | has("gap_ns")) then
				. + {($e.tid | tostring): 1}
			else error($e | tostring) end)'
}

@test "gap: what is wrong is refused" {
	ptrace-run -o run.log -- "$traced"
	for expression in 'gap > 5' 'gap == "5ms"' 'gap > time' 'gap =~ "5"' 'gap + 5 > 5ms'; do
		reports 2 '*' ptrace-dump --where="$expression" run.log
	done
	for options in --per=gap '--pair=a..b by gap'; do
		reports 2 "*'gap' is no key: it is another one in each event*" ptrace-stat --pairs "$options" run.log
	done
}

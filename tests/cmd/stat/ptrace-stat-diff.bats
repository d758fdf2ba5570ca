#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# ptrace-stat --diff: what differs between logs. Their durations come from numbers with fixed seeds, not
# from the time that something takes.

load ../../support/helpers

# Requests of 1 to 2 ms, before and after; one of the same kind, and others as the arguments say.
logs() {
	durations before.log req 2000 1000000 2000000 1 11 db 1000 5000 6000 1 12
	durations after.log req 2000 1000000 2000000 1 21 db 1000 5000 6000 1 22
	durations slow.log req 2000 1200000 2400000 1 31 db 1000 5000 6000 1 32
}

# verdict_of PAIR LOG...: of --diff --json
verdict_of() {
	local pair=$1
	shift
	ptrace-stat --diff --json "$@" | jq -r --arg p "$pair" '.pairs[] | select(.pair == $p) | .verdict'
}

@test "diff: equal runs are noise, others are told apart" {
	logs
	[ "$(verdict_of req before.log after.log)" = noise ]
	[ "$(verdict_of req before.log before.log)" = noise ]
	[ "$(verdict_of req before.log slow.log)" = slower ]
	[ "$(verdict_of req slow.log before.log)" = faster ]
	[ "$(verdict_of db before.log slow.log)" = noise ]
	# One of fifty takes longer: no rank test of all of them sees that.
	durations tail.log req 2000 1000000 2000000 50 41 db 1000 5000 6000 1 42
	[ "$(verdict_of req before.log tail.log)" = changed ]
	ptrace-stat --diff --json before.log tail.log | jq -e '.pairs[] | select(.pair == "req") |
		.p_value >= 0.001 and .quantiles.p50.noise and (.quantiles.p99.noise | not) and
		.after.max_ns > 20 * .before.max_ns'
	durations few.log req 7 9000000 9000000 1 1
	[ "$(verdict_of req before.log few.log)" = 'too few' ]
}

@test "diff: counts, rates, new and vanished types and pairs, what changed most first" {
	durations before.log req 1000 1000 2000 1 1 old 100 1000 2000 1 2 same 1000 5000 6000 1 3 \
		half 1000 9000 9500 1 4
	durations after.log req 1000 4000 8000 1 5 new 100 1000 2000 1 6 same 1000 5000 6000 1 7 \
		half 500 9900 9990 1 8
	silently 0 ptrace-stat --diff --json before.log after.log
	jq -e '[.pairs[].pair] == ["new", "old", "req", "half", "same"] and
		[.pairs[].verdict] == ["new", "gone", "slower", "slower", "noise"] and
		(.pairs[] | select(.pair == "half") | .before.count == 1000 and .after.count == 500)' \
		<<<"$stdout"
	jq -e '[.events[:4][].event] == ["new.begin", "new.end", "old.begin", "old.end"] and
		.events[0].before.events == 0 and .events[0].after.events == 100 and
		([.events[4:6][].event] == ["half.begin", "half.end"]) and
		.before.event_count == 6200 and .after.event_count == 5200 and
		.before.lost_events == 0 and .before.complete' <<<"$stdout"
	# A rate is over the time from the first event to the last one.
	jq -e '.before | (.event_count * 1e9 / .span_ns - .events_per_second | fabs) <
		.events_per_second / 1000' <<<"$stdout"
}

@test "diff: the last flush is not a part of the time for rates" {
	for i in 1 2; do
		ptrace-run --quiet -o $i.log -- "$traced" -n 100
	done
	silently 0 ptrace-stat --diff --json 1.log 2.log
	# jq may compute with doubles.
	ptrace-dump --format=json 1.log |
		jq -es --argjson span "$(jq .before.span_ns <<<"$stdout")" '
			map(select(.event | startswith("posix_trace_flush_") | not).ns) as $own |
			.[-1].event == "posix_trace_flush_stop" and
			((($own | last) - .[0].ns - $span) | fabs) < 1000'
	# What no event of the program happens in is time, too.
	ptrace-run --quiet --os=none -o none.log -- true
	silently 0 ptrace-stat --diff --json -e traced.event 1.log none.log
	jq -e '.events[0].after.per_second == 0' <<<"$stdout"
}

@test "diff: a rate is over the time of the whole log, whichever events are selected" {
	# As in a copy of the events of programs, START and STOP are missing.
	timeline before.log 1000000000:tick 2000000000:err 2004000000:err 3000000000:tick
	timeline after.log 1000000000:posix_trace_flush_start 2000000000:tick 2500000000:err 2504000000:err \
		4000000000:tick 9000000000:posix_trace_flush_start 9000000001:posix_trace_flush_stop
	for selection in --user --event=err --where='event == "err"' --where='event == "err" && gap >= 0ns'; do
		answers 0 '[.before.span_ns, .after.span_ns] == [2000000000, 2000000000] and
			(.events[] | select(.event == "err") | [.before.per_second, .after.per_second] == [1, 1])' \
			ptrace-stat --diff --json --fail-if='rate err > 1' "$selection" before.log after.log
	done
	# The time between --since and --until counts, whether events begin and end it or not.
	answers 5 '[.before.span_ns, .after.span_ns] == [800000000, 800000000] and
		[.before.events_per_second, .after.events_per_second] == [2.5, 2.5]' \
		ptrace-stat --diff --json --fail-if='rate err > 2' --event=err --since=@1700000002 --until=@1700000002.8 before.log after.log
	answers 0 '[.before.span_ns, .after.span_ns] == [0, 0]' \
		ptrace-stat --diff --json --event=err --since=@1700000005 before.log after.log
}

@test "diff: text of 80 columns" {
	logs
	exits 5 ptrace-stat --diff --fail-if='p50 req > +10%' --fail-if='p50 db > +10%' \
		before.log slow.log
	[ -z "$(awk 'length > 80' <<<"$stdout")" ]
	grep -Eq '^before +before\.log$' <<<"$stdout"
	grep -Eq '^req: slower \(p50 slower, p90 slower, p99 slower; longer after: [67][0-9.]+ %\)$' <<<"$stdout"
	grep -Eq '^  p50 +1\.4..ms +1\.[78]..ms +\+[12][0-9.]+%  p < 1e-06$' <<<"$stdout"
	grep -Eq '^db: noise \(p50 noise, p90 noise, p99 noise; ' <<<"$stdout"
	grep -q 'a change is noise at p >= 0.001' <<<"$stdout"
	grep -q 'Mann-Whitney' <<<"$stdout"
	grep -q '^equal runs often differ, too: .*several logs (--baseline)$' <<<"$stdout"
	grep -Eq '^req\.begin +2000 +2000 +[0-9.]+ +[0-9.]+ +-[0-9.]+%$' <<<"$stdout"
	grep -Eqx 'failed   p50 req > \+10%: 1\.[0-9]+ms, before 1\.[0-9]+ms' <<<"$stdout"
	grep -Eqx 'passed   p50 db > \+10%: 5\.[0-9]+us, before 5\.[0-9]+us' <<<"$stdout"
	# A long name has a line of its own.
	durations long.log "$(printf 'x%.0s' {1..50})" 100 1000 1000 1 1
	run_split ptrace-stat --diff long.log long.log
	[ -z "$(awk 'length > 80' <<<"$stdout")" ]
	grep -Eq '^ +100 +100 +' <<<"$stdout"
}

@test "diff: several logs on each side" {
	logs
	cp before.log copy.log
	answers 0 '(.pairs[] | select(.pair == "req") | .before.count == 4000 and .after.count == 4000 and
		.verdict == "too few") and .threshold == 0.05 and [.before.logs[].log] == ["before.log", "copy.log"] and
		.before.event_count == 12000' ptrace-stat --diff --json --baseline=before.log --baseline=copy.log after.log slow.log
	exits 0 ptrace-stat --diff --json --baseline=before.log after.log
}

@test "diff: --fail-if" {
	logs
	# What is so, and what is not.
	for condition in 'p99 req > +10%' 'p50 req > +150us' 'max req > 2ms' 'p90 req.begin..req.end >= 2ms' \
		'count req > 100' 'count req.begin >= +0%' 'rate req < -5%' 'min req > +100us'; do
		silently 5 ptrace-stat --diff --fail-if="$condition" before.log slow.log
	done
	for condition in 'p99 req > +30%' 'p99 req < -10%' 'p50 req > 5ms' 'count req > +0%' 'loss > 0' \
		'loss > +0' 'rate req < -50%' 'p50 db > +10%'; do
		exits 0 ptrace-stat --diff --fail-if="$condition" before.log slow.log
	done
	# A condition that holds is no success if no process reads that it does.
	exits 1 unread ptrace-stat --diff --fail-if='p99 req > +10%' before.log slow.log
	# One of several is enough.
	exits 5 ptrace-stat --diff --fail-if='p50 db > +10%' --fail-if='p50 req > +10%' before.log slow.log
	# What is noise does not fail, and is told; a limit of what is there now is no comparison.
	reports 0 "*p50 req > -50%: does not fail: the change is noise (p = *" ptrace-stat --diff --fail-if='p50 req > -50%' before.log after.log
	exits 5 ptrace-stat --diff --fail-if='p50 req > 1ms' before.log after.log
	durations few.log req 7 9000000 9000000 1 1
	reports 0 "*too few durations to tell it from noise, 2000 and 7; at least 8 are needed on each side*" ptrace-stat --diff --json --fail-if='p50 req > +10%' before.log few.log
	jq -e '.conditions == [{condition: "p50 req > +10%", verdict: "too few",
		before: .pairs[-1].before.p50_ns, after: 9000000}]' <<<"$stdout"
	exits 0 ptrace-stat --diff before.log few.log
	grep -Eq '^req: too few \(8 durations on each side are needed; longer after: 100.0 %\)$' <<<"$stdout"
}

@test "diff: --fail-if of any quantile" {
	logs
	for condition in 'p75 req > +10%' 'p99.9 req > +100us' 'p0.1 req.begin..req.end >= 1ms'; do
		exits 5 ptrace-stat --diff --fail-if="$condition" before.log slow.log
	done
	for condition in 'p75 req < +10%' 'p99.9 req < 1ms'; do
		exits 0 ptrace-stat --diff --fail-if="$condition" before.log slow.log
	done
	reports 0 "*p75 req > -50%: does not fail: the change is noise (p = *" ptrace-stat --diff --fail-if='p75 req > -50%' before.log after.log
	# A condition names a pair as --pair does, and needs no --pair.
	answers 5 '[.conditions[].verdict] == ["failed", "failed"] and ([.pairs[].pair] | sort == ["db", "req", "req.end..req.begin"])' ptrace-stat --diff --json --fail-if='p99 req by pid > 1ns' --fail-if='max req.end..req.begin > 1ns' before.log slow.log
	for name in 'req by pid' req.end..req.begin 'req.begin..req.end by tid'; do
		silently 5 ptrace-stat --diff --fail-if="count $name > 1900" before.log slow.log
	done
	reports 1 "*no pair or event type 'req by pidd'*" ptrace-stat --diff --fail-if='count req by pidd > 1' before.log slow.log
	# One that no log has is not shown.
	silently 0 ptrace-stat --diff --json --fail-if='count a..b > 0' before.log slow.log
	jq -e '[.pairs[].pair] | sort == ["db", "req"]' <<<"$stdout"
	refuses 2 "*--fail-if: events have no field 'pidd'*" ptrace-stat --diff --fail-if='p99 req by pidd > 1ns' before.log slow.log
	# The quantiles that are shown are tested as any other.
	jq -se '.[0].pairs == .[1].pairs' <(ptrace-stat --diff --json before.log slow.log) \
		<(ptrace-stat --diff --json --fail-if='p75 req > 1h' before.log slow.log)
}

@test "diff: --fail-if of a name that two pairs have is refused" {
	logs
	by_pid='req.begin..req.end by pid'
	for name in req req.begin..req.end; do
		refuses 2 "*--fail-if: '$name' means two pairs, '$by_pid' and 'req.begin..req.end by tid'*" ptrace-stat --diff \
			--pair="$by_pid" --pair='req.begin..req.end by tid' --fail-if="p50 $name > 1h" before.log after.log
	done
	# Whole names mean one, and a pair that is given twice is one.
	for name in "$by_pid" 'req by pid' req req.begin..req.end; do
		exits 5 ptrace-stat --diff --json --pair=req.begin..req.end --pair="$by_pid" \
			--pair="$by_pid" --fail-if="p50 $name < 1h" before.log after.log
	done
	ptrace-stat --diff --pair="$by_pid" --pair="$by_pid" --fail-if='p50 req > 1h' \
		before.log after.log
	# The other pair has no part in what the whole name means.
	exits 5 ptrace-stat --diff --pair='req.begin..req.end by ns' --pair=req.begin..req.end \
		--fail-if='p50 req.begin..req.end < 1h' before.log after.log
}

@test "diff: conditions on what is not there, and losses" {
	logs
	reports 1 "*p99 reg > +10%: the compared events have no pair 'reg' (did you mean 'req'\?)*" ptrace-stat --diff --fail-if='p99 reg > +10%' before.log after.log
	reports 1 "*no pair or event type 'req.ende' (did you mean 'req.end'\?)*" ptrace-stat --diff --fail-if='count req.ende > 1' before.log after.log
	# A pair that is written as its two event types is misspelt if one of them is.
	for condition in 'count req.begin..req.edn > 1' 'rate req.begin..req.edn by pid > 1' 'p50 req.begin..req.edn > 1s' \
		'count rq.begin..rq.begin > 1' 'p50 db.begin..req.edn > 1s'; do
		tells 1 "*the compared events have no event type '*' (did you mean 'req.*" ptrace-stat --diff --fail-if="$condition" before.log after.log
	done
	# What is not selected is no mistake of the logs.
	for condition in 'p50 req > 1s' 'count req.begin > 5'; do
		tells 1 "*the compared events have no pair*'req*" ptrace-stat --diff -e 'db.*' --fail-if="$condition" before.log after.log
	done
	# A type without events has a count of 0; --event decides which types there are.
	printf 'layout error u8 code\nevent %d 7 7 a\n' 0 100 | made none.log
	for condition in 'count error > +0' 'rate error > 0'; do
		silently 0 ptrace-stat --diff --json --fail-if="$condition" none.log none.log
		jq -e '.conditions[0].after == 0 and [.events[].event] == ["a"]' <<<"$stdout"
	done
	# So has a name that no log knows, unless a log knows a similar one.
	for condition in 'count app.error > +0' 'rate app.error > 0' 'count app..error > 0'; do
		silently 0 ptrace-stat --diff --json --fail-if="$condition" none.log none.log
		jq -e '.conditions[0] | .after == 0 and .before == 0 and .verdict == "passed"' <<<"$stdout"
	done
	silently 5 ptrace-stat --diff --fail-if='count app.error < 1' none.log none.log
	reports 1 "*no pair or event type 'error'*" ptrace-stat --diff --event=a --fail-if='count error > +0' none.log none.log
	# Neither the name of a pair nor its field may be misspelt, even if only one of the logs has the pair.
	printf '%s\n' 'layout retry.begin u8 id' 'layout retry.end u8 id' 'event 0 7 7 retry.begin u8:1' \
		'event 9 7 7 retry.end u8:1' | made retry.log
	for logs in 'none.log retry.log' 'retry.log none.log' 'retry.log retry.log' '--baseline=none.log --baseline=retry.log none.log retry.log'; do
		for what in 'count retry' 'rate retry' 'count retry.begin..retry.end'; do
			tells 1 '*data.idd*' ptrace-stat --diff --fail-if="$what by data.idd > +0" $logs
		done
		for name in retri Retry retryy; do
			reports 1 "*no pair or event type '$name by data.id' (did you mean 'retry'\?)*" \
				ptrace-stat --diff --fail-if="count $name by data.id > 10" $logs
		done
	done
	reports 1 "*no event type 'retry.begin'*" ptrace-stat --diff --event='*.end' --fail-if='count retry.begin..retry.end > 0' retry.log retry.log
	reports 1 "*no pair or event type 'retry'*" ptrace-stat --diff --event='*.begin' --fail-if='count retry > 0' retry.log retry.log
	reports 1 "*no pair or event type 'retry.b\*'*" ptrace-stat --diff --fail-if='count retry.b* > 0' retry.log retry.log
	silently 5 ptrace-stat --diff --fail-if='count retry by data.id > +0' none.log retry.log
	silently 0 ptrace-stat --diff --fail-if='count retry by data.id > +0' none.log none.log
	rm none.log retry.log
	durations other.log other 100 1000 2000 1 1
	reports 1 "*the compared events from before the change have no such pair*" ptrace-stat --diff --fail-if='p99 req > +10%' other.log before.log
	reports 1 "*the compared events from after the change have no such pair*" ptrace-stat --diff --fail-if='p99 req > 1h' before.log other.log
	# A new event type is more than any part of none.
	exits 5 ptrace-stat --diff --fail-if='count req.begin > +1000%' other.log before.log
	for condition in 'count req.begin > +0' 'loss > +0%'; do
		reports 1 "$condition: the sums of 1 and 2 logs cannot be compared; *" ptrace-stat --diff --fail-if="$condition" \
			--baseline=before.log after.log other.log
	done
	exits 0 ptrace-stat --diff --fail-if='count req.begin < 1' --baseline=before.log after.log other.log
	ptrace-run -o lossy.log --allow-loss --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000
	reports 5 "*lost*" ptrace-stat --diff --fail-if='loss > +0' before.log lossy.log
	answers 3 '.after.lost_events > 0 and (.after.complete | not)' ptrace-stat --diff --json before.log lossy.log
	exits 0 ptrace-stat --diff --allow-loss before.log lossy.log
	reports 1 "*req.begin..req.end: none of the compared events is of this pair" \
		ptrace-stat --diff --pair=req -e 'db.*' before.log after.log
	reports 3 "*req.begin: the data of 4000 events has 0 bytes, the layout wants 8*" ptrace-stat --diff --strict --decode='req.begin=u64 id' before.log after.log
	prints 1 '' ptrace-stat --diff before.log none.log
}

@test "diff: a pattern that no log has is told, and so are events that could not be decided" {
	printf 'event %d 7 7 a\n' 0 100 | made one.log
	printf 'event %d 7 7 %s\n' 0 a 100 a 200 b | made two.log
	exits 0 ptrace-stat --diff --event=b one.log two.log
	tells 1 "ptrace-stat: c: no event type has such a name (did you mean 'a'\?)" ptrace-stat --diff --event=a --event=c one.log two.log
	reports 1 "c: no event type has such a name (did you mean 'a'?)" ptrace-stat --diff --decode='b=u8 n' --decode='c=u8 n' one.log two.log
	head -c 20000 /dev/zero | tr '\0' x >data
	ptrace-run -o hard.log --max-data-size=64K -- sh -c 'ptrace-event --stdin big <data; :'
	tells 3 '*would take too long*' ptrace-stat --diff --where="data =~ '((x?){30}){15}[yz]'" hard.log hard.log
}

@test "diff: events of the operating system are left out unless they are named" {
	printf 'event %d 7 7 %s\n' 0 a 100 a | made before.log
	printf 'event %d 7 7 %s\n' 0 a 10 os.fork 20 os.syscall.begin 30 os.syscall.end 40 os.exec 50 os.exit 100 a | made after.log
	silently 0 ptrace-stat --diff --json before.log after.log
	jq -e '[.events[].event] == ["a"] and .pairs == [] and .after.event_count == 2 and
		.after.events_per_second == .before.events_per_second' <<<"$stdout"
	for option in --event='os.[fs]*' --where='event ~ "os.[fs]*"'; do
		silently 0 ptrace-stat --diff --json "$option" before.log after.log
		jq -e '([.events[].event] | sort == ["os.fork", "os.syscall.begin", "os.syscall.end"]) and
			[.pairs[].pair] == ["os.syscall"] and .after.event_count == 3' <<<"$stdout"
	done
	silently 0 ptrace-stat --diff --json --pair=os.syscall before.log after.log
	jq -e '[.pairs[].pair] == ["os.syscall"]' <<<"$stdout"
	silently 5 ptrace-stat --diff --json --fail-if='count os.fork > +0' --fail-if='p50 os.syscall < 1h' before.log after.log
	jq -e '[.conditions[].verdict] == ["failed", "failed"]' <<<"$stdout"
	silently 5 ptrace-stat --diff --json --fail-if='count os.syscall > 0' --fail-if='count os.fork > 0' before.log after.log
	jq -e '[.conditions[].after] == [1, 1] and [.pairs[].pair] == ["os.syscall"]' <<<"$stdout"
	# If there are no others, this is told.
	printf 'event %d 7 7 %s\n' 0 os.fork 100 os.exit | made os.log
	hint="ptrace-stat: there is no event of a program to compare; --event='os.\*' compares those of the operating system"
	tells 0 "$hint" ptrace-stat --diff os.log os.log
	tells 0 "$hint" ptrace-stat --diff --json --tid=7 os.log os.log
	for option in --event='os.*' --pair=os.fork..os.exit; do
		silently 0 ptrace-stat --diff "$option" os.log os.log
	done
	silently 0 ptrace-stat --diff before.log os.log
	# A condition that misspells one is told, although they are left out.
	for name in os.frok os.for os.syscal.begin; do
		tells 1 "*no pair or event type '$name' (did you mean 'os.*" ptrace-stat --diff --fail-if="count $name > 0" before.log after.log
	done
}

@test "diff: wrong use is refused" {
	logs
	for options in --baseline=before.log '--fail-if=loss>0' '--diff --per=pid' '--diff --histogram' \
		'--diff after.log' '--diff --fail-if=x' '--diff --fail-if=p99>1'; do
		refuses 2 '*' ptrace-stat $options before.log after.log
	done
	for operands in '' before.log; do
		exits 2 ptrace-stat --diff $operands
	done
	exits 2 ptrace-stat --diff --baseline=before.log
	reports 2 "*./before.log: is given twice, but each log of a side must be of another run*" \
		ptrace-stat --diff --baseline=before.log --baseline=./before.log after.log
	reports 2 "*after.log: is given twice*" ptrace-stat --diff --baseline=before.log after.log after.log
	for name in posix_trace_overflow posix_trace_overflo; do
		reports 2 "*--fail-if: column 7: system events such as '$name' are not counted; 'loss' is*" \
			ptrace-stat --diff --fail-if="count $name > 0" before.log after.log
	done
	exits 0 ptrace-stat --diff --fail-if='count posix_trace_unnamed_userevent > 0' before.log after.log
	reports 2 "*--fail-if: column 1: 'p9o' is none of *did you mean 'p90'*" ptrace-stat --diff --fail-if='p9o req > +10%' before.log after.log
}

@test "diff, check and stat have the same quantile, and say it" {
	durations run.log req 999 1000000 1002000 1 7
	p99=$(ptrace-stat --json --pairs run.log | jq .pairs[0].p99_ns)
	[ "$(ptrace-stat --diff --json run.log run.log | jq .pairs[0].after.p99_ns)" = "$p99" ]
	for bound in $((p99 - 1)) "$p99" $((p99 + 1)); do
		run_split ptrace-stat --diff --fail-if="p99 req >= ${bound}ns" run.log run.log
		[ "$status" -eq $((p99 >= bound ? 5 : 0)) ]
		run_split ptrace-check run.log --p99 "req.begin..req.end < ${bound}ns"
		[ "$status" -eq $((p99 >= bound ? 1 : 0)) ]
	done
}

@test "diff: of several logs on a side the difference between logs counts" {
	# Each log is slower or faster than others for a reason of its own. Two pairs do not change.
	i=0
	for scale in 100 140 105 180 120 150; do
		i=$((i + 1))
		durations "a$i.log" req 1000 $((scale * 10000)) $((scale * 20000)) 1 $i \
			db 100 5000 6000 1 "3$i" fs 100 5000 6000 1 "4$i"
		durations "b$i.log" req 1000 $((scale * 10100)) $((scale * 20200)) 1 "1$i" \
			db 100 5000 6000 1 "5$i" fs 100 5000 6000 1 "6$i"
		durations "c$i.log" req 1000 $((scale * 30000)) $((scale * 60000)) 1 "2$i" \
			db 100 5000 6000 1 "7$i" fs 100 5000 6000 1 "8$i"
	done
	a='--baseline=a1.log --baseline=a3.log --baseline=a5.log --baseline=a6.log'
	[ "$(verdict_of req $a b2.log b4.log b6.log b3.log)" = noise ]
	tells 0 '*the change is noise (p = 0.[1-9]*' ptrace-stat --diff --json $a --fail-if='p50 req > +1%' b2.log b4.log b6.log b3.log
	jq -e '.test == "permutation of logs; Westfall-Young" and
		all(.pairs[]; .p_value == ([.quantiles[].p_value] | min))' <<<"$stdout"
	# The durations of two of these logs alone differ for certain.
	[ "$(verdict_of req a1.log b4.log)" = slower ]
	silently 5 ptrace-stat --diff --fail-if='p50 req > +50%' --fail-if='p75 req > +50%' $a c1.log c3.log c5.log c2.log
	grep -q '^req: slower (p50 slower, ' <<<"$stdout"
	[[ $stdout != *'equal runs'* ]]
	a='--baseline=a1.log --baseline=a2.log --baseline=a3.log'
	reports 0 "*p50 req > +50%: does not fail: too few logs have this pair to tell it from noise, 3 and 3; 4 on each side are enough*" \
		ptrace-stat --diff --fail-if='p50 req > +50%' $a c1.log c2.log c3.log
	grep -Eq '^req: too few \(4 logs on each side are enough; longer after: 100.0 %\)$' <<<"$stdout"
}

@test "diff: what no log has is reported, with what is similar" {
	for i in 1 2; do
		job_log $i.log json '1000000 8 begin hex:7b226a6f62223a20317d' '3000000 8 end hex:7b226a6f62223a20317d'
	done
	made 3.log <<-'END'
		event 1000000 9 9 other
	END
	reports 1 "--pid: no event is of process 77" ptrace-stat --diff --pid=77 1.log 2.log
	reports 1 "--tid: no event is of thread 7" ptrace-stat --diff --tid=7 1.log 2.log
	reports 1 "jb.begin: no event type has such a name (did you mean 'job.begin'?)" \
		ptrace-stat --diff --where='event == "jb.begin"' 1.log 2.log
	reports 1 "--where: no event has data.jbo (did you mean 'data.job'?)" \
		ptrace-stat --diff --where='data.jbo == 1' 1.log 2.log
	tells 1 "*ptrace-stat: job: no event job.begin has data.jbo (did you mean 'data.job'\?)" ptrace-stat --diff --pair='job by data.jbo' 1.log 2.log
	for pair in job.begin..job.edn 'job.begin..job.edn by data.job'; do
		reports 1 "job.begin..job.edn: no event type is named 'job.edn' (did you mean 'job.end'?)" \
			ptrace-stat --diff --pair="$pair" 1.log 2.log
	done
	reports 1 "jb.begin..job.end: no event type is named 'jb.begin' (did you mean 'job.begin'?)" \
		ptrace-stat --diff --pair=jb.begin..job.end 1.log 3.log
	tells 1 "ptrace-stat: jbo: no event type is named 'jbo.begin' (did you mean 'job.begin'\?)
ptrace-stat: jbo: no event type is named 'jbo.end' (did you mean 'job.end'\?)" ptrace-stat --diff --pair=jbo 1.log 3.log
	# One of the logs has it. What two options name is missing once.
	silently 0 ptrace-stat --diff --pair=job 3.log 1.log
	silently 0 ptrace-stat --diff --pair=job.begin..other 1.log 3.log
	silently 0 ptrace-stat --diff --pid=9 1.log 3.log
	silently 0 ptrace-stat --diff --where='data.job == 1' 1.log 3.log
	silently 0 ptrace-stat --diff -e other -e other --where='event == "other"' -e 'job.*' 1.log 3.log
	# What is proposed may differ.
	reports 1 "--where: no event has data.zzzzz*" ptrace-stat --diff --where='data.zzzzz == 1' 3.log 1.log
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words

load ../../support/helpers

# Two requests, of which the second one takes 600 ms, and an error.
make_log() {
	timeline run.log 0:posix_trace_start 1000000:app.ready 2000000:req.begin:hex:31 3000000:req.end:hex:31 \
		4000000:req.begin:hex:32 604000000:req.end:hex:32 605000000:app.error:hex:636f6465
}

rules() {
	cat >rules.yaml
}

@test "where: the time since the event before, and since the begin" {
	ptrace-run -o run.log -- "$traced" -n 4 -p 20000
	ptrace-check run.log --never 'traced.event where gap > 1h || time < "+0s"' \
		--exists 'traced.event where gap > 10ms' --no-loss
	prints 1 '*: happened 3 times*: happened 3 times*' ptrace-check run.log --never 'traced.event where gap >= 15ms' \
		--never 'traced.event where time - "+0s" > gap'
	for options in '--never=traced.event where time > "-1s"' '--after=a -> b by gap' \
		'--never=traced.event where gap > 5'; do
		reports 2 '*' ptrace-check run.log "$options"
	done
}

@test "rules of a file: a line and a reason for each, and the events that show it" {
	make_log
	rules <<-'END'
		rules:
		  - {name: ready, exists: app.ready, within: 30s}
		  - {name: fast, after: req.begin, expect: req.end, within: 500ms, by: data}
		  - {name: no errors, never: app.error}
		  - {name: complete, loss: none}
	END
	silently 1 ptrace-check --utc rules.yaml run.log
	grep -qx 'pass       ready: happened' stdout.txt
	grep -qx 'fail       fast: 1 of 2 not answered in time' stdout.txt
	grep -qx 'fail       no errors: happened 1 time' stdout.txt
	grep -qx 'pass       complete: nothing is missing' stdout.txt
	[ "$(tail -n 1 stdout.txt)" = "2 passed, 2 failed, 0 undecided" ]
	grep -Eq '^ +answered after [0-9.]+m?s: .*Z .* req.begin .*"2", and .*Z .* req.end .*"2"$' stdout.txt
	grep -Eq '^ +happened: .* app.error .*"code"$' stdout.txt
	# The commands that it proposes show these events.
	grep -o 'ptrace-dump.*' stdout.txt >commands
	[ "$(wc -l <commands)" -eq 2 ]
	sh -c "$(sed -n 1p commands)" >dumped
	[ "$(jq -r 'select(.data == "2").event' dumped)" = "$(printf 'req.begin\nreq.end')" ]
	sh -c "$(sed -n 2p commands)" | jq -es 'any(.event == "app.error" and .data == "code")'
}

@test "rules of one line" {
	make_log
	prints 0 $'*\npass       after req.begin expect req.end within 20s by data: 2 of 2 answered\n*\n10 passed, 0 failed, 0 undecided' \
		ptrace-check run.log --never 'app.error where data == "other"' \
		--exists 'app.ready within 30s of start' --times 'req.* min 4 max 4' \
		--after 'req.begin -> req.end within 20s by data' \
		--before 'req.end require req.begin by data' --order 'app.ready, req.begin, app.error' \
		--p50 'req.begin..req.end by data < 20s' --max 'req.begin..req.end by data <= 20s' \
		--min 'req.begin..req.end by data > 1ns' --no-loss
	[ -z "$stderr" ]
	exits 1 ptrace-check run.log --p99 'req.begin..req.end by data < 500ms'
	grep -Eq '^fail       pair req.begin..req.end by data p99 < 500ms: 2 pairs; p99 [0-9.]+m?s \(bound < 500ms\)$' stdout.txt
	for bad in '--never=' '--after=a' '--after=a -> b within 5' '--p99=a..b' '--p99=a.. < 5ms' \
		'--pair=a p99' '--pair=a < 5ms' '--pair=a p100 < 5ms' '--pair=p99 < 5ms' '--at-most=a 3 at' \
		'--times=a' '--times=a min 3 max 2' '--order=a' '--exists=a of b' \
		'--never=a where' '--never=a where pidd == 1' '--after=a -> b by pidd'; do
		reports 2 '*' ptrace-check "$bad" run.log
	done
	reports 2 "*--never: the rule 'never a' is given twice*" ptrace-check --never a --never a run.log
}

@test "a file of rules and options together" {
	make_log
	rules <<<'rules: [{name: ready, exists: app.ready}]'
	prints 0 $'*\n2 passed, 0 failed, 0 undecided' ptrace-check --no-loss rules.yaml run.log
	cp rules.yaml other
	exits 0 ptrace-check other run.log
	exits 0 ptrace-check - run.log <rules.yaml
	reports 2 "*no LOG given*" ptrace-check rules.yaml
	for operands in '' run.log 'run.log run.log'; do
		reports 2 "*a file of rules*--never=EVENT*" ptrace-check $operands
	done
}

@test "event types that a log does not have are told" {
	make_log
	exits 1 ptrace-check run.log --never app.eror --exists app.redy --times 'nothing.* max 3' \
		--after 'req.begn -> req.end'
	grep -qx "fail       never app.eror: no event type is called app.eror (did you mean 'app.error'?); if it may be absent, write app.eror\*" stdout.txt
	grep -A1 '^fail       exists app.redy: did not happen$' stdout.txt |
		grep -q "note: no event type is called app.redy (did you mean 'app.ready'?)"
	grep -A1 '^pass       count nothing' stdout.txt | grep -q 'note: no event type is called nothing.\*$'
	grep -A1 '^fail       after req.begn' stdout.txt | grep -q "did you mean 'req.begin'"
	grep -q '^fail       after .*: there was none, at least 1 wanted$' stdout.txt
	# Only a * says that such an event need not exist.
	exits 1 ptrace-check run.log --never 'app.errr?' --never 'app.[error' --never 'app.err[io]' --never 'app.x*'
	[ "$(grep -c '^fail .*: no event type is called app.err' stdout.txt)" -eq 2 ]
	grep -qF "fail       never app.[error: no event type is called app.[error (did you mean 'app.error'?)" stdout.txt
	grep -q '^pass       never app.x' stdout.txt
	# The word after a blank may be a misspelt "where".
	prints 1 $'fail       never app.x\\* were n > 3: no event type is called app.x\\* were n > 3; if it may be absent, write \\? for the blank\npass       never app.x\\*\\?were*' \
		ptrace-check run.log --never 'app.x* were n > 3' --never 'app.x*?were'
}

@test "event types that an expression names and a log does not have are told" {
	make_log
	note="note: no event type that matches app.\* is called app.eror (did you mean 'app.error'?)"
	rules <<-'END'
		rules:
		  - {name: file, never: app.*, where: "event == \"app.eror\""}
	END
	exits 0 ptrace-check rules.yaml run.log --never 'app.* where event == "app.eror" && len > 0' \
		--times 'app.* where event ~ "app.eror" max 0' --before 'app.* where event == "app.eror" require app.ready'
	for rule in file 'never app' 'count app' 'before app'; do
		grep -A1 "^pass       $rule" stdout.txt | grep -qx " *$note"
	done
	# Of the two events of a rule, the one whose pattern does not match the name.
	exits 4 ptrace-check run.log --after 'app.ready -> req.* where event == "app.error" || event == "req.en"'
	[ "$(grep -c 'note: ' stdout.txt)" -eq 2 ]
	grep -qx ' *note: no event type that matches req.\* is called app.error' stdout.txt
	grep -qx " *note: no event type that matches req.\* is called req.en (did you mean 'req.end'?)" stdout.txt
	# Only if the expression can hold for no event because of it.
	for where in 'event == "app.eror" || event == "app.error"' 'event != "app.eror"' '!(event ~ "app.eror")'; do
		exits 0 ptrace-check run.log --never "app.* where ($where) && len == 99"
		fails grep -q note: stdout.txt
	done
}

@test "events that lack the key are counted" {
	made run.log <<-'END'
		event 1000 1 1 a str:{"id":1}
		event 2000 1 1 b str:{"id":1}
		event 3000 1 1 a str:{}
		event 4000 1 1 b str:{}
	END
	prints 0 $'pass *: 1 of 1 answered\n*note: 2 events left out, without data.id\n*' \
		ptrace-check --decode='[ab]=json' --after 'a -> b by data.id' run.log
	# Once each, however often the rule names its type.
	answers 1 'all(.rules[]; .without_key == 1)' ptrace-check --json --decode='[ab]=json' run.log \
		--after 'a -> a by data.id' --before 'a require a by data.id' --order 'a, a by data.id'
	answers 0 '.pairs[0].without_key == 1' ptrace-stat --json --decode='a=json' --pair='a..a by data.id' run.log
}

@test "a required event that lacks the key is no reason to fail if another one has it" {
	made some.log <<-'END'
		layout auth.ok u32 session
		layout auth.reload u32 count
		layout db.write u32 session
		layout cache.write u32 count
		event 1000 1 1 auth.ok u32:7
		event 2000 1 1 auth.reload u32:1
		event 3000 1 1 cache.write u32:1
	END
	prints 0 $'pass *: there was none\n *note: 1 event left out, without data.session\n1 passed*' \
		ptrace-check some.log --before 'db.write require auth.* by data.session'
	# The events that it is about lack it, or all do.
	for rule in 'cache.write require auth.* by data.session' 'cache.write require auth.ok by data.session' \
		'db.write require *.reload by data.session'; do
		prints 1 'fail *: [12] event* left out, without data.session*' ptrace-check some.log --before "$rule"
	done
}

@test "JSON counts the pairs that break a rule, and those without an end" {
	timeline run.log 1000:j.begin 2000:j.end 3000:j.begin 7000:j.end 8000:j.begin
	timeline ended.log 1000:j.begin 2000:j.end 3000:j.begin 7000:j.end 8000:j.begin 9000:os.command
	made lost.log <<<'lost 1'
	local counts='[.rules[] | "\(.kept) \(.broken) \(.open)"] | join(", ")'
	answers 1 "($counts) == \"1 1 1, 2 0 1, 1 1 1, 2 0 1, 2 1 1, 1 0 0\"" ptrace-check --json run.log --max 'j < 2us' \
		--max 'j < 9us' --min 'j > 2us' --p50 'j < 500ns' --at-most 'j 0 at once' --no-loss
	# No end can follow.
	answers 1 "($counts) == \"1 2 0, 2 1 0, 2 0 0\"" ptrace-check --json ended.log --max 'j < 2us' --max 'j < 9us' \
		--p50 'j < 5us'
	answers 1 "($counts) == \"0 1 0\"" ptrace-check --json lost.log --no-loss
	# If an event is missing at an unknown time, it may be one of any pair; but no half of a pair is known to lack.
	printf '%s\n' 'event 1000 7 8 j.begin' 'event 2000 7 8 j.end' 'event 3000 7 8 j.begin' 'event 8000 7 8 j.end' 'lost 1' |
		made holed.log
	answers 4 '.rules[0] | .kept == 1 and .broken == 0 and .doubtful == 1 and .notes == [] and
		[.cases[].reason] == ["took 5us"]' ptrace-check --json holed.log --max 'j < 2us'
}

# broken RULE COLUMN REASON: what is said of a mistake
broken() {
	printf 'rules:\n  - %s\n' "$1" >rules.yaml
	reports 2 "rules.yaml:2:$2: $3" ptrace-check rules.yaml run.log
}

@test "a rule that a misspelt member of JSON keeps fails, with the member that is near" {
	ptrace-run -o run.log -- bash -c 'ptrace-event a id=1 status=0; ptrace-event b x=1'
	prints 1 $'fail       never a where data.statu != 0: no event a has data.statu (did you mean \'data.status\'\\?)\npass *never a where data.status*' \
		ptrace-check run.log --never='a where data.statu != 0' --never='a where data.status != 0' --tolerance=0
	reports 1 "*--where: no event has data.statu (did you mean 'data.status'?)" ptrace-dump --where='data.statu == 1' run.log
	reports 1 "*--around: no event a has data.idd (did you mean 'data.id'*" ptrace-dump --around='a where data.idd == 1' run.log
	reports 1 "*--fields: no event has data.y.z*" ptrace-dump --fields=event,data.y.z run.log
	reports 1 "*--where: no event has data.statu *" ptrace-export --to=csv --where='data.statu == 1' run.log
	for expression in 'data.status == 7' 'data.x == 2 && data.status == 1' '!data.id'; do
		silently 0 ptrace-dump --count --where="$expression" run.log
	done
	# No time needs no unit.
	silently 0 ptrace-dump --around=a --context=0 --count --format=text run.log
	[ "$stdout" -eq 1 ]
	# Once, and only if the expression can hold for no event because of it.
	reports 1 "*--where: no event has data.statu (*" ptrace-dump --where='data.statu == 1 || data.statu > 5' \
		--where='!(len || !(data.statu == 1))' run.log
	[ "$(grep -c statu stderr.txt)" -eq 1 ]
	for where in 'data.statu == 1 || data.id == 1' '!data.statu' '!(data.statu == 1 && len > 0)' 'len || data.statu'; do
		silently 0 ptrace-dump --where="$where" run.log
		exits 0 ptrace-check run.log --exists='[ab]' --never="a where ($where) && len == 99"
		fails grep -q note stdout.txt
	done
	exits 1 ptrace-check run.log --never='a where data.statu == 1 && data.statu == 2' --order='a where data.idd,b where data.idd'
	[ "$(grep -c 'data.statu (did' stdout.txt)" -eq 1 ]
	grep -q 'no event a has data.idd' stdout.txt && grep -q 'no event b has data.idd' stdout.txt
}

@test "a rule that a misspelt name keeps does not pass because a log is damaged, lacks events or has no end" {
	rules=(--times 'req max 1 per data.id' --times 'req min 0 max 9 per data.id' --times 'req min 0 per data.id'
		--before 'req require req by data.id' --never 'req where data.id == 1' --never 'rek')
	made run.log <<-'END'
		layout req json
		event 1000 1 1 req str:{"n":1}
		event 2000 1 1 req str:{"n":2}
	END
	(cat run.log && head -c 5000 /dev/zero) >damaged.log
	head -c -288 run.log >open.log
	made lost.log <<-'END'
		layout req json
		event 1000 1 1 req str:{"n":1}
		lost 1
	END
	for log in run.log damaged.log; do
		answers 1 '.failed == 6' ptrace-check --json "${rules[@]}" $log
	done
	for log in open.log lost.log; do
		answers 4 '.undecided == 6' ptrace-check --json "${rules[@]}" $log
	done
	prints 4 'undecided *: 1 event left out, without data.id; events were lost*' \
		ptrace-check --times 'req min 0 per data.id' lost.log
	printf '%s\n' 'rules:' '  - {count: req, min: 0, per: data.id, at_loss: ignore, at_end: ignore}' \
		'  - {count: req, max: 0, per: data.id, at_loss: fail, at_end: fail}' >rules.yaml
	for log in open.log lost.log; do
		prints 1 $'pass *: 0 events\n *note: * left out, without data.id\nfail *' ptrace-check rules.yaml $log
	done
}

@test "a rule or a selection about a member that only other events have fails" {
	made run.log <<-'END'
		layout a u32 id
		layout b u32 id, u32 status
		event 1000 1 1 a u32:1
		event 2000 1 1 b u32:1 u32:0
		event 2000 1 1 raw hex:00000001
	END
	prints 1 $'fail       never a where data.status != 0: no event a has data.status\npass *\npass *' ptrace-check run.log \
		--never='a where data.status != 0' --never='b where data.status != 0' --never='[ab] where data.status != 0'
	reports 1 '--where: no event a has data.status' ptrace-dump -e a --where='data.status == 0' run.log
	reports 1 '--around: no event a has data.status' ptrace-dump --around='a where data.status == 0' run.log
	silently 0 ptrace-dump -e a -e b --where='data.status == 0' --around='[ab] where data.status == 0' run.log
	# The layout is given to a name that no event has.
	printf '%s\n' 'decode: {rav: u32 n}' 'rules:' '  - {never: raw, where: data.n > 0}' >rules.yaml
	prints 1 '*no event raw has data.n*' ptrace-check rules.yaml run.log
}

@test "a field of an event type that the program has not used is no mistake" {
	made run.log <<-'END'
		layout job u32 id
		event 1000 1 1 job u32:1
	END
	rules <<-'END'
		rules:
		  - {never: app.error*, where: "data.code >= 500"}
		  - {after: send, expect: reply, by: data.number}
		  - {exists: job, where: data.id == 1}
		  - {exists: app.end, where: data.code == 0}
	END
	prints 1 $'pass *\nfail *there was none*\npass *\nfail *app.end*' ptrace-check rules.yaml run.log
	# A field that an event type of the rule should have is one.
	broken '{after: job, expect: reply, by: data.number}' 37 "by: no layout has a field 'data.number'; see --decode"
	broken '{after: job, expect: reply, where: data.it == 1}' 40 "where: column 1: events have no field 'data.it' (did you mean 'data.id'?)"
}

@test "data of other events does not excuse a misspelt field" {
	made run.log <<-'END'
		layout job u32 id
		layout note json
		event 1000 1 1 job u32:1
		event 2000 1 1 note hex:7b226964223a317d
	END
	for rule in 'times=job max 1 per data.it' 'before=job require job by data.it' \
		'never=job where data.it == 2 || data.id == 1'; do
		refuses 2 "*events have no field 'data.it' (did you mean 'data.id'?)" ptrace-check run.log "--$rule"
	done
	# So does a field that all events of the rule lack: it would judge nothing.
	exits 1 ptrace-check run.log --times 'job max 1 per data.n' --before 'job require note by data.n' --decode='note=json' \
		--decode='other=u8 n'
	[ "$(grep -c '^fail .* left out, without data.n$' stdout.txt)" -eq 2 ]
	# An event of the rule has such data.
	ptrace-check run.log --never 'note where data.it == 1 || data.id == 2' --times '* max 2 per data.id'
}

@test "a stop of one log, and what the other log shows" {
	timeline a.log 2000000:posix_trace_stop:u32:0 5000000:posix_trace_start:u32:0
	timeline b.log 1000000:req.begin 3000000:req.begin 6000000:req.end 7000000:req.end
	exits 1 ptrace-check --at-most='req 1 at once' a.log b.log
	# The answer may be in the first log, also if a loss keeps the end of that log from saying how often it started.
	timeline a.log 10000000:posix_trace_stop:u32:0 14000000:posix_trace_start:u32:0 20000000:posix_trace_overflow \
		21000000:posix_trace_resume
	made b.log <<-'END'
		layout req.begin u32 id
		layout req.end u32 id
		event 7500000 20 20 req.begin u32:2
		event 12500000 20 20 req.end u32:2
	END
	exits 4 ptrace-check --max='req by data.id < 3.5ms' a.log b.log
	exits 4 ptrace-check --after='req.begin -> req.end within 3.5ms by data.id' a.log b.log
}

@test "with a loss it is not known whether all processes have ended" {
	made run.log <<-'END'
		event 1000000 10 10 posix_trace_overflow
		event 1100000 10 10 posix_trace_resume
		event 2000000 10 10 os.fork u32:11
		event 3000000 10 10 a
		event 5000000 10 10 os.exit u32:0
		event 5000000 10 10 os.command
	END
	exits 4 ptrace-check --after='a -> b within 50ms' run.log
}

@test "a log with the type os.command and no event of it does not show that all processes have ended" {
	made run.log <<-'END'
		layout os.command i32 status, i32 signal
		event 1000000 10 10 a
		event 2000000 10 10 c
	END
	answers 4 'all(.rules[]; .verdict == "undecided")' ptrace-check --json run.log --after='a -> b' \
		--exists='z* within 10s' --pair='a..b p99 < 1s'
	# The same is true of a copy of a log without its last events.
	rules <<<'rules: [{loss: none}]'
	ptrace-run --quiet --check=rules.yaml -o run.log -- "$traced" -n 2
	exits 1 ptrace-check run.log --exists='z* within 10s'
	ptrace-dump --to-log=cut.log --first=2 run.log
	exits 4 ptrace-check cut.log --exists='z* within 10s'
}

@test "a required event that came too early is the reason" {
	made run.log <<-'END'
		layout s u32 id
		layout w u32 id
		event 1000 1 1 s u32:1
		event 20001000 1 1 w u32:1
		event 20002000 1 1 w u32:2
	END
	answers 1 '[.rules[0].cases[] | [.reason, .other.ns]] ==
		[["the last one before it was 20ms earlier", 1700000000000001000], ["none before it", null]]' ptrace-check --json run.log --before 'w require s within 1ms by data.id'
}

@test "a member of a field that has none is reported, also if other events are JSON" {
	made run.log <<-'END'
		layout u u32 v, u32[2] a
		event 1000 1 1 u u32:1 u32:2 u32:3
		event 2000 1 1 j str:{"k":1}
	END
	for member in 'v.x' 'v\[0]' 'a\[2]' 'k.l'; do
		reports 1 "*--where: no event has data.$member*" ptrace-dump --decode='j=json' --where="data.${member/\\/} == 1" run.log
	done
	silently 0 ptrace-dump --decode='j=json' --where='data.a[1] == 99 || data.k == 99' run.log
}

@test "a misspelt member of a field that is JSON is reported with the member that is near" {
	made run.log <<-'END'
		layout a u32 id, json info
		event 1000 1 1 a u32:1 hex:7b22657272223a20357d
	END
	silently 0 ptrace-dump --where='data.info.err == 5' --fields=event,data.info.err run.log
	reports 1 "*--where: no event has data.info.erx (did you mean 'data.info.err'?)" ptrace-dump --where='data.info.erx == 5' run.log
	reports 1 "*--fields: no event has data.info.erx (did*" ptrace-dump --fields=event,data.info.erx run.log
	prints 1 "*no event a has data.info.erx (did you mean 'data.info.err'\?)*" ptrace-check run.log --never='a where data.info.erx == 5'
}

@test "a mistake in a file of rules is told with its place" {
	ptrace-run -o run.log -- "$traced" -n 1
	broken '{nevr: a}' 6 "unknown key 'nevr' (did you mean 'never'*"
	broken '{name: a}' 5 "says nothing of events*"
	broken '{never: a, exists: b}' 16 "'never' and 'exists' are two rules: give each its own"
	broken '{exists: b, never: a}' 17 "'exists' and 'never' are two rules: give each its own"
	broken '{order: [a, b], pair: [a, b]}' 21 "'pair' and 'order' are two rules*"
	broken '{never: a, never: b}' 16 "'never' is given twice, first in line 2"
	broken '{never: a, within: 5ms}' 24 "'within' has no meaning beside 'never'"
	broken '{never: a, p99: 5ms}' 21 "'p99' has no meaning beside 'never'"
	broken '{never: }' 13 "never: has to be a single value, not nothing"
	broken '{never: [a]}' 13 "never: has to be a single value, not a list"
	broken '{count: a}' 6 "'count' needs 'min', 'max' or both"
	broken '{count: a, min: 3, max: 2}' 21 "min is greater than max"
	broken '{count: a, min: x}' 21 "min: *"
	broken '{count: a, max: 1, by: pid}' 28 "'by' has no meaning beside 'count', which may have 'per'"
	broken '{after: a, within: 5ms}' 6 "'after' needs 'expect'"
	broken '{after: a, expect: b, within: -5ms}' 35 "within: '-5ms' is not a duration*"
	broken '{after: a, expect: b, per: pid}' 32 "'per' has no meaning beside 'after', which may have 'by'"
	broken '{after: a, expect: b, by: pidd}' 31 "by: events have no field 'pidd' (did you mean*"
	broken '{before: a}' 6 "'before' needs 'require'"
	broken '{never: a, where: "pid =="}' 23 "where: *"
	broken '{never: a where pid ==}' 6 "where: *"
	local form="; a condition on the end event is written after its name, without 'end.': BEGIN..END where EXPRESSION"
	broken '{pair: a, where: end.data.n == 1, max: 1s}' 22 "where: column 1: 'end.data.n' is a field of pairs, not of events$form"
	broken '{pair: "a..b where pid && end.tid == 1", max: 1s}' 12 "where: column 8: 'end.tid' is a field of pairs, not of events$form"
	broken '{never: a, where: end.tid == 1}' 23 "where: column 1: 'end.tid' is a field of pairs, not of events"
	broken '{exists: a, of: b}' 21 "'of' needs 'within', as in within: 2s, of: start"
	broken '{pair: [a]}' 6 "pair: has to be a list of two events*"
	broken '{pair: {a: b}}' 12 "pair: has to be a list of events, not a mapping"
	broken '{pair: a}' 6 "'pair' needs a bound*"
	broken '{pair: a.., p99: 1ms}' 12 "'a..' is not X, for X.begin..X.end, or BEGIN..END"
	broken '{pair: a by, p99: 1ms}' 12 "nothing follows 'by'"
	broken '{by: pid, pair: a by tid, p99: 1ms}' 21 "by: is given twice"
	broken '{pair: a by tid, by: pid, p99: 1ms}' 22 "'by' is given twice, first in line 2"
	broken '{pair: a, min: 3ms, max: 1ms}' 20 "min is greater than max"
	broken '{pair: a, p50: "< 1ms", min: "> 2ms"}' 34 "min is greater than p50"
	broken '{pair: a by pidd, p99: 1ms}' 12 "by: events have no field 'pidd' (did you mean*"
	broken '{pair: [a, b]}' 6 "'pair' needs a bound*"
	broken '{pair: [a, b], p99: fast}' 25 "p99: 'fast' is not a duration*"
	broken '{pair: [a, b], p99: 1ms, p99: 2ms}' 30 "'p99' is given twice, first in line 2"
	broken '{pair: [a, b], at-most: 3}' 29 "at-most: '3' is not a number of pairs such as 3 at once"
	broken '{pair: [a, b], at-most: 3 at twice}' 29 "at-most: *"
	broken '{pair: [a, b], p99: 1ms, tolerance: 1us}' 41 "'tolerance' has no meaning beside 'pair' without 'at-most'"
	broken '{count: a, at-most: 3 at once}' 25 "'at-most' has no meaning beside 'count'"
	broken '{order: [a]}' 6 "order: has to be a list of two events or more"
	broken '{order: [a, [b]]}' 17 "order: has to be the name of an event, not a list"
	broken '{loss: some}' 6 "loss: has to be none"
	broken '{never: a, at_end: pass}' 24 "at_end: *"
	broken '{never: a, name: ""}' 22 "name: is empty"
	broken '{never: a, tolerance: 2m}' 27 "'tolerance' has no meaning*"
	broken '{order: [a, b], tolerance: 2m}' 32 "tolerance: is more than a minute"
	broken '&x {never: a}' 5 "anchors and aliases are not supported"
	broken 'never a' 5 "a rule has to be a mapping, not a single value"
	printf 'rules:\n- {name: a, never: a}\n- {never: b, name: a}\n' >rules.yaml
	reports 2 "rules.yaml:3:20: 'a' is the name of the rule in line 2 too" ptrace-check rules.yaml run.log
	for text in '' 'rules: []' 'rules: a' 'rule: []' '[]' 'tolerance: 1us' $'rules: [{never: a}]\n---\na: b' \
		'{rules: [{never: a}], rules: [{never: b}]}' 'rules: [{never: a}' 'decode: {a: u99 x}'; do
		printf '%s\n' "$text" >rules.yaml
		reports 2 'rules.yaml:[1-9]*:[1-9]*: *' ptrace-check rules.yaml run.log
	done
	reports 2 "none.yaml: No such file or directory" ptrace-check none.yaml run.log
}

@test "a field or a unit that no layout has is a mistake, whoever tells the layout" {
	ptrace-run -o told.log -- "$traced" -n 2 -l 'u64 latency us, u32[3] arr, u32 id' \
		-X 40420f000000000001000000020000000300000004000000
	ptrace-run -o bare.log -- "$traced" -n 2
	ptrace-check told.log --exists 'traced.event where data.latency > 5ms' \
		--exists 'traced.event where data.arr[2] > 1' --times 'traced.event max 3 per data.id'
	for options in '--never=traced.event where data.latncy > 5ms' \
		'--never=traced.event where data.latency > 5000' \
		'--never=traced.event where data.arr[3] == 7' \
		'--times=traced.event max 3 per data.idd' '--after=traced.event -> b by data.idd' \
		'--before=b require traced.event by data.idd' \
		'--exists=b within 1s of traced.event where data.idd == 1'; do
		refuses 2 '*' ptrace-check told.log "$options"
	done
	reports 2 "never traced.event where data.latncy > 5ms: where: column 1: *did you mean 'data.latency'*" \
		ptrace-check told.log --never='traced.event where data.latncy > 5ms'
	exits 2 ptrace-check bare.log --decode='traced.event=u64 latency' \
		--never='traced.event where data.latency > 5ms'
	reports 2 "*no layout has a field 'data.latency'; see --decode*" ptrace-check bare.log --never='traced.event where data.latency > 5ms'
	# Each log may have the layout.
	ptrace-check bare.log told.log --exists 'traced.event where data.latency > 5ms'
	cp told.log run.log
	broken '{never: traced.event, where: "data.latncy > 5ms"}' 34 "where: column 1: *data.latncy*"
	broken '{count: traced.event, max: 3, per: data.idd}' 40 "per: *data.idd*"
}

@test "undecided rules have a status of their own, and so has a log that lacks something" {
	ptrace-run --allow-loss -o run.log --stream-min-size=16K --stream-full-policy=loop -- \
		"$traced" -n 20000 2>/dev/null
	reports 4 "*lost in the stream*" ptrace-check run.log --never other
	[[ $stdout == "undecided  never other: did not happen; events were lost"* ]]
	exits 3 ptrace-check run.log --exists traced.event
	tells 0 '?*' ptrace-check --allow-loss run.log --exists traced.event
	exits 1 ptrace-check run.log --exists traced.event --never other --no-loss
	exits 1 ptrace-check run.log --never other --never traced.event
}

# An event for which a pattern does not decide.
make_hard() {
	made run.log <<<"event 1000 1 1 posix_trace_start
event 2000 1 1 big str:$(head -c 19999 /dev/zero | tr '\0' x)"
	hard="data =~ '((x?){30}){15}[yz]'"
}

@test "a pattern that does not decide in time whether an event is of the rule leaves it undecided" {
	make_hard
	prints 4 $'undecided *: did not happen; a pattern did not decide whether events are of the rule\n *note: 1 event could not be decided, because a pattern would take too long\n*' \
		ptrace-check run.log --never "big where $hard"
	exits 0 ptrace-check run.log --never "big where $hard && len == 1"
	exits 1 ptrace-check run.log --never "big where $hard || len == 20000"
}

@test "data that was cut leaves what asks for it undecided, and is counted" {
	layout='u32 id, str msg'
	ptrace-run -o cut.log --max-data-size=16 -- bash -c \
		"$traced -n 2 -l '$layout' -X 010000006161616161616161616161616161616200
		$traced -n 1 -l '$layout' -X 010000006100"
	for rule in 'traced.event where data.msg =~ "b"' 'traced.event where data =~ "b"'; do
		prints 4 $'undecided *: did not happen; data of events is missing\n *note: 2 events had their data cut\n*' \
			ptrace-check cut.log --never "$rule"
	done
	# No event is missing because of it.
	prints 0 $'*\n *note: cut.log has data that was cut, as the largest has 21 bytes\n*' ptrace-check --no-loss cut.log
	ptrace-check --allow-loss cut.log --never 'traced.event where data.id == 2' \
		--never 'traced.event where data.id == 2 && data.msg =~ "b"' \
		--times 'traced.event max 3 per data.id'
	rules <<<'rules: [{never: traced.event, where: "data.msg =~ \"b\"", at_loss: ignore}]'
	exits 0 ptrace-check --allow-loss rules.yaml cut.log
	ptrace-run -o misfit.log -- "$traced" -n 1 -X 0100
	prints 4 $'*\n *note: 1 event has data that does not fit its layout\n*' \
		ptrace-check misfit.log --decode='traced.event=u32 id' --never 'traced.event where data.id > 5'
}

@test "a damaged log, and one that has no end" {
	ptrace-run -o run.log -- "$traced" -n 60000
	size=$(stat -c %s run.log)
	cp run.log bad.log
	damages bad.log '\377\377\377\377' $((size / 2))
	prints 4 'undecided  never other: did not happen; events were lost*' ptrace-check bad.log --never other
	# What stands before the events has none of them: only a rule about losses asks for it.
	cp run.log bad.log
	damages bad.log 'x' $((1760 + 110))
	prints 1 '*pass       never other\**fail       loss none: a part without events is damaged*' \
		ptrace-check bad.log --never "other*" --no-loss
	# So is what a log says twice, of which one is damaged: ptrace-dump --verify knows all of it.
	ptrace-run -o few.log -- "$traced" -n 3
	damaged=0
	for at in $(seq 20 97 "$(stat -c %s few.log)"); do
		cp few.log bad.log
		damages bad.log '\245' "$at"
		verified=0
		ptrace-dump --verify bad.log >said 2>&1 || verified=1
		damaged=$((damaged + verified))
		checked=0
		ptrace-check --no-loss bad.log >said 2>&1 || checked=1
		echo "byte $at: verify $verified, check $checked"
		[ "$verified" -eq "$checked" ]
	done
	[ "$damaged" -gt 10 ]
	head -c $((size - 288)) run.log >cut.log
	prints 4 'undecided  never other: did not happen; the log has no end*' ptrace-check cut.log --never other
	rules <<<'rules: [{never: other, at_end: ignore}]'
	exits 3 ptrace-check rules.yaml cut.log
	exits 1 ptrace-check rules.yaml none.log
	echo text >none.log
	prints 1 '' ptrace-check rules.yaml none.log
}

@test "a stream that was full is a loss, also in a log that has no end" {
	ptrace-run -o run.log --allow-loss --name="$me" --stream-min-size=4K --stream-full-policy=flush -- \
		sh -c '"$1" -n 20000; ptrace-flush "$0"; exec "$1" -e late' "$me" "$traced" 2>/dev/null
	head -c $(($(stat -c %s run.log) - 288)) run.log >cut.log
	for log in run.log cut.log; do
		ptrace-dump --allow-loss "$log" 2>/dev/null |
			jq -se 'any(.[]; .event == "posix_trace_stop" and .reason == 1)'
		prints 1 'fail*: events are missing*' ptrace-check "$log" --no-loss
		prints 4 'undecided*: 0 of 1 have*; events were lost*' ptrace-check "$log" --before 'late require other'
	done
}

@test "several logs are one trace; one may come through a pipe" {
	ptrace-run -o a.log -- bash -c 'ptrace-event a 1; ptrace-event a 2'
	ptrace-run -o b.log -- bash -c 'ptrace-event b 2; ptrace-event b 1'
	for logs in 'a.log b.log' 'b.log a.log'; do
		exits 0 ptrace-check --after 'a -> b by data' --before 'b require a by data' --order a,b $logs
	done
	exits 0 ptrace-check --order a,b b.log - <a.log
	prints 1 $'*: happened 1 time\n*: out of order\n*' bash -c \
		'cat a.log | ptrace-check --never "a where data == 2" --order b,a - b.log'
	grep -o 'ptrace-dump.*' stdout.txt >commands
	sh -c "$(sed -n 1p commands)" <a.log | jq -es 'any(.data == "2")'
	sh -c "$(sed -n 2p commands)" <a.log | jq -es 'any(.event == "b")'
}

# A rule of each verdict, with names of any characters.
odd_rules() {
	ptrace-run --allow-loss -o odd.log --stream-min-size=16K --stream-full-policy=loop -- \
		"$traced" -n 20000 2>/dev/null
	cat >'odd, 100%: <rules>.yaml' <<-'END'
		rules:
		  - {name: "a <b> & \"c\" \u0001 \uffff # \\ %, 100%: \n::error::x", never: traced.event}
		  - {name: "kept", exists: traced.event, where: "event == \"traced.event\""}
		  - {name: "]]> undecided", never: "other"}
	END
}

@test "the command of a case is a line for a shell, whatever path and name are" {
	for path in -dash.log $'a\nb\033[1m.log' $'it\'s \\a\x80.log' "it's a \$(log).log" 'grün $HOME.log'; do
		ptrace-run -o "$path" -- ptrace-event $'o\'d*d \xff\033[1m\n' 7
		exits 1 ptrace-check --never 'o*' -- "$path"
		[[ $stdout != *$'\033'* ]]
		grep -o 'ptrace-dump.*' stdout.txt >command
		[ "$(wc -l <command)" -eq 1 ]
		fails grep -q $'\033' command
		bash -c "$(cat command)" | jq -es 'any(.data == "7")'
	done
	grep -qF "'grün \$HOME.log'" command
}

@test "what follows the events of an option may stand in any order" {
	ptrace-run -o run.log -- "$traced" -n 4
	ptrace-check run.log --times 'traced.event max 8 min 3' \
		--times 'traced.event per pid min 4 max 4' \
		--exists 'traced.event of start within 1h' \
		--after 'traced.event where len >= 0 -> traced.event by pid within 1h' --no-loss \
		>told.txt || [ "$?" -eq 4 ]
	[ "$(grep -c '^pass' told.txt)" -eq 4 ]
	[ "$(grep -c '^undecided .*1 open at the end' told.txt)" -eq 1 ]
	made pairs.log <<<'event 1000 1 1 job.begin
event 2000 1 1 job.end'
	for rule in 'p99=job < 1s' 'pair=job p75 < 1s' 'at-most=job 5 at once' 'max=job.begin..job.end<1s'; do
		prints 0 'pass *job* by pid *' ptrace-check pairs.log "--$rule by pid"
		reports 2 "*--${rule%%=*}: nothing follows 'by'*" ptrace-check pairs.log "--$rule by"
		reports 2 "*--${rule%%=*}: by: is given twice*" ptrace-check pairs.log "--${rule/job/job by tid} by pid"
	done
	reports 2 "*lacks a bound such as '3 at once'*" ptrace-check pairs.log '--at-most=job 5 at by pid'
	reports 2 "*--times: max: is given twice*" ptrace-check run.log --times 'traced.event max 8 min 3 max 9'
	reports 2 "*--exists: nothing follows 'of'*" ptrace-check run.log --exists 'a within 2s of'
	reports 2 "*--after: nothing follows 'by'*" ptrace-check run.log --after 'a -> b within 2s by'
}

@test "data that does not fit counts once, however often it is shown" {
	ptrace-run -o run.log -- "$traced" -n 40 -e a -X 0102
	tells 1 '*a: the data of 40 events has 2 bytes, the layout wants 1*' ptrace-check --decode='a=u8 x' --after='a -> b by data.x' --never='a where data.x == 1' run.log
}

@test "function, file and line are refused, as rules do not know them" {
	ptrace-run -o run.log -- ptrace-event a
	for rule in '--never=* where function == "main"' '--times=* max 3 per function' \
		'--after=a -> b by line'; do
		reports 2 '*function, file and line are not known to rules*' ptrace-check run.log "$rule"
	done
}

@test "a bracket that does not end stands for itself" {
	ptrace-run -o run.log --only='a[b' -- ptrace-event 'a[b'
	exits 1 ptrace-check --never='a[b' run.log
	prints 1 $'fail *never \\[: no event type is called \\[; if it may be absent, write \\[\\*\n*' ptrace-check --never='[' run.log
}

@test "JSON of rules is as its schema says" {
	odd_rules
	exits 1 ptrace-check --json 'odd, 100%: <rules>.yaml' odd.log
	valid check <stdout.txt
	jq -e '(.rules | map(.verdict)) == ["fail", "pass", "undecided"] and .failed == 1 and
		.passed == 1 and .undecided == 1 and (.complete | not) and .rules[0].line == 2 and
		.rules[0].column == 5 and (.rules[0].cases | length) == 3 and
		.logs[0].losses.stream_events > 0 and .rules[0].matched == .rules[0].broken' stdout.txt
	sh -c "$(jq -r '.rules[0].cases[0].command' stdout.txt)" 2>/dev/null |
		jq -es --slurpfile r stdout.txt 'any(.time == $r[0].rules[0].cases[0].event.time)'
	make_log
	exits 1 ptrace-check --json --never $'\xff' --max 'req.begin..req.end < 1ns' run.log
	valid check <stdout.txt
	jq -e '.rules[0].name_hex and .complete and .rules[1].cases[0].other.text' stdout.txt
}

@test "TAP of rules" {
	odd_rules
	exits 1 ptrace-check --tap 'odd, 100%: <rules>.yaml' odd.log
	[ "$(head -n 2 stdout.txt)" = $'TAP version 13\n1..3' ]
	[ "$(grep -c '^not ok ' stdout.txt)" -eq 2 ]
	grep -qF 'not ok 1 - a <b> & "c" \\x01 ' stdout.txt
	grep -qF ' \# \\ %, 100%: \\n::error::x' stdout.txt
	grep -qx 'ok 2 - kept' stdout.txt
	grep -qx 'not ok 3 - ]]> undecided' stdout.txt
	cp stdout.txt verdicts.tap
	grep -v '^\(TAP version 13\|1\.\.3\|\(not \)\?ok [123] - .*\|  ---\|  verdict: [a-z]*\|  message: ".*"\|  \.\.\.\)$' \
		stdout.txt && return 1
	sed -n 's/^  message: //p' stdout.txt | jq -es 'length == 3 and (.[0] | test("^happened [0-9]+ times; worst: happened; rule: never traced.event\n"))'
	prints 1 '*Failed tests:  1, 3*' prove --exec cat verdicts.tap
	# Nor has it a character that YAML refuses.
	prints 4 '*ufffe*' ptrace-check --tap --never=$'x\xef\xbf\xbe' odd.log
	fails grep -q $'\xef\xbf\xbe' stdout.txt
}

@test "XML of rules is valid whatever the names are" {
	odd_rules
	for operand in --format=junit --junit; do
		exits 1 ptrace-check "$operand" 'odd, 100%: <rules>.yaml' odd.log
		python3 - stdout.txt <<-'END'
			import sys, xml.etree.ElementTree as tree
			suite = tree.parse(sys.argv[1]).getroot()
			assert suite.tag == "testsuite" and suite.get("tests") == "3"
			assert suite.get("failures") == "1" and suite.get("errors") == "1"
			cases = suite.findall("testcase")
			assert [c.get("classname") for c in cases] == ["odd, 100%: <rules>.yaml"] * 3
			assert cases[0].get("name") == "a <b> & \"c\" \\x01 \\uffff # \\ %, 100%: \\n::error::x"
			assert cases[2].get("name") == "]]> undecided"
			assert [c[0].tag for c in cases] == ["failure", "system-out", "error"]
			assert "events were lost" in cases[2][0].get("message")
			assert "ptrace-dump --around='traced.event'" in cases[0][0].text
			assert cases[0][0].text.count("\n") > 5
		END
	done
	# The last two are no characters of XML, wherever they stand.
	for bytes in '\x01y' '\x08y' '\x0by' '\x1fy' '\x7fy' '\xc0y' '\xffy' '\xef\xbf\xbey' '\xef\xbf\xbf'; do
		run_split ptrace-check --junit --never "x$(printf %b "$bytes")" odd.log
		python3 -c 'import xml.etree.ElementTree as t; t.parse("stdout.txt")'
	done
}

@test "annotations of GitHub" {
	odd_rules
	exits 1 ptrace-check --github 'odd, 100%: <rules>.yaml' odd.log
	[ "$(grep -c '^::' stdout.txt)" -eq 2 ]
	grep -q '^::error file=odd%2C 100%25%3A <rules>.yaml,line=2,col=5,title=a <b> & .*%2C 100%25%3A .n%3A%3Aerror%3A%3Ax::happened [0-9]* times; worst: happened; rule: never traced.event%0Ahappened: ' stdout.txt
	grep -q '^::warning file=.*,line=4,col=5,title=]]> undecided::did not happen; events were lost; rule: ' stdout.txt
	[ "$(tail -n 1 stdout.txt)" = "1 passed, 1 failed, 1 undecided" ]
	grep -q '^pass  *kept: ' stdout.txt
	prints 1 '::error title=never traced.event::happened *' ptrace-check --github --never traced.event odd.log
	# What failed is said once.
	[ "$(grep -c 'happened.*times' stdout.txt)" -eq 1 ]
	exits 2 ptrace-check --format=xml --never a odd.log
}

@test "a log of ptrace-run whose processes have all ended decides what is open" {
	rules <<<'rules: [{after: a, expect: b, within: 1h}]'
	tells 1 '*fail       after a expect b within 1h: 1 of 1 not answered in time*' ptrace-run --check=rules.yaml -o run.log -- ptrace-event a
	prints 1 '*not answered by the end of the log: * a *' ptrace-check rules.yaml run.log
	exits 1 ptrace-check --exists='b within 1h' run.log
	# COMMAND's end is in the log, too, if it failed; else the log does not tell.
	exits 7 ptrace-run -o run.log -- bash -c 'ptrace-event a; exit 7'
	exits 1 ptrace-check rules.yaml run.log
	exits 0 ptrace-run -o run.log -- "$traced" -n 1
	exits 4 ptrace-check --after='traced.event -> b within 1h' run.log
	# What is copied of a log up to a time has not the end.
	exits 1 ptrace-run --check=rules.yaml -o run.log -- ptrace-event a
	exits 0 ptrace-dump -e a --to-log=copy.log run.log
	exits 4 ptrace-check rules.yaml copy.log
	# A process that went on may have done it later, and so may COMMAND when the recording ended early.
	mkfifo in
	exec 7<>in
	# shellcheck disable=SC2016 # the inner shell's
	tells 4 '*undecided  after a expect b within 1h: *' ptrace-run --check=rules.yaml -o run.log -- bash -c \
		'"$0" -n 1 -w <in >out & until grep -qx ready out; do sleep 0.02; done; ptrace-event a' "$traced" 3>&-
	exits 4 ptrace-check rules.yaml run.log
	echo >&7
	exits 4 ptrace-run --check=rules.yaml --name="$me" -o run.log -- bash -c "ptrace-event a; ptrace-shutdown --allow-loss $me"
}

@test "how many pairs are open at once" {
	ptrace-run -o run.log -- bash -c 'for e in a1 a2 b1 a3 b2 b3; do ptrace-event ${e%?} "id=${e#?}"; done'
	prints 0 '*pair a..b by data.id at-most 2 at once: 3 pairs; 2 at once (bound 2)*' ptrace-check --at-most='a..b by data.id 2 at once' run.log
	rules <<<'rules: [{name: pool, pair: [a, b], by: data.id, at-most: 1 at once}]'
	prints 1 "*fail       pool: 3 pairs; 2 at once (bound 1)*2 at once: * a *ptrace-dump --around='a' *" ptrace-check rules.yaml run.log
	reports 2 "*at-most: 'x at once' is not a number of pairs such as 3 at once*" ptrace-check --at-most='a..b x at once' run.log
}

@test "a field that contradicts the pairs of a thread is named, once for each pair" {
	job_log made.log 'u64 job' '1000 1 begin u64:0' '2000 1 begin u64:1' '3000 1 end u64:0' '4000 1 end u64:1'
	tells 0 "ptrace-check: made.log: job: ends come in another order than they would nest, so the durations are wrong; add 'by data.job' to the rule" ptrace-check --max='job < 1s' --min='job > 0s' made.log
	silently 0 ptrace-check --at-most='job by data.job 2 at once' --max='job by tid < 1s' made.log
	job_log threads.log 'u64 job' '1000 1 begin u64:0' '3000 2 end u64:0'
	tells 4 "ptrace-check: threads.log: job: begins and ends with the same data.job are on different threads; add 'by data.job' to the rule" ptrace-check --at-most='job 1 at once' --max='job < 1s' threads.log
}

@test "ptrace-run --check runs, records and judges" {
	rules <<-'END'
		decode: {traced.event: u32 number}
		rules:
		  - {name: three, count: traced.event, min: 3, max: 3}
		  - {name: none, never: "other*"}
	END
	tells 0 $'*pass       three: 3 events\npass       none: did not happen\n*\n2 passed, 0 failed, 0 undecided' \
		ptrace-run --check=rules.yaml -o run.log -- "$traced" -n 3
	tells 1 '*fail       three: 4 events*1 passed, 1 failed, 0 undecided' ptrace-run --check=rules.yaml -o run.log -- "$traced" -n 4
	ptrace-dump --count run.log
	# COMMAND's status is above that of the rules.
	tells 7 '*fail       three: 4 events*' ptrace-run --check=rules.yaml -o run.log -- bash -c "$traced -n 4; exit 7"
	tells 137 '*fail       three: 0 events*' ptrace-run --check=rules.yaml -o run.log -- bash -c 'kill -KILL $$'
	rules <<<'rules: [{never: other}]'
	exits 4 ptrace-run --check=rules.yaml -o run.log --stream-min-size=16K \
		--stream-full-policy=loop -- "$traced" -n 20000
	rules <<<'rules: [{exists: traced.event}]'
	exits 3 ptrace-run --check=rules.yaml -o run.log --stream-min-size=16K \
		--stream-full-policy=loop -- "$traced" -n 20000
	exits 0 ptrace-run --allow-loss --check=rules.yaml -o run.log --stream-min-size=16K \
		--stream-full-policy=loop -- "$traced" -n 20000
}

@test "ptrace-run --check writes TAP, XML and annotations of GitHub" {
	rules <<-'END'
		rules:
		  - {name: three, count: traced.event, max: 3}
		  - {name: none, never: "other*"}
	END
	tells 1 $'*\n1..2\nnot ok 1 - three\n*' ptrace-run --check=rules.yaml --tap --quiet -o run.log -- "$traced" -n 4
	tells 1 '::error file=rules.yaml,line=2,col=5,title=three::4 events*' \
		ptrace-run --check=rules.yaml --github --quiet -o run.log -- "$traced" -n 4
	# The form is that of ptrace-check; with a file standard error has text, or what else was asked for.
	tells 1 '::error *' ptrace-run --check=rules.yaml --junit=result.xml --tap=result.tap --github --quiet -o run.log -- "$traced" -n 4
	exits 1 ptrace-check --junit rules.yaml run.log
	cmp stdout.txt result.xml
	exits 1 ptrace-check --tap rules.yaml run.log
	cmp stdout.txt result.tap
	reports 125 "--junit: goes to standard error, as --tap does*" ptrace-run --check=rules.yaml --tap --junit -o run.log -- true
	# Such a file may be replaced; any other one, and the log, may not.
	tells 0 '*2 passed, 0 failed, 0 undecided*' ptrace-run --check=rules.yaml --junit=result.xml --quiet -o run.log -- "$traced" -n 3
	exits 0 ptrace-check --junit rules.yaml run.log
	cmp stdout.txt result.xml
	echo '<?xml version="1.0" encoding="UTF-8"?><project/>' >other.xml
	does_not_run "*other.xml: exists and is not a result of ptrace-check*" --check=rules.yaml --junit=other.xml -o run.log
	does_not_run "*new.log: is the log*" --check=rules.yaml --junit=new.log -o new.log
	does_not_run "*--junit: needs --check.*" --junit=result.xml -o run.log
	does_not_run "--check: is given twice.*" --check=rules.yaml --check=other.yaml -o run.log
	does_not_run "--junit: is given twice.*" --check=rules.yaml --junit=a.xml --junit=b.xml -o run.log
	exits 125 ptrace-run --check=rules.yaml --junit=- -o run.log -- touch ran
	[ ! -e ran ]
}

@test "ptrace-run --check tells mistakes before COMMAND runs" {
	rules <<<'rules: [{nevr: other}]'
	does_not_run "rules.yaml:1:10: unknown key 'nevr'*" --check=rules.yaml -o run.log
	rules <<<'rules: [{never: other, where: "pidd == 1"}]'
	exits 125 ptrace-run --check=rules.yaml -o run.log -- touch ran
	exits 125 ptrace-run --check=none.yaml -o run.log -- touch ran
	rules <<<'rules: [{never: other}]'
	tells 125 '*--check needs a log that is a regular file' bash -c 'ptrace-run --check=rules.yaml -o /dev/stdout -- touch ran | cat; exit "${PIPESTATUS[0]}"'
	[ ! -e ran ]
	# Only the log's layout shows that there is no such field; the status of COMMAND is above that.
	rules <<<'rules: [{never: traced.event, where: "data.secnd == 1"}]'
	for status_of in 0 7; do
		tells $((status_of ? 7 : 125)) "*ptrace-run: rules.yaml:1:38: where: column 1: *did you mean 'data.second'*" \
			ptrace-run --check=rules.yaml -o run.log -- bash -c "$traced -n 1 -l 'u8 first, u8 second' -d ab; exit $status_of"
		[[ $stderr != *passed* ]]
	done
	# Layouts may stand in the configuration.
	printf 'decode: {traced.event: u8 first}\n' >run.yaml
	rules <<<'rules: [{count: traced.event, where: "data.first == 97", min: 2}]'
	exits 0 ptrace-run -c run.yaml --check=rules.yaml -o run.log -- "$traced" -n 2 -d abcd
}

@test "rules are judged by the events that are selected" {
	ptrace-run -o run.log -- sh -c 'for i in 1 2 3; do ptrace-event a id=$i; done; ptrace-event b id=2'
	exits 1 ptrace-check --never=b run.log
	exits 0 ptrace-check --never=b --where='data.id != 2 || event == "a"' run.log
	exits 0 ptrace-check --never=b --event=a run.log
	exits 0 ptrace-check --times='a min 3 max 3' --event=a --pid="$(ptrace-dump --json -e b run.log | jq .pid)" run.log
	prints 1 '*2 events*' ptrace-check --times='a min 3' --where='data.id < 3' run.log
	# What comes later is not known.
	last=$(ptrace-dump --json -e a --where='data.id == 3' run.log | jq -r .time)
	exits 0 ptrace-check --after='a -> b' run.log
	exits 4 ptrace-check --after='a -> b' --until="$last" run.log
	# It makes nothing late, nor does a stop, or the end of another log.
	printf 'event %s\n' '1000000 1 1 a' '2000000 1 1 b' '9000000 1 1 posix_trace_stop' '10000000 1 1 posix_trace_start' | made stops.log
	head -c -288 stops.log >open.log
	printf 'event 20000000 2 2 c' | made other.log
	for logs in stops.log 'open.log other.log'; do
		answers 4 'all(.rules[]; .open == 1)' ptrace-check --json --until=+500us --after='a -> b within 5ms' \
			--max='a..b < 5ms' $logs
	done
	# A stop whose start comes later is not the end of the recording.
	timeline stopped.log 1000000:a 2000000:posix_trace_stop 20000000:posix_trace_start 40000000:b
	prints 1 'fail *did not happen*undecided *the trace was stopped for a time*' ptrace-check --until=+10ms \
		--exists='b within 5ms of a' --after='a -> b within 5ms' stopped.log
	tells 1 '*no.such: no event type has such a name*' ptrace-check --no-loss --event=no.such run.log
	reports 2 "--where: function, file and line need --symbols, which cannot be used here*" \
		ptrace-check --no-loss --where='line == 3' run.log
	# The start of the trace is that of the whole log, or --since.
	printf 'event 1000000 1 1 a\nevent 6000000 1 1 b\n' | made times.log
	exits 1 ptrace-check --event=b --exists='b within 4ms' times.log
	exits 0 ptrace-check --event=b --never='b where time < "+4ms"' times.log
	exits 0 ptrace-check --since=+4ms --exists='b within 4ms' times.log
	exits 0 ptrace-check --since=+4ms --never='b where time < "+4ms"' times.log
}

@test "an event of which --where does not decide is missing" {
	make_hard
	answers 4 '.complete == false' ptrace-check --json --times='big max 5' --event=big --where="$hard" run.log
	[[ $stderr == *"--where: 1 event could not be decided"* ]]
	exits 0 ptrace-check --allow-loss --exists=posix_trace_start --where="$hard || event != 'big'" run.log
	answers 3 '.complete == false' ptrace-stat --json --pair=big..big --event=big --where="$hard" run.log
}

@test "the cases of rules by key are the earliest of those that are as bad, in each run" {
	for ((i = 0; i < 60; i++)); do
		echo "event $((1000 + i)) 1 1 b u64:$((i * 7919 % 60))"
	done >script
	(echo 'layout b u64 k' && cat script) | made made.log
	rules <<<'rules: [{name: order, order: [a, b], by: data.k}, {name: count, count: b, max: 0, per: data.k}]'
	for run in 1 2 3; do
		answers 1 '[.rules[].cases | map(.event.time[-5:-1])] | all(. == ["1000", "1001", "1002"])' ptrace-check --json rules.yaml made.log
	done
}

@test "a stream that stopped because it was full loses what its log counts, and nothing else" {
	printf '%s\n' 'event 100 7 8 job.begin' 'event 200 7 8 posix_trace_stop hex:01000000' >log.txt
	made full.log <log.txt
	prints 0 'pass       loss none: nothing is missing*' ptrace-check --no-loss full.log
	[ -z "$stderr" ]
	reports 0 "*job: 1 begin without end*" ptrace-dump --pairs full.log
	# A log without an end does not say what the other one lost.
	printf '%s\n' 'event 100 9 9 one' unclosed | made open.log
	prints 4 'undecided  loss none: nothing is missing*' ptrace-check --no-loss full.log open.log
	(cat log.txt && echo 'lost 3') | made full.log
	reports 1 "*3 events lost*" ptrace-check --no-loss full.log
	tells 3 '*job: 1 cut by lost events*' ptrace-dump --pairs full.log
}

@test "a stream that was full for a moment and lost nothing leaves nothing open" {
	# momentary LOG PID [LINE]: a log whose START after the full stream is of this process
	momentary() {
		printf '%s\n' 'event 50 1 1 posix_trace_start' 'event 100 7 8 job.begin u32:1' \
			'event 200 0 0 posix_trace_stop u32:1' "event 300 $2 0 posix_trace_start" \
			'event 400 7 8 job.end u32:1' 'event 500 1 1 posix_trace_stop u32:0' "${@:3}" | made "$1"
	}
	rules <<<'rules: [{pair: job, by: data, max: 1us}, {pair: job, by: data, at-most: 1 at once},
		{pair: job, max: 1us}, {after: job.begin, expect: job.end, by: data, within: 250ns},
		{order: [job.begin, job.end]}]'
	momentary whole.log 0
	answers 1 '[.rules[].verdict] == ["pass", "pass", "pass", "fail", "pass"]' \
		ptrace-check --json rules.yaml whole.log
	answers 0 '.pairs[0] | .count == 1 and .max_ns == 300 and .cut == 0' ptrace-stat --json --pair='job by data' whole.log
	# The end of the pair alone is selected: it has no begin, and was not cut.
	answers 0 '.pairs[0] | .unmatched_ends == 1 and .cut == 0' ptrace-stat --json --pair=job --since=+250ns whole.log
	answers 0 '.duration_ns == 300' ptrace-dump --json --pair=job whole.log
	# A log that counts a loss, or has no end, does not say what was lost there; and a call may have stopped the
	# full stream, so that the START is of its process.
	momentary lossy.log 0 'lost 1'
	head -c -1 whole.log >open.log
	momentary called.log 1
	for log in lossy.log open.log called.log; do
		answers 4 '[.rules[:3][].verdict] | all(. == "undecided")' ptrace-check --json --allow-loss rules.yaml $log
		answers 0 '.pairs[0] | .count == 0 and .cut == 1' ptrace-stat --json --allow-loss --pair='job by data' $log
	done
	# With another log, too.
	printf '%s\n' 'event 50 1 1 posix_trace_start' 'event 210 9 9 job.begin u32:2' 'event 600 9 9 job.end u32:2' | made other.log
	exits 0 ptrace-dump --json --pair='job by data' whole.log other.log
	jq -se 'map(.duration_ns) == [300, 390]' stdout.txt
	exits 0 ptrace-check --max='job by data < 1us' whole.log other.log
	prints 0 '' ptrace-dump --json --pair='job by data' called.log other.log
	exits 4 ptrace-check --max='job by data < 1us' called.log other.log
	# A call stops and restarts the first one later, which cuts what is open then only.
	momentary twice.log 0 'event 700 1 1 posix_trace_start' 'event 750 7 8 job.begin u32:1' 'event 800 7 8 job.end u32:1'
	exits 0 ptrace-dump --json --pair='job by data' twice.log other.log
	jq -se 'map(.duration_ns) == [300, 50]' stdout.txt
	answers 4 '.rules[0] | .kept == 2 and .broken == 0' ptrace-check --json --max='job by data < 1us' twice.log other.log
}

@test "the marks of one log do not say where another log lost events" {
	made marked.log <<-'END'
		event 5000 7 8 posix_trace_overflow
		event 5001 7 8 posix_trace_resume
		event 6000 7 8 one
		lost 1
	END
	printf '%s\n' 'event 100 9 9 a' 'event 3000 9 9 c' 'lost 3' | made unmarked.log
	prints 4 'undecided *' ptrace-check --exists='b within 1us' unmarked.log marked.log
}

@test "an event that is missing at an unknown time may be the start of the trace, if no START is the first event" {
	printf '%s\n' 'event 1000 7 8 a' 'event 2000 7 8 b' 'lost 1' | made none.log
	printf '%s\n' 'event 500 0 0 posix_trace_start' 'event 1000 7 8 a' 'event 2000 7 8 b' 'lost 1' | made run.log
	printf '%s\n' 'event 600 7 8 a' 'event 700 0 0 posix_trace_stop' 'event 800 0 0 posix_trace_start' 'event 2000 7 8 b' \
		'lost 1' | made again.log
	printf '%s\n' 'event 400 0 0 posix_trace_start' 'event 500 7 9 c' | made other.log
	for logs in none.log again.log 'none.log other.log'; do
		prints 4 'undecided *: happened; events were lost*' ptrace-check --exists='b within 1s' $logs
	done
	exits 0 ptrace-check --allow-loss --exists='b within 1s' run.log other.log
	# The start of the selected time is known.
	exits 0 ptrace-check --allow-loss --since=+100ns --exists='b within 1s' none.log
	exits 0 ptrace-check --allow-loss --exists=b none.log
}

@test "what the kernel lost is a loss at its place" {
	made a.log <<-'END'
		layout os.lost u64 events, u32 processor, bool withheld
		event 100 7 8 os.syscall.begin
		event 200 7 8 os.syscall.end
		event 300 7 8 os.syscall.begin
		event 300 7 8 os.lost u64:5 u32:0 u8:0
		event 5000 7 8 os.syscall.end
		event 5100 7 8 os.syscall.begin
		event 5300 7 8 os.syscall.end
		unobserved 5
	END
	answers 4 '.rules[0] | .kept == 2 and .broken == 0 and .doubtful == 1' ptrace-check --json a.log --max='os.syscall < 1us'
	exits 3 ptrace-check --json a.log --order='os.syscall.begin, os.syscall.end'
	exits 4 ptrace-check --json a.log --after='os.syscall.begin -> os.syscall.end within 1us'
}

@test "what happened while the trace was stopped is not known" {
	# The recording ends with the stop, not with the flush after it.
	timeline a.log 100000:a 400000:posix_trace_stop:u32:0 9000000:posix_trace_flush_start \
		9000000:posix_trace_flush_stop
	exits 4 ptrace-check a.log --after='a -> b within 2ms'
	exits 4 ptrace-check a.log --exists='b within 2ms'
	prints 1 '*not answered for 300us*' ptrace-check a.log --after='a -> b within 200us'
	exits 4 ptrace-check a.log --max='a..b < 2ms'
	# Stopped within the second pair and for the third; the second begin and the third end seem to be one.
	timeline b.log 100000:posix_trace_start 110000:j.begin:u32:1 210000:j.end:u32:1 300000:j.begin:u32:2 \
		350000:posix_trace_stop:u32:0 900000:posix_trace_start 950000:j.end:u32:3 1000000:j.begin:u32:4 \
		1050000:late 1100000:j.end:u32:4
	answers 4 '.rules[0] | .kept == 2 and .broken == 0 and .doubtful >= 1' ptrace-check --json b.log --max='j < 200us'
	answers 0 '.pairs[0] | .count == 2 and .max_ns == 100000 and .cut == 1' ptrace-stat --json --pairs b.log
	prints 4 'undecided*; the trace was stopped for a time*' ptrace-check b.log --after='j.begin -> j.end within 100us'
	exits 4 ptrace-check b.log --before='j.end require j.begin by data'
	rules <<<'rules: [{never: "k*"}, {count: j.begin, max: 3}, {exists: j.end, within: 1ms},
		{exists: j.end, of: late, within: 200us}]'
	exits 0 ptrace-check rules.yaml b.log
	# Of one that runs, the time without an event counts.
	timeline c.log 100000:a 9000000:posix_trace_flush_start
	exits 1 ptrace-check c.log --after='a -> b within 2ms'
}

@test "while one of several logs is stopped, events of the others may lack theirs" {
	local stop='posix_trace_stop u32:0' start='event 8000000 1 1 posix_trace_start'
	both() {
		printf '%s\n' 'event 0 1 1 c' "event 1000000 1 1 $stop" "$@" | made a.log
		printf 'event %s\n' '500000 2 2 q.begin u32:1' '1500000 2 2 a' '2000000 2 2 d' '4000000 2 2 b' \
			'4500000 2 2 e' '5000000 2 2 q.end u32:1' '9000000 2 2 c' | made b.log
	}
	both "$start"
	exits 4 ptrace-check --after='a -> b within 1ms' a.log b.log
	exits 4 ptrace-check --order='e, d' a.log b.log
	exits 0 ptrace-check --no-loss --exists=b a.log b.log
	prints 0 '' ptrace-dump --json --pair='q by data' a.log b.log
	# A stop without a start is the end of the log.
	both
	exits 1 ptrace-check --after='a -> b within 1ms' a.log b.log
	exits 1 ptrace-check --order='e, d' a.log b.log
	answers 0 '.duration_ns == 4500000' ptrace-dump --json --pair='q by data' a.log b.log
}

@test "files that --log-keep has deleted are no loss, but may have what comes first" {
	# shellcheck disable=SC2016 # the inner shell's
	ptrace-run -o run.log --name="$me" --log-rotate=16K --log-keep=2 -- \
		sh -c 'for i in 1 2 3; do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me"
	[ ! -e run.log ]
	exits 0 ptrace-check --no-loss run.log
	# The first event may be the end of a pair that was deleted.
	for rule in --before='traced.event require first' --min='traced.event..traced.event >= 0s'; do
		prints 4 '*; files of the log were deleted*' ptrace-check "$rule" run.log
	done
	# Nobody knows when the trace began.
	exits 4 ptrace-check --exists='traced.event within 1h' run.log
	exits 0 ptrace-check --exists=traced.event run.log
}

@test "what the first files of a log had may be what the events of another log lack" {
	local first files case
	# shellcheck disable=SC2016 # the inner shell's
	ptrace-run -o run.log --name="$me" --log-rotate=16K --log-keep=2 -- \
		sh -c 'for i in 1 2 3; do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me"
	for case in deleted missing; do
		if [ $case = missing ]; then
			files=(run.log.*)
			rm "${files[0]}"
		fi
		# The times of made logs count from 1700000000 s.
		first=$(ptrace-dump --allow-loss --json --first=1 run.log | grep -o '"ns":[0-9]*' | cut -d: -f2)
		first=$((first - 1700000000000000000))
		timeline before.log $((first - 9000)):q.begin:u32:1 $((first - 8000)):q.end:u32:1 $((first - 7000)):a
		timeline after.log $((first + 1000)):q.begin:u32:1 $((first + 2000)):q.end:u32:1 $((first + 3000)):a
		for rule in --max='q by data < 5us' --after='a -> b within 1us' --before='a require b within 1us' \
			--order='q.end, q.begin'; do
			exits 4 ptrace-check --allow-loss "$rule" before.log run.log
		done
		prints 0 '' ptrace-dump --allow-loss --json --pair='q by data' before.log run.log
		exits $([ $case = deleted ] && echo 0 || echo 4) ptrace-check --max='q by data < 5us' after.log run.log
		exits 1 ptrace-check --allow-loss --after='a -> b within 1us' after.log run.log
		exits 1 ptrace-check --allow-loss --before='a require b within 1us' after.log run.log
		answers 0 '.duration_ns == 1000' ptrace-dump --allow-loss --json --pair='q by data' after.log run.log
	done
}

@test "what happens after the last stop is not known to have happened never" {
	rules <<<'rules: [{after: a.begin, expect: "a.end*", by: data.id}]'
	exits 1 ptrace-run --check=rules.yaml -o run.log --name="$me" -- bash -c 'ptrace-event a.begin id=1'
	exits 4 ptrace-run --check=rules.yaml -o run.log --name="$me" -- \
		bash -c 'ptrace-event a.begin id=1; ptrace-stop "$1"; ptrace-event a.end id=1; true' - "$me"
	exits 4 ptrace-check rules.yaml run.log
}

@test "a process that goes on leaves what it may do open, traced or not" {
	needs_os
	rules <<<'rules: [{after: os.exec, expect: os.exit, by: pid, within: 1h}]'
	mkfifo in
	exec 7<>in
	exits 4 ptrace-run --os=process --check=rules.yaml -o run.log -- sh -c 'exec 3>&-; cat <in & until grep -qx cat /proc/$!/comm; do :; done' 3>&-
	exits 4 ptrace-check rules.yaml run.log
	exec 7>&-
	exits 0 ptrace-run --os=process --check=rules.yaml -o run.log -- sh -c '/bin/true & wait'
}

@test "a process that goes on leaves the events of each kind of --os open" {
	needs_os
	# The last switch of a thread has no answer.
	rules <<<'rules: [{after: os.switch_out, expect: os.switch_in, by: tid}]'
	mkfifo in
	exec 7<>in
	for check in "" --check=rules.yaml; do
		run_split ptrace-run --os=sched $check -o run.log -- sh -c 'exec 3>&-; cat <in & until grep -qx cat /proc/$!/comm; do :; done' 3>&-
		[[ $stderr == *" went on: cat ("* ]]
		[ -z "$check" ] || [ "$status" -eq 4 ]
		exits 4 ptrace-check rules.yaml run.log
	done
	exec 7>&-
	exits 1 ptrace-run --os=sched --check=rules.yaml -o run.log -- sh -c '/bin/true & wait'
	exits 1 ptrace-check rules.yaml run.log
	# Without the ends of processes the log shows none.
	ptrace-run --os=sched -o run.log -- sh -c '/bin/true & wait'
	exits 4 ptrace-check rules.yaml run.log
}

@test "what a process did that went on is unknown only after its log" {
	printf 'event %s\n' '1000000 7 8 a' '2000000 7 8 b' '3000000 7 0 os.went_on u32:1' | made gone.log
	exits 3 ptrace-check gone.log --order='a, b' --exists='b within 5ms of a'
	exits 0 ptrace-check --allow-loss gone.log --order='a, b'
	prints 4 'undecided  *: did not happen; processes went on when the recording ended*' ptrace-check gone.log --never='error*'
	# Another log goes on for longer.
	printf 'event %s\n' '1500000 9 9 c' '4000000 9 9 d' '9000000 9 9 e' | made other.log
	exits 1 ptrace-check gone.log other.log --before='c require e'
	exits 4 ptrace-check gone.log other.log --before='d require e'
	exits 4 ptrace-check gone.log other.log --after='d -> a within 1ms'
	exits 1 ptrace-check gone.log other.log --after='c -> e within 1ms'
}

@test "verdicts that no process reads are no success" {
	make_log
	tells 1 'ptrace-check: standard output: Broken pipe' unread ptrace-check run.log --never=app.error
}

@test "a session is no log, but has one" {
	traced_session "$me" --start -o s.log -- -e traced.one -w -W
	reports 1 "$me: is a session; its log is $PWD/s.log" ptrace-check --no-loss "$me"
	ptrace-shutdown "$me"
	reports 1 "$me: No such file or directory" ptrace-check --no-loss "$me"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Configuration files: ptrace.yaml(5), -c, --all, --dump-config, examples/*.yaml.

load ../../support/helpers

examples=$PTRC_SOURCE/examples

# reads TEXT [OPTION]...: as a file, by ptrace-create, into stdout, stderr and status
reads() {
	printf '%s' "$1" >file.yaml
	shift
	run_split ptrace-create -c file.yaml --dump-config "$@"
}

@test "--dump-config reads back as the same" {
	for e in "$examples"/{minimal,ci,sessions}.yaml; do
		ptrace-create --all -c "$e" --dump-config >one
		ptrace-create --all -c - --dump-config <one | diff one -
	done
	for e in minimal ci; do
		ptrace-run -c "$examples/$e.yaml" --dump-config >one
		ptrace-run -c - --dump-config <one | diff one -
	done
	ptrace-run --dump-config >one
	ptrace-run -c one --dump-config | diff one -
}

@test "odd texts read back as the same" {
	for text in true no '~' null 12 1e3 -x '- x' '*x' '&x' '!x' '#x' 'x #y' 'x: y' "it's" \
		'"' '\' $'a\nb' $'tab\there' ' x ' '{}' '[' '%' '@' '`' $'\e[31m' 'é😀' \
		$'\u0085\u2028\ufeff' '$(x)' '<<' '=' 0x10 '?' ','; do
		ptrace-run -o "$text" --exclude="$text" --only=x --dump-config >one
		ptrace-run -c - --dump-config <one | diff one -
		ptrace-run -c one -o run.log --json=result -- true 2>/dev/null
		[ "$(jq -r '.unmatched[] | select(.how == "exclude").glob' result)" = "$text" ]
	done
	refuses 125 '*' ptrace-run -o $'\xff' --dump-config
}

@test "built-in value, file, option" {
	reads ''
	[[ $stdout == *$'stream-min-size: 8M\nstream-full-policy: loop\nmax-data-size: 4K'* ]]
	reads $'stream-min-size: 2M\noutput: x\nexclude: [a, b]\n' --exclude=c
	[[ $stdout == *$'stream-min-size: 2M\nstream-full-policy: flush\nfull-wait: 0s\nmax-data-size: 4K'* ]]
	[[ $stdout == *$'exclude:\n  - c\ndecode'* ]]
	reads 'stream-min-size: 2M' --stream-min-size=3000 --start
	[[ $stdout == *$'stream-min-size: 3000\n'* ]]
	[[ $stdout == *$'start: true\n'* ]]
	# In the lists of a session and of its defaults the same.
	reads $'defaults: {start: true, exclude: [a], max-data-size: 1K}
sessions: [{exclude: []}, {name: b, max-data-size: 2048}]' --all --inheritance=close-for-child
	[ "$(grep -c 'start: true' <<<"$stdout")" -eq 2 ]
	[ "$(grep -c 'exclude: \[\]' <<<"$stdout")" -eq 1 ]
	[ "$(grep -c 'inheritance: close-for-child' <<<"$stdout")" -eq 2 ]
	[ "$(grep max-data <<<"$stdout")" = $'    max-data-size: 1K\n    max-data-size: 2K' ]
}

@test "what is in the file holds for the trace" {
	cat >file.yaml <<-'END'
		name: my-trace   # with a comment
		output: yaml.log
		stream-min-size: 2M
		stream-full-policy: until-full
		max-data-size: 10
		inheritance: close-for-child
		log-max-size: 1M
		log-full-policy: loop
		exclude:
		  - noise
	END
	ptrace-run -c file.yaml -- "$traced" -s 20
	ptrace-stat --format=json yaml.log | jq -e '.attributes |
		.trace_name == "my-trace" and .stream_min_size == 2097152 and
		.max_data_size == 10 and .stream_full_policy == "until-full" and
		.log_max_size == 1048576 and .log_full_policy == "loop" and
		.inheritance == "close-for-child"'
	ptrace-run -c file.yaml -o run.log --inheritance=inherited -- "$traced" -e noise -c 1
	[ "$(events run.log noise)" -eq 0 ]
}

@test "a time in the file is shown in its largest unit, and holds for the trace" {
	while read -r time shown ns; do
		printf 'full-wait: %s\n' "$time" >file.yaml
		ptrace-run -c file.yaml --dump-config >whole.yaml
		grep -qx "full-wait: $shown" whole.yaml
		ptrace-run -c whole.yaml --dump-config | diff whole.yaml -
		ptrace-run -c whole.yaml -o run.log --force -- "$traced"
		ptrace-stat --json run.log | jq -e --argjson ns "$ns" '.attributes.full_wait_ns == $ns'
	done <<-'END'
		0 0s 0
		0s 0s 0
		1500ms 1500ms 1500000000
		1.5ms 1500us 1500000
		90s 90s 90000000000
		120s 2m 120000000000
		1d 1d 86400000000000
		7ns 7ns 7
	END
}

@test "settings that have no effect without another one are refused" {
	does_not_run "--log-max-size: needs a log-full-policy*" -o run.log --log-max-size=1M
	does_not_run "--output: '-' is not standard output here*" -o -
	[ ! -e run.log ]
	[ ! -e - ]
	echo 'log-max-size: 1M' >file.yaml
	reports 125 "file.yaml:1:15: log-max-size: needs a log-full-policy, loop or until-full: with append, the default, a log has no limit" \
		ptrace-run -c file.yaml --dump-config
	# Who says append has read what it does; and --dump-config says it.
	ptrace-run -c file.yaml --log-full-policy=append --dump-config >whole.yaml
	ptrace-run -c whole.yaml -o run.log -- "$traced"
	printf 'start: true\nstream-full-policy: flush\n' >file.yaml
	reports 2 "file.yaml:2:21: stream-full-policy: flush needs a log: give an output" ptrace-create -c file.yaml --pid=$$ --name="$me.a"
	ptrace-create -c file.yaml --pid=$$ --name="$me.a" -o create.log
	# Log options without a log.
	for option in --log-max-size=1M --log-full-policy=loop --full-wait=1s --force --no-fsync; do
		reports 2 "--*: has no effect without a log: give an output. Try *" ptrace-create --pid=$$ --name="$me.b" --log-full-policy=loop "$option"
		option=${option#--}
		printf 'name: %s\n%s: %s\n' "$me.b" "${option%=*}" "$([[ $option == *=* ]] && echo "${option#*=}" || echo true)" >plain.yaml
		reports 2 "plain.yaml:2:*: ${option%=*}: *" ptrace-create -c plain.yaml --pid=$$
	done
	# The defaults of a file are for its sessions that have a log.
	reads "defaults: {log-full-policy: loop, log-max-size: 1M, force: true}
sessions: [{name: a, output: a.log}, {name: b}]" --all
	[ "$status" -eq 0 ]
	[ "$(grep -c 'log-full-policy: loop' <<<"$stdout")" -eq 1 ]
	cp stdout.txt whole.yaml
	ptrace-create -c whole.yaml --all --dump-config | diff whole.yaml -
	ptrace-run -c <(echo 'stream-full-policy: flush') -o run.log -- "$traced"
}

@test "defaults that a session's own settings exclude are for the other sessions" {
	cat >file.yaml <<-END
		defaults: {pid: $$, log-rotate: 1M, log-keep: 3, full-wait: 1s, os: samples, stacks: fp}
		sessions:
		  - {name: $me.a, output: a.log, log-full-policy: loop, stream-full-policy: loop, os: none}
		  - {name: $me.b, output: b.log}
	END
	exits 0 ptrace-create -c file.yaml --all --dump-config
	[ "$(grep -cE '(log-rotate: 1M|log-keep: 3|full-wait: 1s|stacks: fp)$' <<<"$stdout")" -eq 4 ]
	cp stdout.txt whole.yaml
	ptrace-create -c whole.yaml --all --dump-config | diff whole.yaml -
	sed -i 's/os: samples, stacks: fp/os: none/' file.yaml
	ptrace-create -c file.yaml --all
	# These exclude each other in every session.
	reads 'defaults: {log-rotate: 1M, log-full-policy: loop}
sessions: [{output: a.log}]'
	[ "$status" -eq 2 ]
	[[ $stderr == *"file.yaml:1:24: log-rotate: needs the log-full-policy append"* ]]
}

@test "what is wrong is told with its place, and nothing is done" {
	local lines=0 place reason text
	while IFS=$'\t' read -r place reason text; do
		# %N stands for N letters.
		if [[ $text =~ %([0-9]+) ]]; then
			text=${text/"${BASH_REMATCH[0]}"/$(printf '%0*d' "${BASH_REMATCH[1]}" 0)}
		fi
		printf '%b' "$text" >file.yaml
		refuses 2 "file.yaml:$place: *$reason*" ptrace-create --pid=$$ -c file.yaml --start
		does_not_run '*' -c file.yaml
		lines=$((lines + 1))
	done <<-'END'
		1:1	unknown key 'stream-min-sise' (did you mean 'stream-min-size'?)	stream-min-sise: 8M
		2:3	unknown key 'Name' (did you mean 'name'?)	# one\n  Name: x
		1:1	(did you mean 'sessions'?)	session: [{}]
		3:5	unknown key 'sessions'	sessions:\n  - name: a\n    sessions: []
		2:1	'name' is given twice, first in line 1	name: a\nname: b
		2:1	'exclude' is given twice	exclude: []\nexclude: []
		1:19	decode: 'a' is given twice	decode: {a: u8 x, a: u8 x}
		1:7	name: has to be text, not a list	name: [a]
		1:7	name: has to be text, not a mapping	name: {a: b}
		1:6	name: has to be text, not nothing	name:
		1:7	name: has to be text, not nothing	name: ~
		1:7	name: has to be text	name: true
		1:7	name: is empty	name: ''
		1:7	there is a null character	name: "a\\0b"
		1:9	output: is longer	output: "%5000"
		1:18	stream-min-size: '8MB' is not a size	stream-min-size: 8MB
		1:18	stream-min-size: '-1' is not a size	stream-min-size: -1
		1:18	stream-min-size: '1.5M' is not a size	stream-min-size: 1.5M
		1:18	is too large	stream-min-size: 99999999999G
		1:18	has to be a size, not a list	stream-min-size: [8M]
		1:18	'never' is not one of loop, until-full and append	log-full-policy: never
		1:18	'flush' is not one of	log-full-policy: flush
		1:15	log-max-size: needs a log-full-policy	log-max-size: 1M
		1:12	'3' is not a duration such as 10s or 1.5ms	full-wait: 3
		1:12	'-1s' is not a duration such as 10s or 1.5ms	full-wait: -1s
		2:12	full-wait: needs, like --no-loss, the stream-full-policy flush	output: x\nfull-wait: 3s\nstream-full-policy: loop
		2:20	log-max-size: needs a log-full-policy	defaults:\n    {log-max-size: 1M}\nsessions: [{name: a}]
		1:9	output: '-' is not standard output	output: "-"
		1:10	exclude: has to be a list, not a single value	exclude: x
		1:11	exclude: has to be text, not a mapping	exclude: [{a: b}]
		1:11	exclude: is empty	exclude: ['']
		1:11	exclude: is longer than 255 bytes	exclude: ["%300"]
		1:9	decode: has to be a mapping, not a list	decode: [a]
		1:13	decode: a: column 1: 'u9' is not a type (did you mean 'u8'?)	decode: {a: u9 b}
		1:13	decode: a: has to be text, not a list	decode: {a: [u8]}
		1:13	decode: a: has to be text, not nothing	decode: {a: }
		1:1	has to be a mapping of settings, not a list	[name, x]
		1:1	has to be a mapping of settings, not a single value	name
		1:11	sessions: has to be a list, not a mapping	sessions: {a: b}
		1:12	sessions: the list is empty	sessions: []
		1:12	has to be a mapping of settings, not a single value	sessions: [a]
		1:29	name: 'a' is the name of the session in line 1 too	sessions: [{name: a},{name: a}]
		1:22	a second session	sessions: [{name: a},{name: b}]
		2:1	'name' cannot be used next to 'sessions'	sessions: [{}]\nname: x
		2:1	'sessions' cannot be used next to settings	name: x\nsessions: [{}]
		1:1	'defaults' needs 'sessions'	defaults: {}
		2:1	a second YAML document	name: a\n---\nname: b
		1:7	anchors and aliases are not supported	name: &a x
		1:7	anchors and aliases are not supported; a text that begins with * needs quotes	name: *a
		1:10	a text that begins with * needs quotes	exclude: *.debug
		2:5	a text that begins with * needs quotes	exclude:\n  - *
		1:7	anchors and aliases are not supported	name: &a [*a]
		1:7	tags are not supported	name: !!str x
		1:10	tags are not supported	exclude: !a []
		1:1	a tab: YAML allows only spaces here	\tname: x
		2:1	a tab: YAML allows only spaces here	exclude:\n\t- x
		1:7	not a text in UTF-8	name: \xff
		1:1	not a text in UTF-8	\xff\xfen\x00:\x00
		1:7	not a text in UTF-8: control characters	name: \x01
		1:9	not YAML: found unexpected end of stream	name: "a
		2:1	not YAML	exclude: [a,\n
		1:1	not YAML	}
		2:5	not YAML: mapping values are not allowed	output: a\n pid: 3
	END
	[ "$lines" -gt 50 ]
	[ ! -e ran ]
	[ ! -e ptrace.log ]
	[ "$(session_files)" -eq 0 ]
}

@test "keys of ptrace-run are not for ptrace-create" {
	for key in waits sdt; do
		echo "$key: [a]" >file.yaml
		reports 2 "file.yaml:1:1: '$key' is only for ptrace-run, which starts the program that it traces" \
			ptrace-create -c file.yaml
	done
}

@test "keys of ptrace-create are not for ptrace-run" {
	for key in 'pid: 1' 'start: true' 'keep: true'; do
		echo "$key" >file.yaml
		does_not_run "file.yaml:1:1: '${key%%:*}' is not for ptrace-run*" -c file.yaml
	done
	for text in 'pid: 0' 'pid: 2147483648' 'pid: x' 'pid: [1]' 'start: yes' 'start: "true"' \
		'start: 1' 'name: a b' "name: $(printf '%065d' 0)"; do
		reads "$text"
		[ "$status" -eq 2 ]
		assert_one_message ptrace-create
		[[ $stderr == "ptrace-create: file.yaml:1:"*": ${text%%:*}: "* ]]
	done
}

@test "what is no file" {
	mkdir directory
	mkfifo fifo
	head -c 300000 /dev/zero | tr '\0' '#' >large
	for file in missing directory large /dev/zero fifo; do
		refuses 2 "$file: *" ptrace-create -c "$file" --dump-config
	done
	exits 2 ptrace-create -c large -c large --dump-config
	reports 2 '*' ptrace-create -c - --dump-config <&-
	# A pipe is one, /dev/null is empty, and so is a file of comments.
	[ "$(ptrace-create -c <(echo name: piped) --dump-config | head -n 1)" = 'name: piped' ]
	ptrace-create -c /dev/null --dump-config >one
	ptrace-create -c <(echo '# nothing') --dump-config | diff one -
	ptrace-create -c <(echo ---) --dump-config | diff one -
	ptrace-create -c <(printf '\xef\xbb\xbfname: bom\r\n') --dump-config | grep -x 'name: bom'
}

@test "files that are deep, long or of many parts" {
	for piece in '[' '{' - '- ' '?' '? ' '"' "'" '|' '>' '#' '&' '*' '!' : ': ' % ,; do
		yes -- "$piece" | head -n 65536 >lines
		tr -d '\n' <lines >line
		for file in line lines; do
			run_split ptrace-create -c $file --dump-config
			[ "$status" -eq 0 ] || { [ "$status" -eq 2 ] && assert_one_message ptrace-create; }
		done
	done
	while read -r key part; do
		{ echo "$key ["; yes "$part" | head -n 50000; } >many
		reports 2 'many:*' ptrace-create -c many --dump-config
	done <<<$'exclude: a,\nsessions: {},'
}

@test "--all makes every session of the file" {
	traced_start -w -W -n 10
	cat >file.yaml <<-END
		defaults:
		  pid: $pid
		  start: true
		sessions:
		  - name: $me.a
		    output: a.log
		  - name: $me.b
		    output: b.log
		    exclude: [traced.*]
		  - {}
	END
	silently 0 ptrace-create --all -c file.yaml
	[ "$stdout" = "$me.a"$'\n'"$me.b"$'\n'"traced-$pid" ]
	go done
	ptrace-shutdown $stdout
	counts a.log traced.event=10
	counts b.log traced.event=0
	[ "$(ptrace-create --all --json -c file.yaml | jq -rs 'map(.session) | join(" ")')" = \
		"$me.a $me.b traced-$pid" ]
	ptrace-shutdown "$me.a" "$me.b" "traced-$pid"
}

@test "if one cannot be made none is left" {
	traced_session "$me.taken" -- -w
	cat >file.yaml <<-END
		defaults: {pid: $pid}
		sessions:
		  - {name: $me.a, output: a.log}
		  - {name: $me.b, output: b.log}
		  - {name: $me.taken, output: c.log}
		  - {name: $me.d, output: d.log}
	END
	prints 1 '' ptrace-create --all -c file.yaml
	[ "$stderr" = "ptrace-create: $me.taken: a session of this name exists already
ptrace-create: the 2 sessions made before are ended" ]
	[ "$(session_files)" -eq 1 ]
	[ ! -e a.log ]
	[ ! -e b.log ]
	[ ! -e c.log ]
}

@test "options of many sessions" {
	text=$'sessions:\n  - name: a\n  - name: b\n    pid: 1\n'
	reads "$text" --all --name=x
	[ "$status" -eq 2 ]
	assert_one_message ptrace-create
	reads "$text" --all --output=x
	[ "$status" -eq 2 ]
	reports 2 "file.yaml:2:5: pid: has to be given, here or by --pid" ptrace-create --all -c file.yaml
	reports 2 '*' ptrace-create --all --pid=1
	[ "$(session_files)" -eq 0 ]
}

@test "the examples do what they say" {
	ptrace-run -c "$examples/minimal.yaml" -- "$traced" -n 3
	[ "$(events run.log traced.event)" -eq 3 ]
	ptrace-run -c "$examples/ci.yaml" -- sh -c '"$0" -n 3' "$traced"
	[ "$(events ci.log traced.event)" -eq 3 ]
	ptrace-stat --format=json ci.log | jq -e '.attributes |
		.trace_name == "ci" and .log_max_size == 268435456'
	traced_start -w -n 3
	[ "$(ptrace-create --all -c "$examples/sessions.yaml" --pid="$pid")" = \
		$'recent\nhistory' ]
	go
	gone() { [ ! -e /dev/shm/posixtrace-"$EUID"/c."$1" ]; }
	wait_until gone recent
	wait_until gone history
	[ "$(events recent.log traced.event)" -eq 3 ]
	[ "$(events history.log traced.event)" -eq 3 ]
}

@test "the examples of the manual page are right" {
	page=$PTRC_SOURCE/man/ptrace.yaml.5
	for file in ci sessions; do
		sed -n "/^# $file.yaml/,/^\.fi/{/^\.fi/d;s/\\\\-/-/g;p;}" "$page" >$file.yaml
		[ -s $file.yaml ]
		ptrace-create --all -c $file.yaml --dump-config >/dev/null
	done
	[ "$(grep -c 'name:' sessions.yaml)" -eq 2 ]
}

@test "the manual page has every key and its built-in value" {
	page=$PTRC_SOURCE/man/ptrace.yaml.5
	ptrace-create --output=log --log-rotate=1h --log-keep=2 --snapshot-on=a --os=samples --stacks=fp \
		--dump-config >dump
	ptrace-run -c "$examples/ci.yaml" --dump-config >>dump
	ptrace-run --count-only --dump-config >>dump
	sed -n 's/^\([a-z-]*\):.*/\1/p' dump | sort -u >keys
	echo pid >>keys
	sed -n 's/\\-/-/g; s/^\.BR \([a-z-]*\) ": .*/\1/p' "$page" |
		grep -vxE 'sessions|defaults' | sort >documented
	sort -u keys | diff - documented
	for value in 'stream-min-size ": size; 8M"' 'max-data-size ": size; 4K"' \
		'log-max-size ": size; 64M"' 'start ": true or false; false"'; do
		sed 's/\\-/-/g' "$page" | grep -qF "$value"
		grep -qx "${value%% *}: ${value##*; }" <(sed 's/$/"/' dump)
	done
}

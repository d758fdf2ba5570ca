#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The examples for continuous integration do what their services would do with them: the steps run as the
# runner runs them, with its environment variables.

load ../support/helpers

# script FILE PATH...: the script at this place of the YAML file, a line each if it is a list
script() {
	python3 - "$PTRC_SOURCE/examples/ci/$1" "${@:2}" <<-'END'
		import sys, yaml
		at = yaml.safe_load(open(sys.argv[1]))
		for key in sys.argv[2:]:
		    at = at[int(key) if isinstance(at, list) else key]
		print("\n".join(at) if isinstance(at, list) else at)
	END
}

has_yaml() {
	python3 -c 'import yaml' 2>/dev/null || skip "no python3-yaml"
	mkdir tests
	printf 'rules:\n  - never: app.err*\n  - exists: job.done\n' >tests/rules.yaml
}

# step COMMAND: the action's step with these inputs
step() {
	script action.yml runs steps 0 run >step.sh
	script action.yml runs steps 0 env | grep -q 'inputs.run.*inputs.rules.*inputs.log'
	export RUN=$1 RULES=tests/rules.yaml LOG=posixtrace.log GITHUB_STEP_SUMMARY=$PWD/summary GITHUB_ACTIONS=true
	# as `shell: bash' of a runner
	status=0
	bash --noprofile --norc -eo pipefail step.sh >output 2>errors || status=$?
}

@test "GitHub: rules that are kept" {
	has_yaml
	step 'ptrace-event job.done id=7; echo worked'
	[ "$status" -eq 0 ]
	grep -qx worked output
	grep -q '^### posixtrace$' summary
	grep -q '^2 passed, 0 failed, 0 undecided' summary
	[ "$(ptrace-dump --json --event=job.done posixtrace.log | jq .data.id)" -eq 7 ]
	grep -q '<html' posixtrace.log.html
}

@test "GitHub: a broken rule is annotated, and fails the step" {
	has_yaml
	step 'ptrace-event job.done; ptrace-event app.error'
	[ "$status" -eq 1 ]
	grep -q '::error.*app\.error' errors
	grep -q 'app.error' summary
}

@test "GitHub: a command that fails fails the step with its status, and keeps the log" {
	has_yaml
	step 'ptrace-event job.done; exit 9'
	[ "$status" -eq 9 ]
	[ -s posixtrace.log.html ]
}

@test "GitHub: a file of rules that is not there" {
	has_yaml
	rm tests/rules.yaml
	step true
	[ "$status" -ne 0 ]
	grep -q 'tests/rules\.yaml' errors
}

@test "GitLab: verdicts as JUnit, the report, the exit status" {
	has_yaml
	printf 'check:\n\tptrace-event job.done\n\tptrace-event app.error\n' >Makefile
	script gitlab.yml traced script >job.sh
	script gitlab.yml traced after_script >after.sh
	run bash -e job.sh
	[ "$status" -eq 1 ]
	bash -e after.sh
	[ "$(script gitlab.yml traced artifacts reports junit)" = rules.xml ]
	grep -q '<failure' rules.xml
	[ "$(script gitlab.yml traced artifacts paths)" = $'run.log\nrun.html' ]
	[ -s run.log ] && grep -q '<html' run.html
}

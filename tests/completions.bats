#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the completions propose of the values that are there: by each shell itself, as far as
# it can be asked without a terminal.

load helpers

# bash_completes WORD...: what bash proposes for the last word; = and : are words, as
# readline has them
bash_completes() {
	bash -c '. "$PTRC_SOURCE/completions/bash/ptrace-run"; COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1)); _ptrace; printf "%s\n" "${COMPREPLY[@]}"' _ "$@"
}

# fish_completes LINE: what fish proposes at the end of the line, without its explanations
fish_completes() {
	HOME=$BATS_TEST_TMPDIR fish --no-config -c '
		set fish_complete_path $argv[1]
		complete -C $argv[2]
	' "$PTRC_SOURCE/completions/fish" "$1" | cut -f 1
}

# zsh_completes LINE: what zsh makes of the line and a tab. It is typed into a shell with a
# terminal of its own. The list of proposals, if there are several, is between two marks.
zsh_completes() {
	HOME=$BATS_TEST_TMPDIR zsh -f -c '
		zmodload zsh/zpty
		zpty -b z zsh -f -i
		zpty -w z "PS1= PS2= RPS1=; stty -echo; fpath=($1 \$fpath); autoload -U compinit
			compinit -u -D
			zstyle \":completion:*\" list-colors \"no=<N>\" \"fi=<N>\" \"di=<N>\" \"ec=</N>\"
			show() { zle -I; print -r -- \"<LINE>\$BUFFER</LINE>\"; print -r \"<\" END\">\" }
			zle -N show; bindkey ^X show; bindkey ^I complete-word
			zle -C all complete-word all
			unsetopt zle_bracketed_paste 2>/dev/null
			print -r \"<\"READY\">\""
	' _ "$PTRC_SOURCE/completions/zsh" "$1"
}

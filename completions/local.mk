# SPDX-License-Identifier: MIT
# Completions for three shells.

dist_bashcompletion_DATA += \
	%D%/bash/ptrace-check \
	%D%/bash/ptrace-clear \
	%D%/bash/ptrace-create \
	%D%/bash/ptrace-doctor \
	%D%/bash/ptrace-dump \
	%D%/bash/ptrace-events \
	%D%/bash/ptrace-export \
	%D%/bash/ptrace-filter \
	%D%/bash/ptrace-event \
	%D%/bash/ptrace-flush \
	%D%/bash/ptrace-list \
	%D%/bash/ptrace-report \
	%D%/bash/ptrace-run \
	%D%/bash/ptrace-salvage \
	%D%/bash/ptrace-ship \
	%D%/bash/ptrace-shutdown \
	%D%/bash/ptrace-snapshot \
	%D%/bash/ptrace-start \
	%D%/bash/ptrace-stat \
	%D%/bash/ptrace-stop

dist_zshcompletion_DATA += \
	%D%/zsh/_ptrace

dist_fishcompletion_DATA += \
	%D%/fish/ptrace.fish \
	%D%/fish/ptrace-check.fish \
	%D%/fish/ptrace-clear.fish \
	%D%/fish/ptrace-create.fish \
	%D%/fish/ptrace-doctor.fish \
	%D%/fish/ptrace-dump.fish \
	%D%/fish/ptrace-events.fish \
	%D%/fish/ptrace-export.fish \
	%D%/fish/ptrace-filter.fish \
	%D%/fish/ptrace-event.fish \
	%D%/fish/ptrace-flush.fish \
	%D%/fish/ptrace-list.fish \
	%D%/fish/ptrace-report.fish \
	%D%/fish/ptrace-run.fish \
	%D%/fish/ptrace-salvage.fish \
	%D%/fish/ptrace-ship.fish \
	%D%/fish/ptrace-shutdown.fish \
	%D%/fish/ptrace-snapshot.fish \
	%D%/fish/ptrace-start.fish \
	%D%/fish/ptrace-stat.fish \
	%D%/fish/ptrace-stop.fish

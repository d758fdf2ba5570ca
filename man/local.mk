# SPDX-License-Identifier: MIT
# Manual pages of the commands.

dist_man_MANS += \
	%D%/ptrace-clear.1 \
	%D%/ptrace-create.1 \
	%D%/ptrace-dump.1 \
	%D%/ptrace-flush.1 \
	%D%/ptrace-list.1 \
	%D%/ptrace-run.1 \
	%D%/ptrace-shutdown.1 \
	%D%/ptrace-start.1 \
	%D%/ptrace-stat.1 \
	%D%/ptrace-stop.1

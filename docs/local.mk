# SPDX-License-Identifier: MIT
# Documents: dist_doc_DATA += %D%/NAME.md
dist_doc_DATA += \
	%D%/comparison.md \
	%D%/conformance.md \
	%D%/design-notes.md \
	%D%/json-schema.md \
	%D%/log-format.md \
	%D%/protocol.md \
	%D%/scaling.md \
	%D%/security.md \
	%D%/static.md \
	%D%/ptrace-check.schema.json \
	%D%/ptrace-count.schema.json \
	%D%/ptrace-create.schema.json \
	%D%/ptrace-doctor.schema.json \
	%D%/ptrace-event.schema.json \
	%D%/ptrace-events.schema.json \
	%D%/ptrace-probes.schema.json \
	%D%/ptrace-filter.schema.json \
	%D%/ptrace-list.schema.json \
	%D%/ptrace-live.schema.json \
	%D%/ptrace-diff.schema.json \
	%D%/ptrace-pairs.schema.json \
	%D%/ptrace-run.schema.json \
	%D%/ptrace-salvage.schema.json \
	%D%/ptrace-session.schema.json \
	%D%/ptrace-ship.schema.json \
	%D%/ptrace-snapshot.schema.json \
	%D%/ptrace-stat.schema.json \
	%D%/ptrace-waits.schema.json \
	%D%/queries.sql \
	%D%/requirements.md

# Pictures of reports, made by scripts/pictures.
dist_doc_DATA += %D%/report.png %D%/report-dark.png

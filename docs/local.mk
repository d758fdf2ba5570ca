# SPDX-License-Identifier: MIT
# Documents: dist_doc_DATA += %D%/NAME.md
dist_doc_DATA += \
	%D%/conformance.md \
	%D%/json-schema.md \
	%D%/log-format.md \
	%D%/ptrace-event.schema.json \
	%D%/requirements.md

# SPDX-License-Identifier: MIT
include_HEADERS += \
	%D%/posixtrace.h \
	%D%/trace.h

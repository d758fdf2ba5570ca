# SPDX-License-Identifier: MIT
include_HEADERS += \
	%D%/posixtrace-control.h \
	%D%/posixtrace-log.h \
	%D%/posixtrace.h \
	%D%/posixtrace.hpp \
	%D%/trace.h
noinst_HEADERS += %D%/posixtrace-private.h

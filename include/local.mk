# SPDX-License-Identifier: MIT
include_HEADERS += \
	%D%/posixtrace.h \
	%D%/posixtrace.hpp \
	%D%/trace.h

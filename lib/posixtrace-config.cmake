# SPDX-License-Identifier: MIT
# For find_package(posixtrace): the target posixtrace::posixtrace, which is the library with its headers.
# It lies in cmake/posixtrace of the directory of the library, wherever that has been installed or moved.
get_filename_component(_posixtrace_libdir "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_library(posixtrace_LIBRARY posixtrace HINTS "${_posixtrace_libdir}" NO_DEFAULT_PATH)
find_path(posixtrace_INCLUDE_DIR posixtrace.h
	HINTS "${_posixtrace_libdir}/../include" "${_posixtrace_libdir}/../../include")
mark_as_advanced(posixtrace_LIBRARY posixtrace_INCLUDE_DIR)
if(NOT posixtrace_LIBRARY OR NOT posixtrace_INCLUDE_DIR)
	set(posixtrace_FOUND FALSE)
	set(posixtrace_NOT_FOUND_MESSAGE "the library or posixtrace.h is missing near ${_posixtrace_libdir}")
elseif(NOT TARGET posixtrace::posixtrace)
	add_library(posixtrace::posixtrace UNKNOWN IMPORTED)
	set_target_properties(posixtrace::posixtrace PROPERTIES
		IMPORTED_LOCATION "${posixtrace_LIBRARY}"
		INTERFACE_INCLUDE_DIRECTORIES "${posixtrace_INCLUDE_DIR}")
endif()

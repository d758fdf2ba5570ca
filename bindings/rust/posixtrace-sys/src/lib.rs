// SPDX-License-Identifier: MIT
//! The functions of libposixtrace that record events, as `<trace.h>` and `<posixtrace.h>` declare them. The
//! crate `posixtrace` makes typed events and spans of them.
//!
//! pkg-config finds the library. The feature `static` links the static library.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

/// Identifies an event type in this process.
pub type trace_event_id_t = c_uint;

/// The event type that needs no opening.
pub const POSIX_TRACE_UNNAMED_USEREVENT: trace_event_id_t = 9;

/// The maximum length of the name of an event type.
pub const TRACE_EVENT_NAME_MAX: usize = 255;

/// The maximum length of a layout.
pub const POSIXTRACE_LAYOUT_MAX: usize = 4096;

extern "C" {
    /// Records an event; see posix_trace_event(3).
    pub fn posix_trace_event(event: trace_event_id_t, data: *const c_void, size: usize);

    /// Opens an event type without a layout; see posix_trace_eventid_open(3).
    pub fn posix_trace_eventid_open(name: *const c_char, event: *mut trace_event_id_t) -> c_int;

    /// Opens an event type with a layout; see posixtrace_eventid_open_layout(3).
    pub fn posixtrace_eventid_open_layout(
        name: *const c_char,
        layout: *const c_char,
        event: *mut trace_event_id_t,
    ) -> c_int;

    /// Returns 0 if no stream traces this process; see posixtrace_is_traced(3).
    pub fn posixtrace_is_traced() -> c_int;

    /// Returns the version of the library, a static string; see posixtrace_version(3).
    pub fn posixtrace_version() -> *const c_char;
}

// SPDX-License-Identifier: MIT
//! Typed events and spans of posixtrace, the POSIX Trace option for Linux.
//!
//! ```
//! posixtrace::event! {
//!     /// The database has answered.
//!     static QUERY: "db.query" { id: u64, rows: u32, sql: str }
//! }
//!
//! fn main() {
//!     let _span = posixtrace::span!("request");
//!     QUERY.emit(7, 3, "select 1");
//! }
//! ```
//!
//! `ptrace-run -o run.log -- PROGRAM` traces the program, `ptrace-dump run.log` shows the events, and
//! `ptrace-stat --pairs run.log` how long the spans took. The crate `tracing-posixtrace` records the events and
//! spans of the crate `tracing` in the same way.
//!
//! The first event of a type opens it, which takes some system calls. After that an event takes no lock and makes no
//! system call, and its memory is the stack, unless its data has more than 4,096 bytes. In a process that is not
//! traced, an event reads two words and records nothing, but its arguments are evaluated: [`is_traced`] can spare those
//! that are expensive. After the end of a trace, an event of a type that was opened copies its data, too. Event types
//! stay valid in a forked child.

#![warn(missing_docs)]

mod buffer;
mod event;
mod field;
mod span;

pub use event::Error;
pub use span::Span;

use std::ffi::CStr;

/// For the macros of this crate, and for `tracing-posixtrace`.
#[doc(hidden)]
pub mod private {
    pub use crate::buffer::{record, Buffer, Memory};
    pub use crate::event::Type;
    pub use crate::field::{check, layout, layout_size, room, until_null};
    pub use crate::field::{Bytes, Chars, Number, Shape, TextValue, Value, Wrong};
    pub use crate::span::{process, SpanType};
}

/// Whether a stream traces this process. If not, no event would be recorded. It is true also if the streams are
/// suspended or exclude the event.
#[inline]
pub fn is_traced() -> bool {
    // SAFETY: the function can be called at any time.
    unsafe { posixtrace_sys::posixtrace_is_traced() != 0 }
}

/// The version of the library, such as "posixtrace 1.0.0".
pub fn version() -> &'static str {
    // SAFETY: the function returns a static string, which ends with a null byte.
    let version = unsafe { CStr::from_ptr(posixtrace_sys::posixtrace_version()) };

    version.to_str().unwrap_or("posixtrace")
}

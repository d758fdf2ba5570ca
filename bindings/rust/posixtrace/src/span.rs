// SPDX-License-Identifier: MIT
//! Spans: pairs of events with a key.

use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::buffer::record;
use crate::event::Type;

/// The two event types of a span.
pub struct SpanType {
    begin: Type,
    end: Type,
}

impl SpanType {
    /// The names end with null bytes.
    pub const fn new(begin: &'static str, end: &'static str) -> Self {
        SpanType { begin: Type::new(begin, b"u64 key\0"), end: Type::new(end, b"u64 key\0") }
    }

    /// Records the begin, with a new key unless there is one.
    #[inline(always)]
    pub fn enter(&'static self, key: Option<u64>) -> Span {
        let id = self.begin.begin();

        if id == 0 {
            return Span { ending: None, key: 0 };
        }
        let key = key.unwrap_or_else(new_key);

        record(id, &key.to_ne_bytes());
        Span { ending: Some(&self.end), key }
    }
}

/// A span that [`span!`](crate::span!) has begun. It ends where the value is dropped.
#[must_use = "a span ends where its value is dropped: keep it in a variable, such as _span"]
pub struct Span {
    /// None: the process was not traced when the span began.
    ending: Option<&'static Type>,
    key: u64,
}

impl Span {
    /// The key of both events of the span, for the fields of other events; 0: the process was not traced when the
    /// span began.
    pub fn key(&self) -> u64 {
        self.key
    }
}

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(ending) = self.ending {
            let id = ending.begin();

            if id != 0 {
                record(id, &self.key.to_ne_bytes());
            }
        }
    }
}

/// Begins a span, which ends where the value is dropped, also by a panic.
///
/// ```
/// let _span = posixtrace::span!("request");
/// ```
///
/// The events NAME.begin and NAME.end have a field `key`, by which all commands pair them: the given `u64`, or a
/// number that no other span on the machine has. So the pairs are right also if a span begins and ends in different
/// threads, as in an asynchronous function that waits:
///
/// ```
/// # struct Request { id: u64 }
/// # async fn answer(_: &Request) {}
/// async fn serve(request: Request) {
///     let _span = posixtrace::span!("request", key = request.id);
///     answer(&request).await;
/// }
/// ```
///
/// If the process is not traced where the span begins, neither event is recorded.
#[macro_export]
macro_rules! span {
    ($name:literal) => {
        $crate::__span!($name, ::core::option::Option::None)
    };
    ($name:literal, key = $key:expr $(,)?) => {
        $crate::__span!($name, ::core::option::Option::Some($key))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __span {
    ($name:literal, $key:expr) => {{
        const _: () = $crate::private::check(::core::concat!($name, ".begin"), &[], &[]);
        static TYPE: $crate::private::SpanType = $crate::private::SpanType::new(
            ::core::concat!($name, ".begin\0"),
            ::core::concat!($name, ".end\0"),
        );

        TYPE.enter($key)
    }};
}

/// 22 bits of the process ID, then zeros; 0: not known yet.
static PROCESS: AtomicU64 = AtomicU64::new(0);
static COUNTER: AtomicU64 = AtomicU64::new(0);
const COUNTER_BITS: u32 = 42;

/// A number that no other process on the machine has.
#[inline]
pub fn process() -> u64 {
    match PROCESS.load(Ordering::Relaxed) {
        0 => learn_process(),
        process => process,
    }
}

extern "C" fn forget_process() {
    PROCESS.store(0, Ordering::Relaxed);
}

#[cold]
fn learn_process() -> u64 {
    extern "C" {
        fn pthread_atfork(
            before: Option<extern "C" fn()>,
            in_parent: Option<extern "C" fn()>,
            in_child: Option<extern "C" fn()>,
        ) -> c_int;
    }
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    let process = u64::from(std::process::id()) << COUNTER_BITS;

    // SAFETY: the function in the child only stores a number.
    if IS_REGISTERED.swap(true, Ordering::Relaxed)
        || unsafe { pthread_atfork(None, None, Some(forget_process)) } == 0
    {
        PROCESS.store(process, Ordering::Relaxed);
    }
    process
}

/// A key that no other span on the machine has.
fn new_key() -> u64 {
    let count = COUNTER.fetch_add(1, Ordering::Relaxed) + 1;

    process() | (count & ((1 << COUNTER_BITS) - 1))
}

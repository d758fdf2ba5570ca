// SPDX-License-Identifier: MIT
//! Event types.

use std::os::raw::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::{fmt, io};

use posixtrace_sys as sys;

/// An event type of this process.
pub struct Type {
    name: &'static str,
    layout: &'static [u8],
    id: AtomicU32,
    error: AtomicI32,
}

impl Type {
    /// A type with a name and a layout, which end with null bytes. Without fields the layout is "\0".
    pub const fn new(name: &'static str, layout: &'static [u8]) -> Self {
        Type { name, layout, id: AtomicU32::new(0), error: AtomicI32::new(0) }
    }

    /// The identifier of the type, which is opened now if it is not open. 0: the process is not traced.
    #[inline(always)]
    pub fn begin(&self) -> u32 {
        let id = self.id.load(Ordering::Acquire);

        if id != 0 {
            id
        } else {
            self.begin_slowly()
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_slowly(&self) -> u32 {
        if !crate::is_traced() {
            return 0;
        }
        self.open_now();
        self.id.load(Ordering::Acquire).max(sys::POSIX_TRACE_UNNAMED_USEREVENT)
    }

    /// Opens the type, if it is not open.
    pub fn open(&self) -> Result<(), Error> {
        let errno = if self.id.load(Ordering::Acquire) != 0 {
            self.error.load(Ordering::Relaxed)
        } else {
            self.open_now()
        };

        match errno {
            0 => Ok(()),
            errno => Err(Error { name: strip(self.name.as_bytes()), layout: strip(self.layout), errno }),
        }
    }

    /// Several threads may do this at the same time, with the same result.
    fn open_now(&self) -> i32 {
        const ENOMEM: c_int = 12;
        const EINVAL: c_int = 22;
        let name = self.name.as_ptr().cast();
        let mut id = sys::POSIX_TRACE_UNNAMED_USEREVENT;
        // SAFETY: both texts end with null bytes.
        let mut errno = unsafe {
            if self.layout.len() > 1 {
                sys::posixtrace_eventid_open_layout(name, self.layout.as_ptr().cast(), &mut id)
            } else {
                sys::posix_trace_eventid_open(name, &mut id)
            }
        };

        // The types of the trace system are not the program's.
        if errno == 0 && id < sys::POSIX_TRACE_UNNAMED_USEREVENT {
            id = sys::POSIX_TRACE_UNNAMED_USEREVENT;
            errno = EINVAL;
        }
        // If memory is short, nothing is stored, and the next event tries to open the type again.
        if errno != ENOMEM {
            self.error.store(errno, Ordering::Relaxed);
            self.id.store(id, Ordering::Release);
        }
        errno
    }
}

/// A text without the null byte at its end.
fn strip(text: &'static [u8]) -> &'static str {
    std::str::from_utf8(&text[..text.len() - 1]).unwrap_or_default()
}

/// The reason for which an event type could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    name: &'static str,
    layout: &'static str,
    errno: i32,
}

impl Error {
    /// The error number of posixtrace_eventid_open_layout(3), such as EEXIST.
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);

        if error.kind() == io::ErrorKind::AlreadyExists {
            write!(f, "event type {:?}: it has another layout than {:?}", self.name, self.layout)
        } else {
            write!(f, "event type {:?}: it cannot be opened: {error}", self.name)
        }
    }
}

impl std::error::Error for Error {}

/// Declares event types, as statics with a function `emit` that takes a value for each field.
///
/// ```
/// posixtrace::event! {
///     /// The database has answered.
///     pub static QUERY: "db.query" { id: u64, rows: u32, took: u32 us, sql: str }
///     static TICK: "tick" {}
/// }
/// # fn main() {
/// QUERY.emit(7, 3, 120, "select 1");
/// TICK.emit();
/// # }
/// ```
///
/// | field | value | in the layout |
/// |---|---|---|
/// | `u8` to `u64`, `i8` to `i64`, `f32`, `f64`, `bool` | the same | the same |
/// | `usize`, `isize` | the same | `u64`, `i64` |
/// | `x8` to `x64` | an unsigned integer of this size | the same: shown in hexadecimal |
/// | `Duration` | a [`Duration`](std::time::Duration) | `u64`, in ns |
/// | `[T; N]` of these | the same | `T[N]`; `bytes[N]` for `u8` |
/// | `str` | a text: `&str`, `String`, or bytes | `str` |
/// | `char[N]` | the same; a longer text is cut to N bytes | `char[N]` |
/// | `json` | the same, a text that is JSON; only as the last field | `json` |
/// | `[u8]` | bytes; only as the last field | `bytes` |
///
/// A unit of posixtrace-layout(5) may follow an integer or a floating-point number: `size: u32 KiB`. Texts and bytes
/// are recorded as they are, also if they are no UTF-8; those of an `OsStr` or a path come from `as_bytes` of
/// [`OsStrExt`](std::os::unix::ffi::OsStrExt). A `str` ends at its first null byte; the rest of it is left out. The
/// data is laid out as C lays out a structure of these members, so programs in several languages can share an event
/// type. A stream cuts data that is larger than its max-data-size, and marks the event.
///
/// A wrong name, a field that no layout can have, or a value of another type is an error of the compiler.
///
/// The first event in a traced process opens the type. `open` does it earlier, for signal handlers, and returns
/// the error: if the name has another layout, for instance, the events of the type are recorded as
/// `posix_trace_unnamed_userevent`, so that readers do not misinterpret their data.
///
/// An event has the address of its call, because `emit` is inlined. An event with texts or bytes that has more than
/// 256 bytes has an address in the function `emit_long` of the static.
#[macro_export]
macro_rules! event {
    ($($(#[$meta:meta])* $vis:vis static $type:ident: $name:literal {
        $($field:ident: $kind:tt $([$count:expr])? $($unit:ident)?),* $(,)?
    })*) => {$(
        $(#[$meta])*
        #[allow(non_camel_case_types)]
        $vis struct $type {
            inner: $crate::private::Type,
        }

        $(#[$meta])*
        $vis static $type: $type = $type {
            inner: {
                const LAYOUT: [u8; $crate::private::layout_size($type::SHAPES)] =
                    $crate::private::layout($type::SHAPES);
                const _: () = $crate::private::check(
                    $name,
                    $type::SHAPES,
                    &[$($crate::__wrong!($name, $field)),*],
                );

                $crate::private::Type::new(::core::concat!($name, "\0"), &LAYOUT)
            },
        };

        $(#[$meta])*
        #[allow(dead_code, clippy::too_many_arguments, unused_assignments, unused_mut, unused_variables)]
        impl $type {
            const SHAPES: &'static [$crate::private::Shape] = &[$($crate::__shape!(
                $field, ($($unit)?), $kind $([$count])?
            )),*];

            /// Records an event with these values, if the process is traced.
            #[inline(always)]
            $vis fn emit(&self, $($field: $crate::__parameter!($kind $([$count])?)),*) {
                const ROOM: usize = $crate::private::room($type::SHAPES);
                let id = self.inner.begin();
                let (mut size, mut count) = (0, 0);

                if id == 0 {
                    return;
                }
                $(
                    count += 1;
                    let $field = $crate::__value!($field, count == Self::SHAPES.len(), $kind $([$count])?);
                    size = $crate::private::Value::end(&$field, size);
                )*
                if size <= ROOM {
                    let mut memory = $crate::private::Memory::<ROOM>::new();
                    let mut data = $crate::private::Buffer::new(&mut memory);

                    $($crate::private::Value::put(&$field, &mut data);)*
                    $crate::private::record(id, data.bytes());
                } else {
                    Self::emit_long(id, |data| {
                        $($crate::private::Value::put(&$field, data);)*
                    });
                }
            }

            #[cold]
            #[inline(never)]
            fn emit_long(id: u32, fill: impl ::core::ops::FnOnce(&mut $crate::private::Buffer<'_, 4096>)) {
                let mut memory = $crate::private::Memory::new();
                let mut data = $crate::private::Buffer::new(&mut memory);

                fill(&mut data);
                $crate::private::record(id, data.bytes());
            }

            /// Opens the type now, if it is not open.
            $vis fn open(&self) -> ::core::result::Result<(), $crate::Error> {
                self.inner.open()
            }
        }
    )*};
}

/// What the compiler says of a field that no layout can have.
#[doc(hidden)]
#[macro_export]
macro_rules! __wrong {
    ($event:literal, $field:ident) => {
        $crate::private::Wrong {
            name: $crate::__wrong!(
                $event,
                $field,
                "its name may have ASCII letters, digits and _, at most 64"
            ),
            shadow: $crate::__wrong!(
                $event,
                $field,
                "JSON uses this name for the bytes of the field without _hex"
            ),
            unit: $crate::__wrong!(
                $event,
                $field,
                "a number may have one of the units ns us ms s B KiB MiB percent count; others have none"
            ),
            empty: $crate::__wrong!($event, $field, "it has no elements"),
            place: $crate::__wrong!($event, $field, "json and [u8] can only be the last field"),
        }
    };
    ($event:literal, $field:ident, $reason:literal) => {
        ::core::concat!(
            "posixtrace: event type ",
            $event,
            ", field ",
            ::core::stringify!($field),
            ": ",
            $reason
        )
    };
}

/// The shape of a field: its name, its unit, its type.
#[doc(hidden)]
#[macro_export]
macro_rules! __shape {
    ($name:ident, ($($unit:ident)?), str) => {
        $crate::private::Shape::text(::core::stringify!($name), "str", ::core::concat!($(::core::stringify!($unit))?))
    };
    ($name:ident, ($($unit:ident)?), json) => {
        $crate::private::Shape::text(::core::stringify!($name), "json", ::core::concat!($(::core::stringify!($unit))?))
    };
    ($name:ident, ($($unit:ident)?), [u8]) => {
        $crate::private::Shape::text(::core::stringify!($name), "bytes", ::core::concat!($(::core::stringify!($unit))?))
    };
    ($name:ident, ($($unit:ident)?), char[$count:expr]) => {
        $crate::private::Shape::chars::<{ $count }>(
            ::core::stringify!($name),
            ::core::concat!($(::core::stringify!($unit))?),
        )
    };
    ($name:ident, ($($unit:ident)?), $kind:tt[$count:expr]) => {
        ::core::compile_error!("posixtrace: only char has a number in brackets after it: write [u32; 4] for an array")
    };
    ($name:ident, ($($unit:ident)?), $kind:tt) => {
        $crate::private::Shape::number::<$crate::__number!($kind)>(
            ::core::stringify!($name),
            $crate::__is_hexadecimal!($kind),
            ::core::concat!($(::core::stringify!($unit))?),
        )
    };
}

/// The type of Rust for a number in a layout.
#[doc(hidden)]
#[macro_export]
macro_rules! __number {
    (x8) => {
        u8
    };
    (x16) => {
        u16
    };
    (x32) => {
        u32
    };
    (x64) => {
        u64
    };
    (Duration) => {
        ::core::time::Duration
    };
    ([x8; $count:expr]) => {
        [u8; $count]
    };
    ([x16; $count:expr]) => {
        [u16; $count]
    };
    ([x32; $count:expr]) => {
        [u32; $count]
    };
    ([x64; $count:expr]) => {
        [u64; $count]
    };
    ([Duration; $count:expr]) => {
        [::core::time::Duration; $count]
    };
    ($kind:ty) => {
        $kind
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __is_hexadecimal {
    (x8) => {
        true
    };
    (x16) => {
        true
    };
    (x32) => {
        true
    };
    (x64) => {
        true
    };
    ([x8; $count:expr]) => {
        true
    };
    ([x16; $count:expr]) => {
        true
    };
    ([x32; $count:expr]) => {
        true
    };
    ([x64; $count:expr]) => {
        true
    };
    ($kind:ty) => {
        false
    };
}

/// The type of the parameter for a field.
#[doc(hidden)]
#[macro_export]
macro_rules! __parameter {
    (str) => { impl ::core::convert::AsRef<[u8]> };
    (json) => { impl ::core::convert::AsRef<[u8]> };
    ([u8]) => { impl ::core::convert::AsRef<[u8]> };
    (char[$count:expr]) => { impl ::core::convert::AsRef<[u8]> };
    ($kind:tt[$count:expr]) => { () };
    ($kind:tt) => { $crate::__number!($kind) };
}

/// The value of a field, ready to be put into the data.
#[doc(hidden)]
#[macro_export]
macro_rules! __value {
    ($value:ident, $is_last:expr, str) => {
        $crate::private::TextValue::new(::core::convert::AsRef::<[u8]>::as_ref(&$value), $is_last)
    };
    ($value:ident, $is_last:expr, json) => {
        $crate::private::Bytes(::core::convert::AsRef::<[u8]>::as_ref(&$value))
    };
    ($value:ident, $is_last:expr, [u8]) => {
        $crate::private::Bytes(::core::convert::AsRef::<[u8]>::as_ref(&$value))
    };
    ($value:ident, $is_last:expr, char[$count:expr]) => {
        $crate::private::Chars::<{ $count }>::new(::core::convert::AsRef::<[u8]>::as_ref(&$value))
    };
    ($value:ident, $is_last:expr, $kind:tt[$count:expr]) => {
        ()
    };
    ($value:ident, $is_last:expr, $kind:tt) => {
        $crate::private::Number::raw($value)
    };
}

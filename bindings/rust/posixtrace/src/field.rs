// SPDX-License-Identifier: MIT
//! The fields of events: their parts of a layout, which is made when the program is compiled, and their values.

use std::mem::size_of;
use std::os::raw::{c_int, c_void};
use std::time::Duration;

use posixtrace_sys::{POSIXTRACE_LAYOUT_MAX, TRACE_EVENT_NAME_MAX};

use crate::buffer::Buffer;

/// Events with texts or bytes have up to this many bytes in a function that records them.
const STACK_BYTES: usize = 256;

const NAME_MAX: usize = 64;
const UNITS: &[&str] = &["ns", "us", "ms", "s", "B", "KiB", "MiB", "percent", "count"];

// ---- layouts ----

/// The part of a layout for a field, and where it is in the data.
pub struct Shape {
    name: &'static str,
    word: &'static str,
    /// The number in brackets after the word.
    count: Option<usize>,
    /// "": none.
    unit: &'static str,
    takes_unit: bool,
    /// 0: depends on the value.
    size: usize,
    alignment: usize,
    is_last: bool,
}

impl Shape {
    /// A field of type T.
    pub const fn number<T: Number>(name: &'static str, is_hexadecimal: bool, unit: &'static str) -> Self {
        let word = match (is_hexadecimal, T::WORD.as_bytes()) {
            (true, b"bytes") => "x8",
            (true, b"u8") => "x8",
            (true, b"u16") => "x16",
            (true, b"u32") => "x32",
            (true, b"u64") => "x64",
            _ => T::WORD,
        };

        Shape {
            name,
            word,
            count: T::COUNT,
            unit: if unit.is_empty() { T::UNIT } else { unit },
            takes_unit: !is_hexadecimal && (T::TAKES_UNIT || unit.is_empty()),
            size: size_of::<T::Plain>(),
            alignment: T::Plain::ALIGNMENT,
            is_last: false,
        }
    }

    /// A text in a field of COUNT bytes.
    pub const fn chars<const COUNT: usize>(name: &'static str, unit: &'static str) -> Self {
        let count = Some(COUNT);

        Shape {
            name,
            word: "char",
            count,
            unit,
            takes_unit: false,
            size: COUNT,
            alignment: 1,
            is_last: false,
        }
    }

    /// A field of type str, json or bytes.
    pub const fn text(name: &'static str, word: &'static str, unit: &'static str) -> Self {
        let is_last = !is_same(word.as_bytes(), b"str");

        Shape { name, word, count: None, unit, takes_unit: false, size: 0, alignment: 1, is_last }
    }

    /// The name, without the r# of a raw identifier.
    const fn name(&self) -> &[u8] {
        match self.name.as_bytes() {
            [b'r', b'#', name @ ..] => name,
            name => name,
        }
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;

    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Whether b is a with "_hex" after it.
const fn is_shadow(a: &[u8], b: &[u8]) -> bool {
    match b {
        [name @ .., b'_', b'h', b'e', b'x'] => is_same(a, name),
        _ => false,
    }
}

const fn is_name(name: &[u8]) -> bool {
    let mut i = 0;

    while i < name.len() && (name[i] == b'_' || name[i].is_ascii_alphanumeric()) {
        i += 1;
    }
    i == name.len() && i <= NAME_MAX
}

const fn is_unit(unit: &str) -> bool {
    let mut i = 0;

    while i < UNITS.len() && !is_same(UNITS[i].as_bytes(), unit.as_bytes()) {
        i += 1;
    }
    i < UNITS.len()
}

/// What the compiler says of a field that no layout can have.
pub struct Wrong {
    /// Its name is wrong.
    pub name: &'static str,
    /// Its name is that of another field with "_hex" after it.
    pub shadow: &'static str,
    /// It has a unit, and none is possible, or there is no such unit.
    pub unit: &'static str,
    /// It has no elements.
    pub empty: &'static str,
    /// Another field follows it.
    pub place: &'static str,
}

/// Fails when the program is compiled, if there can be no such event type.
pub const fn check(name: &str, shapes: &[Shape], wrong: &[Wrong]) {
    let name = name.as_bytes();
    let mut i = 0;

    while i < name.len() {
        if name[i] == 0 {
            panic!("posixtrace: the name of an event type cannot have a null byte");
        }
        i += 1;
    }
    if name.len() > TRACE_EVENT_NAME_MAX {
        panic!("posixtrace: the name of an event type has at most 255 bytes");
    }
    if shapes.len() > 256 {
        panic!("posixtrace: an event has at most 256 fields");
    }
    if layout_size(shapes) > POSIXTRACE_LAYOUT_MAX + 1 {
        panic!("posixtrace: the layout of an event type has at most 4096 bytes");
    }
    i = 0;
    while i < shapes.len() {
        let shape = &shapes[i];
        let mut k = 0;

        if !is_name(shape.name()) {
            panic!("{}", wrong[i].name);
        }
        if !shape.unit.is_empty() && (!shape.takes_unit || !is_unit(shape.unit)) {
            panic!("{}", wrong[i].unit);
        }
        if let Some(0) = shape.count {
            panic!("{}", wrong[i].empty);
        }
        if shape.is_last && i + 1 < shapes.len() {
            panic!("{}", wrong[i].place);
        }
        while k < shapes.len() {
            if is_shadow(shapes[k].name(), shape.name()) {
                panic!("{}", wrong[i].shadow);
            }
            k += 1;
        }
        i += 1;
    }
}

/// A layout that is being made: N bytes, or only their number.
struct Text<const N: usize> {
    bytes: [u8; N],
    size: usize,
}

impl<const N: usize> Text<N> {
    const fn put(mut self, text: &[u8]) -> Self {
        let mut i = 0;

        while i < text.len() {
            if self.size < N {
                self.bytes[self.size] = text[i];
            }
            self.size += 1;
            i += 1;
        }
        self
    }

    const fn put_number(mut self, number: usize) -> Self {
        if number >= 10 {
            self = self.put_number(number / 10);
        }
        self.put(&[b'0' + (number % 10) as u8])
    }

    const fn put_fields(mut self, shapes: &[Shape]) -> Self {
        let mut i = 0;

        while i < shapes.len() {
            let shape = &shapes[i];

            if i > 0 {
                self = self.put(b", ");
            }
            self = self.put(shape.word.as_bytes());
            if let Some(count) = shape.count {
                self = self.put(b"[").put_number(count).put(b"]");
            }
            self = self.put(b" ").put(shape.name());
            if !shape.unit.is_empty() {
                self = self.put(b" ").put(shape.unit.as_bytes());
            }
            i += 1;
        }
        self.put(b"\0")
    }
}

/// The size of a layout, with a null byte.
pub const fn layout_size(shapes: &[Shape]) -> usize {
    Text { bytes: [], size: 0 }.put_fields(shapes).size
}

/// The layout, with a null byte. N is its size.
pub const fn layout<const N: usize>(shapes: &[Shape]) -> [u8; N] {
    Text { bytes: [0; N], size: 0 }.put_fields(shapes).bytes
}

/// How many bytes of the stack the data gets where it is recorded.
pub const fn room(shapes: &[Shape]) -> usize {
    let (mut i, mut size) = (0, 0);

    while i < shapes.len() {
        if shapes[i].size == 0 {
            return STACK_BYTES;
        }
        size = aligned(size, shapes[i].alignment) + shapes[i].size;
        i += 1;
    }
    size
}

const fn aligned(at: usize, alignment: usize) -> usize {
    (at + alignment - 1) / alignment * alignment
}

// ---- values ----

/// The value of a field.
pub trait Value {
    /// The offset after the field, if the data has `at` bytes before it.
    fn end(&self, at: usize) -> usize;

    /// Appends the value to the data.
    fn put<const N: usize>(&self, data: &mut Buffer<'_, N>);
}

/// A value without padding, of which each byte is recorded.
///
/// # Safety
/// All bytes of a value are initialised, and the alignment is a power of two of at most 8.
pub unsafe trait Plain: Copy {
    /// That of C, on all processors.
    const ALIGNMENT: usize;
}

// SAFETY: an array has no padding between its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const ALIGNMENT: usize = T::ALIGNMENT;
}

/// A plain value in a field of its type.
pub struct Scalar<T>(T);

impl<T: Plain> Value for Scalar<T> {
    #[inline(always)]
    fn end(&self, at: usize) -> usize {
        aligned(at, T::ALIGNMENT) + size_of::<T>()
    }

    #[inline(always)]
    fn put<const N: usize>(&self, data: &mut Buffer<'_, N>) {
        let from: *const T = &self.0;
        // SAFETY: all bytes of a plain value are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size_of::<T>()) };

        data.align(T::ALIGNMENT);
        data.put(bytes);
    }
}

/// A type that a field of numbers can have.
pub trait Number: Sized {
    /// The type in the layout.
    const WORD: &'static str;
    /// The number of elements of an array.
    const COUNT: Option<usize> = None;
    /// The unit of each value; "": none.
    const UNIT: &'static str = "";
    /// Whether the declaration of a field can have a unit.
    const TAKES_UNIT: bool = true;
    /// What is recorded.
    type Plain: Plain;

    /// The value as it is recorded.
    fn plain(self) -> Self::Plain;

    /// The value for the data.
    #[inline(always)]
    fn raw(self) -> Scalar<Self::Plain> {
        Scalar(self.plain())
    }
}

/// A number that can be an element of an array.
pub trait Element: Number {
    /// The type of an array of it in the layout.
    const ARRAY_WORD: &'static str = Self::WORD;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        // SAFETY: a number has no padding.
        unsafe impl Plain for $type {
            const ALIGNMENT: usize = size_of::<$type>();
        }
    )*};
}
plain!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

macro_rules! numbers {
    ($($type:ty: $plain:ty, $word:literal;)*) => {$(
        impl Number for $type {
            const WORD: &'static str = $word;
            type Plain = $plain;

            #[inline(always)]
            fn plain(self) -> $plain {
                self as $plain
            }
        }
    )*};
}
numbers! {
    u8: u8, "u8";
    u16: u16, "u16";
    u32: u32, "u32";
    u64: u64, "u64";
    i8: i8, "i8";
    i16: i16, "i16";
    i32: i32, "i32";
    i64: i64, "i64";
    f32: f32, "f32";
    f64: f64, "f64";
    usize: u64, "u64";
    isize: i64, "i64";
}

macro_rules! elements {
    ($($type:ty),*) => {$(
        impl Element for $type {}
    )*};
}
elements!(u16, u32, u64, i8, i16, i32, i64, f32, f64, usize, isize, bool, Duration);

impl Element for u8 {
    const ARRAY_WORD: &'static str = "bytes";
}

impl Number for bool {
    const WORD: &'static str = "bool";
    const TAKES_UNIT: bool = false;
    type Plain = u8;

    #[inline(always)]
    fn plain(self) -> u8 {
        self.into()
    }
}

impl Number for Duration {
    const WORD: &'static str = "u64";
    const UNIT: &'static str = "ns";
    const TAKES_UNIT: bool = false;
    type Plain = u64;

    /// The longest duration is that of 584 years.
    #[inline(always)]
    fn plain(self) -> u64 {
        self.as_nanos().try_into().unwrap_or(u64::MAX)
    }
}

impl<T: Element, const N: usize> Number for [T; N] {
    const WORD: &'static str = T::ARRAY_WORD;
    const COUNT: Option<usize> = Some(N);
    const UNIT: &'static str = T::UNIT;
    const TAKES_UNIT: bool = T::TAKES_UNIT && !is_same(T::ARRAY_WORD.as_bytes(), b"bytes");
    type Plain = [T::Plain; N];

    #[inline(always)]
    fn plain(self) -> Self::Plain {
        self.map(T::plain)
    }
}

/// A text, which ends with a null byte unless it is the last field.
pub struct TextValue<'a> {
    text: &'a [u8],
    is_last: bool,
}

impl<'a> TextValue<'a> {
    /// The text up to its first null byte, for the last field or another one.
    #[inline(always)]
    pub fn new(text: &'a [u8], is_last: bool) -> Self {
        TextValue { text: until_null(text), is_last }
    }
}

impl Value for TextValue<'_> {
    #[inline(always)]
    fn end(&self, at: usize) -> usize {
        at + self.text.len() + usize::from(!self.is_last)
    }

    #[inline(always)]
    fn put<const N: usize>(&self, data: &mut Buffer<'_, N>) {
        data.put(self.text);
        if !self.is_last {
            data.put(&[0]);
        }
    }
}

/// The part of a text before its first null byte.
#[inline(always)]
pub fn until_null(text: &[u8]) -> &[u8] {
    extern "C" {
        fn memchr(text: *const c_void, byte: c_int, size: usize) -> *const c_void;
    }
    let from = text.as_ptr();
    // SAFETY: pointer and size are those of the text.
    let end = unsafe { memchr(from.cast(), 0, text.len()) };

    if end.is_null() {
        text
    } else {
        &text[..end as usize - from as usize]
    }
}

/// The rest of the data.
pub struct Bytes<'a>(pub &'a [u8]);

impl Value for Bytes<'_> {
    #[inline(always)]
    fn end(&self, at: usize) -> usize {
        at + self.0.len()
    }

    #[inline(always)]
    fn put<const N: usize>(&self, data: &mut Buffer<'_, N>) {
        data.put(self.0);
    }
}

/// A text in a field of COUNT bytes, filled up with null bytes.
pub struct Chars<const COUNT: usize>([u8; COUNT]);

impl<const COUNT: usize> Chars<COUNT> {
    /// The text, cut if it is longer.
    #[inline(always)]
    pub fn new(text: &[u8]) -> Self {
        let mut chars = [0; COUNT];
        let size = text.len().min(COUNT);

        chars[..size].copy_from_slice(&text[..size]);
        Chars(chars)
    }
}

impl<const COUNT: usize> Value for Chars<COUNT> {
    #[inline(always)]
    fn end(&self, at: usize) -> usize {
        at + COUNT
    }

    #[inline(always)]
    fn put<const N: usize>(&self, data: &mut Buffer<'_, N>) {
        data.put(&self.0);
    }
}

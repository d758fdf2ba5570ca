// SPDX-License-Identifier: MIT
//! The data of an event, and the layout of such data.

use std::fmt::{self, Write};

use posixtrace::private::{record, until_null, Buffer, Memory};
use tracing_core::field::{Field, Visit};
use tracing_core::{Level, Metadata};

use crate::types::{self, Known, What};

/// The words of a layout for fields, and for the level.
const U64: &str = "u64";
const I64: &str = "i64";
const F64: &str = "f64";
const BOOL: &str = "bool";
const STR: &str = "str";
const LEVELS: &str = "enum u8 {TRACE, DEBUG, INFO, WARN, ERROR}";

/// The data of an event, packed. Each text ends with a null byte but one at the end.
pub struct Data<'a> {
    what: What,
    buffer: Buffer<'a, 4096>,
    /// A hash of the types of the fields, which are not known before they are recorded.
    types: u64,
    is_text_last: bool,
}

impl<'a> Data<'a> {
    #[inline(always)]
    pub fn new(what: What, memory: &'a mut Memory<4096>) -> Self {
        Data { what, buffer: Buffer::new(memory), types: 0xcbf2_9ce4_8422_2325, is_text_last: false }
    }

    pub fn put_key(&mut self, key: u64) {
        self.buffer.put(&key.to_ne_bytes());
    }

    pub fn put_level(&mut self, level: &Level) {
        let number = match *level {
            Level::TRACE => 0,
            Level::DEBUG => 1,
            Level::INFO => 2,
            Level::WARN => 3,
            Level::ERROR => 4,
        };

        self.buffer.put(&[number]);
    }

    /// Adds a field of this type to the hash. The address of its name stands for the field.
    fn add(&mut self, field: &Field, word: &str) {
        let name = field.name();

        for it in [name.as_ptr() as u64, name.len() as u64, word.as_bytes()[0].into()] {
            self.types = (self.types ^ it).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        self.is_text_last = word == STR;
    }

    fn end_text(&mut self, begin: usize) {
        let size = until_null(&self.buffer.bytes()[begin..]).len();

        self.buffer.truncate(begin + size);
        self.buffer.put(&[0]);
    }

    /// Records the event, and returns its type. `visit` visits the fields once more if the type is a new one.
    pub fn record(
        &mut self,
        metadata: &'static Metadata<'static>,
        visit: impl FnOnce(&mut dyn Visit),
    ) -> &'static Known {
        let known = types::find(metadata, self.what, self.types, visit);
        let bytes = self.buffer.bytes();

        record(known.id, &bytes[..bytes.len() - usize::from(self.is_text_last)]);
        known
    }
}

impl Visit for Data<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, U64);
        self.buffer.put(&value.to_ne_bytes());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, I64);
        self.buffer.put(&value.to_ne_bytes());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, F64);
        self.buffer.put(&value.to_ne_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, BOOL);
        self.buffer.put(&[value.into()]);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, STR);
        self.buffer.put(until_null(value.as_bytes()));
        self.buffer.put(&[0]);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let begin = self.buffer.size();

        // An error is that of the value, which then has the text that it has written so far.
        let _ = write!(self, "{value:?}");
        self.add(field, STR);
        self.end_text(begin);
    }
}

impl Write for Data<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.buffer.put(text.as_bytes());
        Ok(())
    }
}

/// A layout that is made of the types of the fields, in the order of the data.
pub struct Layout {
    text: String,
    names: Vec<String>,
}

impl Layout {
    pub fn new(what: What) -> Self {
        let mut layout = Layout { text: "packed".into(), names: Vec::new() };
        let (keys, has_level): (&[&str], bool) = match what {
            What::Begin => (&["key", "parent"], true),
            What::Event => (&["span"], true),
            What::Record | What::End => (&["key"], false),
        };

        for key in keys {
            layout.add(key, U64);
        }
        if has_level {
            layout.add("level", LEVELS);
        }
        layout
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether two fields of a layout cannot have these names.
    fn is_taken(&self, name: &str) -> bool {
        self.names.iter().any(|n| {
            n == name || n.strip_suffix("_hex") == Some(name) || name.strip_suffix("_hex") == Some(n)
        })
    }

    fn add(&mut self, field: &str, word: &str) {
        let mut name: String =
            field.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(56).collect();

        if !name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) {
            name.insert(0, '_');
        }
        while self.is_taken(&name) {
            name.push('_');
        }
        self.text.push_str(if self.names.is_empty() { " " } else { ", " });
        self.text.push_str(word);
        self.text.push(' ');
        self.text.push_str(&name);
        self.names.push(name);
    }
}

impl Visit for Layout {
    fn record_u64(&mut self, field: &Field, _: u64) {
        self.add(field.name(), U64);
    }

    fn record_i64(&mut self, field: &Field, _: i64) {
        self.add(field.name(), I64);
    }

    fn record_f64(&mut self, field: &Field, _: f64) {
        self.add(field.name(), F64);
    }

    fn record_bool(&mut self, field: &Field, _: bool) {
        self.add(field.name(), BOOL);
    }

    fn record_str(&mut self, field: &Field, _: &str) {
        self.add(field.name(), STR);
    }

    fn record_debug(&mut self, field: &Field, _: &dyn fmt::Debug) {
        self.add(field.name(), STR);
    }
}

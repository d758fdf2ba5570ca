// SPDX-License-Identifier: MIT
//! A layer for the crate `tracing` that records its events and spans by posixtrace, the POSIX Trace option for
//! Linux.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry().with(tracing_posixtrace::layer()).init();
//! ```
//!
//! `ptrace-run -o run.log -- PROGRAM` traces the program, `ptrace-dump run.log` shows the events, and
//! `ptrace-stat --pairs run.log` how long the spans took.
//!
//! | in the program | event type | data |
//! |---|---|---|
//! | a span begins | TARGET::NAME.begin | `key`, `parent`, `level`, fields |
//! | it has closed | TARGET::NAME.end | `key` |
//! | fields are recorded later | TARGET::NAME.record | `key`, fields |
//! | an event | TARGET:LINE | `span`, `level`, fields |
//!
//! A span lasts from where it is made until its last handle is dropped, so one of an asynchronous function includes
//! the time for which it waits. `key` is a number that no other span of the machine has at that time; all commands
//! pair begin and end by it. `parent` is the key of the span around it, and `span` that of the span in which the event
//! was recorded, or 0. TARGET is the path of the module unless the program says otherwise. An event whose target is
//! another one is called TARGET:FILE:LINE, and one that the program names, TARGET::NAME.
//!
//! Fields are `u64`, `i64`, `f64`, `bool`, or text: a `str`, also for what is recorded by `Debug` or `Display`. A
//! character that no name of a field can have becomes `_`, and a name that is used already gets `_` after it. A text
//! ends at its first null byte. An event type has one layout. If the same place in the program records other fields or
//! types of fields, because an `Option` is `None` for instance, or if two spans of one module have the same name and
//! other fields, the further types are called NAME#2, NAME#3 and so on, in the order of their first events.
//!
//! The layer filters nothing: `with_filter` of `tracing_subscriber` and the options of ptrace-run do. `parent` and
//! `span` are then the nearest spans that pass the filter, or 0 if an event names a span that does not. In a process
//! that is not traced, it reads a word and does nothing. It takes no lock, and allocates memory only for the first
//! event of an event type, for the spans of types with a number, and for events of more than 4,096 bytes.
//!
//! A span that is open when a trace starts has an end without a begin in it.
//! A span that is open during a fork is one of the parent: the events of the child in it have a key that no span has.

#![warn(missing_docs)]

mod data;
mod types;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use posixtrace::private::{process, record, Memory};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use data::Data;
use types::What;

/// The event type of the end of a span whose event types have a number.
struct NumberedEnd(u32);

/// Whether there is a span of that kind.
static IS_NUMBERED: AtomicBool = AtomicBool::new(false);

/// The layer, which [`layer`] returns.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Another one for each call of [`layer`], and so for each subscriber.
    number: u64,
}

/// A layer that records events and spans.
pub fn layer() -> Layer {
    static COUNTER: AtomicU64 = AtomicU64::new(0);

    Layer { number: COUNTER.fetch_add(1, Ordering::Relaxed) }
}

impl Layer {
    /// The key of a span. Identifiers are unique in the subscriber, for as long as the span exists and long after that.
    /// All bits of the result depend on the process and the layer, so that identifiers of two do not meet.
    fn key(&self, id: &Id) -> u64 {
        let mut mask = process() ^ self.number;

        mask = (mask ^ (mask >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mask = (mask ^ (mask >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        id.into_u64() ^ mask ^ (mask >> 31)
    }

    /// The key of the span around something; 0: there is none.
    fn key_around<'a, S: LookupSpan<'a>>(&self, span: Option<SpanRef<'a, S>>) -> u64 {
        span.map_or(0, |span| self.key(&span.id()))
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !posixtrace::is_traced() {
            return;
        }
        let metadata = attributes.metadata();
        let mut memory = Memory::new();
        let mut data = Data::new(What::Begin, &mut memory);

        data.put_key(self.key(id));
        data.put_key(self.key_around(context.span(id).and_then(|span| span.parent())));
        data.put_level(metadata.level());
        attributes.record(&mut data);
        let known = data.record(metadata, |v| attributes.record(v));
        let span = if known.numbered_end != 0 { context.span(id) } else { None };

        if let Some(span) = span {
            IS_NUMBERED.store(true, Ordering::Release);
            span.extensions_mut().replace(NumberedEnd(known.numbered_end));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = if posixtrace::is_traced() { context.span(id) } else { None };

        if let Some(span) = span {
            let mut memory = Memory::new();
            let mut data = Data::new(What::Record, &mut memory);

            data.put_key(self.key(id));
            values.record(&mut data);
            data.record(span.metadata(), |v| values.record(v));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if !posixtrace::is_traced() {
            return;
        }
        let metadata = event.metadata();
        let mut memory = Memory::new();
        let mut data = Data::new(What::Event, &mut memory);

        data.put_key(self.key_around(context.event_span(event)));
        data.put_level(metadata.level());
        event.record(&mut data);
        data.record(metadata, |v| event.record(v));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = if posixtrace::is_traced() { context.span(&id) } else { None };

        if let Some(span) = span {
            let numbered = if IS_NUMBERED.load(Ordering::Acquire) {
                span.extensions().get::<NumberedEnd>().map(|end| end.0)
            } else {
                None
            };
            let end = numbered.unwrap_or_else(|| types::find(span.metadata(), What::End, 0, |_| ()).id);

            record(end, &self.key(&id).to_ne_bytes());
        }
    }
}

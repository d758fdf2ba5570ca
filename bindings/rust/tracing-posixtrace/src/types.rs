// SPDX-License-Identifier: MIT
//! The event types of the places in a program that record events and spans.

use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use posixtrace_sys::{self as sys, POSIX_TRACE_UNNAMED_USEREVENT as UNNAMED};
use tracing_core::field::Visit;
use tracing_core::Metadata;

use crate::data::Layout;

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A span begins.
    Begin,
    /// Fields of a span are recorded later.
    Record,
    /// A span has closed.
    End,
    /// An event.
    Event,
}

/// The event type of a place, for what it records and the types of the fields.
pub struct Known {
    /// The identifier of the event type.
    pub id: u32,
    /// Of a begin of a type NAME#2 or another one with a number: the end of that name. 0: the end is NAME.end.
    pub numbered_end: u32,
    metadata: *const Metadata<'static>,
    what: What,
    types: u64,
    next: *const Known,
}

const BUCKETS: usize = 1024;
#[allow(clippy::declare_interior_mutable_const)]
const EMPTY: AtomicPtr<Known> = AtomicPtr::new(ptr::null_mut());

/// All event types that have been used. Entries are never removed. There is no lock, because a process may fork while
/// another thread holds it. Two threads may add the same type.
static KNOWN: [AtomicPtr<Known>; BUCKETS] = [EMPTY; BUCKETS];

/// The event type of a place. Opens the type if it is new; `visit` then visits its fields.
pub fn find(
    metadata: &'static Metadata<'static>,
    what: What,
    types: u64,
    visit: impl FnOnce(&mut dyn Visit),
) -> &'static Known {
    let address: *const Metadata<'static> = metadata;
    let hash = (address as u64 ^ types ^ what as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bucket = &KNOWN[(hash >> 54) as usize];
    let first = bucket.load(Ordering::Acquire);
    let mut at: *const Known = first;

    // SAFETY: entries are complete, and are never removed.
    while let Some(known) = unsafe { at.as_ref() } {
        if known.metadata == address && known.types == types && known.what == what {
            return known;
        }
        at = known.next;
    }
    add(bucket, metadata, what, types, visit)
}

#[cold]
fn add(
    bucket: &AtomicPtr<Known>,
    metadata: &'static Metadata<'static>,
    what: What,
    types: u64,
    visit: impl FnOnce(&mut dyn Visit),
) -> &'static Known {
    let mut layout = Layout::new(what);

    visit(&mut layout);
    let (id, number) = open(metadata, what, layout.text());
    let numbered_end = if what == What::Begin && number > 1 {
        try_open(metadata, What::End, number, Layout::new(What::End).text()).unwrap_or(UNNAMED)
    } else {
        0
    };
    let known = Box::leak(Box::new(Known {
        id,
        numbered_end,
        metadata,
        what,
        types,
        next: bucket.load(Ordering::Acquire),
    }));

    while let Err(first) =
        bucket.compare_exchange(known.next as *mut Known, known, Ordering::AcqRel, Ordering::Acquire)
    {
        known.next = first;
    }
    known
}

/// The name of an event type.
fn name(metadata: &Metadata<'_>, what: What, number: u32) -> String {
    let target = metadata.target();
    let mut name = match (what, metadata.file(), metadata.line()) {
        (What::Event, Some(file), Some(line)) if metadata.name().starts_with("event ") => {
            if metadata.module_path() == Some(target) {
                format!("{target}:{line}")
            } else {
                format!("{target}:{file}:{line}")
            }
        }
        _ => format!("{target}::{}", metadata.name()),
    };
    let number = match number {
        1 => String::new(),
        n => format!("#{n}"),
    };
    let end = match what {
        What::Begin => ".begin",
        What::Record => ".record",
        What::End => ".end",
        What::Event => "",
    };
    // The names of a pair are cut at the same place.
    while name.len() + number.len() + ".record".len() > sys::TRACE_EVENT_NAME_MAX {
        name.pop();
    }
    name.replace('\0', "_") + &number + end
}

/// Opens the type of this name. None: the name has another layout. A type that cannot be opened for another reason is
/// the unnamed one, so that readers do not misread its data.
fn try_open(metadata: &Metadata<'_>, what: What, number: u32, layout: &str) -> Option<u32> {
    const EEXIST: i32 = 17;
    let name = CString::new(name(metadata, what, number)).expect("a name without null bytes");
    let layout = CString::new(layout).expect("a layout without null bytes");
    let mut id = UNNAMED;
    // SAFETY: both texts end with null bytes.
    let error = unsafe { sys::posixtrace_eventid_open_layout(name.as_ptr(), layout.as_ptr(), &mut id) };

    if error == EEXIST {
        None
    } else {
        Some(id)
    }
}

/// Opens the type of the first name that has no other layout, and says which one it is.
fn open(metadata: &Metadata<'_>, what: What, layout: &str) -> (u32, u32) {
    (1..1000)
        .find_map(|number| Some((try_open(metadata, what, number, layout)?, number)))
        .unwrap_or((UNNAMED, 1))
}

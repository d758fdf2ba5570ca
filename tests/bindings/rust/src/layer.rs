// SPDX-License-Identifier: MIT
//! The cases of tracing-posixtrace.

use std::fmt;

use tracing::field::Empty;
use tracing::{debug, error, info, info_span, trace, trace_span, warn};
use tracing_subscriber::prelude::*;

pub fn with_layer(f: impl FnOnce()) {
    let subscriber = tracing_subscriber::registry().with(tracing_posixtrace::layer());

    tracing::subscriber::with_default(subscriber, f);
}

pub fn small(text: &str) {
    let span = info_span!("small", id = 7, text);
    let _entered = span.enter();

    info!(rows = 3u32, ?text, "done");
}

struct Shown;

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The crate tracing leaves out an event within the value of another one.
        trace!("shown");
        f.write_str("sho")?;
        f.write_str("wn\0cut")
    }
}

struct Failing;

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half")?;
        Err(fmt::Error)
    }
}

fn all() {
    info!(id = 7u64, change = -3i32, load = 0.5, ok = true, sql = "select 1", shown = ?Shown, "of {}", 1);
    error!("text");
    warn!(target: "audit", user = "anna", failing = %Failing);
    debug!(target: "audit::in", { key = 1, span = 2, level = 3, http.status = 200, size = 4, size_hex = 5 }, "names");
    info!(large = 1u128 << 100, cut = "a\0b", last = "c\0d");
    for user in [Some(1u64), None, Some(2)] {
        info!(user, "option");
    }
    let outer = info_span!("outer", id = 1u64, status = Empty, name = Empty);
    let entered = outer.enter();
    let inner = trace_span!("inner");
    info!("in outer");
    inner.in_scope(|| info!("in inner"));
    outer.record("status", 200u64);
    outer.record("name", "x\0y");
    drop(entered);
    info!(parent: &inner, "explicit");
    info!(parent: None, "root");
    drop(outer);
    drop(inner);
    let unused = info_span!(parent: None, "moved");
    std::thread::spawn(move || drop(unused)).join().unwrap();
    let text = "y".repeat(9000);
    info!(large = text, after = 1u64);
}

pub fn events() {
    with_layer(all);
}

pub fn fork() {
    with_layer(|| {
        let span = info_span!("forked");
        let _entered = span.enter();

        info!("before");
        crate::raw::in_child(|| {
            info!("in the child");
            drop(info_span!("of the child"));
        });
    });
}

/// Spans that a filter leaves out are not around others.
pub fn filter() {
    use tracing_subscriber::filter::LevelFilter;
    let layer = tracing_posixtrace::layer().with_filter(LevelFilter::INFO);

    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        info_span!("outer").in_scope(|| {
            let left_out = trace_span!("left_out");
            left_out.in_scope(|| {
                info!("event");
                trace!("left out, too");
                drop(info_span!("inner"));
            });
            info!(parent: &left_out, "explicit");
        });
    });
}

/// Spans of one name with other fields.
pub fn conflict() {
    with_layer(|| {
        drop(info_span!("new", a = 1u64));
        drop(info_span!("new", b = "x"));
        drop(info_span!("new", a = 1u64));
        // A name that is too long, and has null bytes.
        drop(
            info_span!(target: "t\0t", "long long long long long long long long long long long long long long long \
            long long long long long long long long long long long long long long long long long long long long long \
            long long long long long long long long long long long long long long long long long long long long long", a = 1),
        );
    });
}

/// Two subscribers number their spans alike.
pub fn subscribers() {
    let spans = [0, 1].map(|_| {
        let subscriber = tracing_subscriber::registry().with(tracing_posixtrace::layer());

        tracing::subscriber::with_default(subscriber, || info_span!("one of two"))
    });

    assert_eq!(spans[0].id(), spans[1].id());
}

// SPDX-License-Identifier: MIT
//! Measures events of Rust, in turn with those of C of the same data, and spans of the crate tracing by the layer of
//! posixtrace, in turn with the layer of tracing-subscriber that writes text, into /dev/null. Prints a JSON object:
//! nanoseconds, and medians of the differences or ratios.

use std::fs::File;
use std::os::raw::{c_int, c_ulong};
use std::sync::Arc;
use std::time::Instant;

use tracing::{info_span, Dispatch};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

extern "C" {
    fn bench_c_events(turns: c_ulong);
    fn bench_start() -> c_int;
    fn bench_end() -> c_int;
}

posixtrace::event! { static NUMBERS: "bench.rust" { n: u64, time: u64 } }

/// As in bench/measure.h; the spans take longer.
const BATCH: u64 = 4096;
const SPAN_BATCH: u64 = 128;
const BATCHES: usize = 84;

#[inline(never)]
fn events(turns: u64) {
    for i in 0..turns {
        NUMBERS.emit(i, i);
    }
}

#[inline(never)]
fn c_events(turns: u64) {
    unsafe { bench_c_events(turns) }
}

#[inline(never)]
fn spans(turns: u64) {
    for i in 0..turns {
        let _entered = info_span!("request", id = i, path = "/index").entered();
    }
}

fn time(turns: u64, function: impl Fn(u64)) -> f64 {
    let begin = Instant::now();

    function(turns);
    begin.elapsed().as_nanos() as f64 / turns as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The two functions take turns.
fn compare(name: &str, turns: u64, one: impl Fn(u64), other: impl Fn(u64), end: &str) {
    let pairs: Vec<_> = (0..BATCHES).map(|_| (time(turns, &one), time(turns, &other))).collect();
    let of = |f: fn(&(f64, f64)) -> f64| median(pairs.iter().map(f).collect());

    println!(
        r#""{name}": {{"ns": {:.4}, "reference_ns": {:.4}, "difference": {:.4}, "ratio": {:.5}}}{end}"#,
        of(|p| p.0),
        of(|p| p.1),
        of(|p| p.0 - p.1),
        of(|p| p.0 / p.1)
    );
}

fn main() {
    let null = Arc::new(File::create("/dev/null").unwrap());
    let text =
        tracing_subscriber::fmt::layer().with_span_events(FmtSpan::NEW | FmtSpan::CLOSE).with_writer(null);
    let ours: Dispatch = tracing_subscriber::registry().with(tracing_posixtrace::layer()).into();
    let theirs: Dispatch = tracing_subscriber::registry().with(text).into();
    let bare: Dispatch = tracing_subscriber::registry().into();
    let by = |dispatch: &Dispatch, turns| tracing::dispatcher::with_default(dispatch, || spans(turns));

    println!("{{");
    compare("untraced", BATCH, events, c_events, ",");
    compare("span_untraced", SPAN_BATCH, |n| by(&ours, n), |n| by(&bare, n), ",");
    assert_eq!(unsafe { bench_start() }, 0);
    // Touches all of the stream's memory.
    events(80 * BATCH);
    compare("event", BATCH, events, c_events, ",");
    compare("span", SPAN_BATCH, |n| by(&ours, n), |n| by(&theirs, n), ",");
    compare("span_alone", SPAN_BATCH, |n| by(&ours, n), |n| by(&bare, n), "\n}");
    assert_eq!(unsafe { bench_end() }, 0);
}

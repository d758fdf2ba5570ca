// SPDX-License-Identifier: MIT
//! The cases that rust.sh runs under ptrace-run: `cases NAME`. rust.sh has what each records.

#![deny(unsafe_code)]
#![deny(missing_docs)]

mod layer;
mod raw;

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::process::{abort, exit, Command};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

posixtrace::event! {
    /// Numbers of all types, with gaps between them.
    pub static NUMBERS: "numbers" {
        a: u8, b: u64, c: i16, d: f32, e: bool, f: f64, g: i8, h: usize, i: isize, j: u16, k: i32, l: i64, m: u32
    }
    static HEXADECIMAL: "hexadecimal" { a: x8, b: x16, c: x32, d: x64, e: [x32; 2], f: [x8; 2] }
    static UNITS: "units" { took: Duration, size: u32 KiB, load: f32 percent, both: [Duration; 2], x: [u16; 2] ms }
    static ARRAYS: "arrays" { a: [u16; 3], b: [u8; 4], c: [bool; 2], d: [f64; 1] }
    static TEXTS: "texts" { a: str, b: u32, c: char[4], d: str }
    static BYTES: "bytes" { a: u8, rest: [u8] }
    static JSON: "json" { a: u8, all: json }
    static EMPTY: "empty" {}
    static RAW: "raw" { r#type: u8, r#in: u16, }
    static LARGE: "large" { a: str, b: [u8] }
    static AFTER: "after" { a: str, b: u64 }
    #[cfg(any())]
    static NEVER: "never" { a: Unknown }
    static PAIR: "pair" { a: u64, b: u64 }
    static QUERY: "db.query" { id: u64, rows: u32, sql: str }
}

fn fields() {
    NUMBERS.emit(255, u64::MAX, i16::MIN, 0.5, true, -0.25, -1, 7, -7, 65535, i32::MIN, i64::MIN, 4);
    HEXADECIMAL.emit(1, 0x102, 0x01020304, u64::MAX, [1, 2], [3, 4]);
    UNITS.emit(Duration::from_micros(5), 3, 12.5, [Duration::MAX, Duration::ZERO], [1, 2]);
    ARRAYS.emit([1, 2, 3], [1, 2, 3, 255], [true, false], [f64::INFINITY]);
    TEXTS.emit("grün", 5, "ab", String::from("end"));
    BYTES.emit(1, [1, 2, 3]);
    JSON.emit(1, r#"{"b": [2, "x"]}"#);
    EMPTY.emit();
    RAW.emit(1, 2);
}

/// Texts that are no UTF-8 or have null bytes, and such that do not fit.
fn texts() {
    TEXTS.emit(b"a\xff", 5, "abcdef", b"\xfe");
    TEXTS.emit("cut\0here", 5, "a\0b", "cut\0text");
    TEXTS.emit("", 5, "", "");
    for size in [0, 100, 255, 256, 257, 4000, 4095, 4096, 5000, 100_000] {
        let text = "x".repeat(size);

        LARGE.emit(&text, text.as_bytes());
        AFTER.emit(&text, size as u64);
    }
}

fn threads() {
    let threads: Vec<_> = (0..4)
        .map(|n| {
            thread::spawn(move || {
                let _span = posixtrace::span!("thread");

                (0..1000).for_each(|i| PAIR.emit(n, i));
            })
        })
        .collect();

    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// The second layout of a name.
fn conflict() {
    posixtrace::event! { static OTHER: "pair" { a: u32 } }

    assert_eq!(PAIR.open(), Ok(()));
    PAIR.emit(1, 2);
    let error = OTHER.open().unwrap_err();
    assert_eq!(error.errno(), 17);
    assert_eq!(error.to_string(), "event type \"pair\": it has another layout than \"u32 a\"");
    assert_eq!(OTHER.open(), Err(error));
    OTHER.emit(3);
    posixtrace::event! { static SYSTEM: "posix_trace_start" {} }
    println!("{:?}", SYSTEM.open().map_err(|e| e.to_string()));
}

/// A future that is ready when it is polled for the second time.
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

struct Idle;

impl Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

/// A span that waits with its function, and ends in another thread.
fn asynchronous() {
    let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async {
        let _span = posixtrace::span!("async", key = 9,);
        Later(false).await;
    });
    let waker = Waker::from(Arc::new(Idle));

    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    thread::spawn(move || {
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    })
    .join()
    .unwrap();
}

fn spans() {
    {
        let outer = posixtrace::span!("outer");
        let inner = posixtrace::span!("inner", key = 7);
        assert_eq!(inner.key(), 7);
        // The spans do not nest.
        drop(outer);
        drop(inner);
    }
    asynchronous();
    let span = posixtrace::span!("moved");
    thread::spawn(move || drop(span)).join().unwrap();
    panic::set_hook(Box::new(|_| ()));
    let result = panic::catch_unwind(|| {
        let _span = posixtrace::span!("panic");
        PAIR.emit(1, 1);
        panic!("in a span");
    });
    assert!(result.is_err());
}

/// A process that is not traced: nothing is recorded, and nothing is wrong.
fn untraced() {
    assert!(!posixtrace::is_traced());
    fields();
    texts();
    threads();
    let span = posixtrace::span!("request");
    assert_eq!(span.key(), 0);
    drop(span);
    drop(posixtrace::span!("request", key = 3));
    layer::events();
    assert!(posixtrace::version().starts_with("posixtrace "));
}

/// A process that is traced only after its first line of output. It reads a line after each that it writes.
fn late() {
    let early = posixtrace::span!("early");
    let wait = |line| {
        println!("{line}");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    };

    PAIR.emit(0, 0);
    wait("ready");
    PAIR.emit(1, 1);
    drop(early);
    drop(posixtrace::span!("request"));
    wait("done");
}

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();

    match case.as_str() {
        "fields" => fields(),
        "texts" => texts(),
        "threads" => threads(),
        "conflict" => conflict(),
        "spans" => spans(),
        "untraced" => untraced(),
        "late" => late(),
        "fork" => raw::fork(),
        "memory" => raw::allocations(),
        "layer" => layer::events(),
        "layer-filter" => layer::filter(),
        "layer-fork" => layer::fork(),
        "layer-conflict" => layer::conflict(),
        "layer-subscribers" => layer::subscribers(),
        "killed" => {
            let _span = posixtrace::span!("request");
            PAIR.emit(1, 2);
            abort();
        }
        "child" => {
            let own = std::env::current_exe().unwrap();
            assert!(Command::new(own).arg("fields").status().unwrap().success());
        }
        _ => {
            eprintln!("cases: no case {case:?}");
            exit(2);
        }
    }
}

// SPDX-License-Identifier: MIT
//! The cases that need unsafe code: a fork, and an allocator that counts.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::os::raw::c_int;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{AFTER, PAIR, QUERY, TEXTS};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Prints how often the second of two calls takes memory: the first one opens event types.
fn count(name: &str, f: impl Fn()) {
    f();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    f();
    println!("{name} {}", ALLOCATIONS.load(Ordering::Relaxed) - before);
}

/// Events and spans take no memory unless they are large.
pub fn allocations() {
    let text = "x".repeat(4000);
    let large = "x".repeat(5000);

    count("numbers", || PAIR.emit(1, 2));
    count("texts", || TEXTS.emit("a", 5, "b", &text));
    count("large", || AFTER.emit(&large, 5));
    count("span", || drop(posixtrace::span!("request")));
    crate::layer::with_layer(|| {
        count("layer", || crate::layer::small(&text));
    });
}

/// Event types go on in a child; keys are new ones.
pub fn in_child(f: impl FnOnce()) {
    extern "C" {
        fn fork() -> c_int;
        fn wait(status: *mut c_int) -> c_int;
    }
    let mut status = 0;

    if unsafe { fork() } == 0 {
        f();
        exit(0);
    }
    assert!(unsafe { wait(&mut status) } > 0);
    assert_eq!(status, 0);
}

pub fn fork() {
    let first = posixtrace::span!("request");

    PAIR.emit(1, 1);
    in_child(|| {
        let second = posixtrace::span!("request");

        assert_ne!(first.key() >> 42, second.key() >> 42);
        // A type that the parent has not opened.
        QUERY.emit(2, 2, "child");
        PAIR.emit(2, 2);
    });
    let third = posixtrace::span!("request");
    assert_eq!(first.key() >> 42, third.key() >> 42);
    assert_ne!(first.key(), third.key());
    QUERY.emit(3, 3, "parent");
}

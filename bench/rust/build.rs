// SPDX-License-Identifier: MIT
//! Compiles the events of C. The environment has the compiler and its flags.

use std::env;
use std::process::Command;

fn main() {
    let object = env::var("OUT_DIR").unwrap() + "/event.o";
    let cc = env::var("BENCH_CC").expect("BENCH_CC: the compiler with its flags");
    let command = format!("{cc} -c -o '{object}' event.c");

    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success(), "{command}");
    println!("cargo:rustc-link-arg={object}");
    println!("cargo:rerun-if-changed=event.c");
    println!("cargo:rerun-if-env-changed=BENCH_CC");
}

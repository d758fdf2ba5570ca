// SPDX-License-Identifier: MIT
//! Asks pkg-config where libposixtrace is.

use std::env;
use std::process::{self, Command};

fn fail(message: &str) -> ! {
    eprintln!("posixtrace-sys: {message}");
    process::exit(1);
}

fn main() {
    let command = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&command)
        .args(["--print-errors", "--variable=libdir", "posixtrace"])
        .output()
        .unwrap_or_else(|e| fail(&format!("{command}, which finds libposixtrace: {e}; install pkg-config")));
    let libdir = String::from_utf8_lossy(&output.stdout);

    if !output.status.success() {
        fail(&format!(
            "libposixtrace is not found; install libposixtrace-dev, or name the directory of posixtrace.pc in \
             PKG_CONFIG_PATH\n{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    println!("cargo:rustc-link-search=native={}", libdir.trim());
    println!(
        "cargo:rustc-link-lib={}=posixtrace",
        if env::var_os("CARGO_FEATURE_STATIC").is_some() { "static" } else { "dylib" }
    );
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
}

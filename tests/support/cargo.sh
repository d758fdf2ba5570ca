# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For the shell scripts that compile Rust: `. cargo.sh', then cargo_lacks and cargo_begin. They need the build tree
# in PTRC_BUILD and the source tree in PTRC_SOURCE.

cargo_crates=/usr/share/cargo/registry

# cargo_lacks: prints what is missing; fails if nothing is
cargo_lacks() {
	for it in cargo rustc pkg-config; do
		command -v "$it" >/dev/null || { echo "no $it"; return; }
	done
	for it in tracing tracing-subscriber; do
		ls -d "$cargo_crates/$it"-[0-9]* >/dev/null 2>&1 || { echo "no librust-$it-dev"; return; }
	done
	test -r "$PTRC_BUILD/lib/.libs/libposixtrace.so" || { echo 'no shared library'; return; }
	return 1
}

# cargo_begin FOLDER...: sets the environment for cargo, so that it uses the crates of Debian, the library of the
# build tree, and nothing that the user has configured. Cargo writes next to its sources, so $work, a directory of
# the build tree, gets a copy of these folders of the source tree. What is compiled goes into $target, which each
# compiler has for itself.
cargo_begin() {
	work=$PTRC_BUILD/rust
	for it; do
		rm -rf "${work:?}/$it"
		mkdir -p "$work/$it" || return 1
		cp -rp "$PTRC_SOURCE/$it/." "$work/$it" || return 1
		chmod -R u+w "$work/$it" || return 1
	done
	# shellcheck disable=SC2034 # the script that reads this uses the variable
	target=$work/target-$(rustc --version | tr -c 'a-z0-9.\n' _)
	CARGO_HOME=$work/home
	CARGO_NET_OFFLINE=true
	PKG_CONFIG_PATH=$work/home
	LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
	export CARGO_HOME CARGO_NET_OFFLINE PKG_CONFIG_PATH LD_LIBRARY_PATH
	unset MAKEFLAGS MFLAGS RUSTFLAGS CARGO_TARGET_DIR
	mkdir -p "$CARGO_HOME" || return 1
	cat >"$CARGO_HOME/config.toml" <<-END || return 1
		[source.crates-io]
		replace-with = "debian"
		[source.debian]
		directory = "$cargo_crates"
	END
	cat >"$PKG_CONFIG_PATH/posixtrace.pc" <<-END
		libdir=$LD_LIBRARY_PATH
		Name: posixtrace
		Description: of the build tree
		Version: 0
	END
}

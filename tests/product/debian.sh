#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# Debian packages can be built from what is distributed, hold what they should, and work. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
source=$dir/posixtrace
root=$dir/root

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

for command in dpkg-buildpackage dh; do
	command -v "$command" >/dev/null || skip_all "no $command"
done
# They would be the same, or this is such a build already.
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'once is enough, without sanitizers'
test -z "${DEB_HOST_ARCH-}" || skip_all 'in a build of the packages'

# The make that runs this test has nothing to say to those below, nor has configure's choice.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CXX
# It takes two minutes of a processor to configure and compile everything anew. As it is the packaging that
# is tested: not optimised, without what debuggers read, and by a cache of the compiler, if there is one.
DEB_BUILD_OPTIONS="nocheck noopt noautodbgsym parallel=$(nproc)"
DEB_BUILD_PROFILES=nocheck
test -e /usr/include/node/node_api.h || DEB_BUILD_PROFILES='nocheck pkg.posixtrace.nonode'
DEB_CFLAGS_STRIP=-g
DEB_CXXFLAGS_STRIP=-g
CCACHE_BASEDIR=$dir
CCACHE_NOHASHDIR=1
PATH=/usr/lib/ccache:$PATH
export DEB_BUILD_OPTIONS DEB_BUILD_PROFILES DEB_CFLAGS_STRIP DEB_CXXFLAGS_STRIP CCACHE_BASEDIR CCACHE_NOHASHDIR

builds() (
	make -C "$PTRC_BUILD" distdir distdir="$source" || exit 1
	chmod -R u+w "$source"
	cd "$source" || exit 1
	dpkg-checkbuilddeps || exit 77
	dpkg-buildpackage -us -uc -b || exit 1
	dpkg-buildpackage -us -uc -T clean || exit 1
)

# All places that have the version have the same. Debian sorts a version with ~dev before the
# released one, so its `~' is our `-'.
version() (
	test -d "$source" || exit 77
	configured=$("$source/configure" --version | sed -n '1s/.* //p')
	debian=$(cd "$source" && dpkg-parsechangelog -S Version)
	echo "configure $configured, debian/changelog $debian"
	test "$configured" = "$(echo "$debian" | tr '~' -)"
)

# package NAME: its file
package() {
	set -- "$dir/$1"_*.deb
	test -e "$1" || { echo 'not built'; return 77; }
	echo "$1"
}

# holds NAME PATTERN...: the package has exactly these files, links included; in a pattern
# `*' is part of one name. What every package has goes without saying.
holds() (
	file=$(package "$1") || { echo "$file"; exit 77; }
	dpkg-deb --fsys-tarfile "$file" | tar -t | grep -v '/$' | sed 's|^\./||' |
		grep -v "^usr/share/doc/$1/\(changelog\|copyright\|NEWS\)" >"$dir/files"
	shift
	bad=0
	for pattern; do
		pattern="^$(echo "$pattern" | sed 's/[.+]/\\&/g; s/\*/[^\/]*/g')\$"
		grep -q "$pattern" "$dir/files" || { echo "no $pattern"; bad=1; }
		grep -v "$pattern" "$dir/files" >"$dir/rest"
		mv "$dir/rest" "$dir/files"
	done
	sed 's/^/unexpected: /' "$dir/files" | grep . && bad=1
	exit "$bad"
)

commands() {
	holds posixtrace 'usr/bin/ptrace-*' 'usr/share/man/man1/ptrace-*.1.gz' \
		'usr/share/man/man5/*.5.gz' 'usr/share/man/man7/posixtrace*.7.gz' \
		'usr/share/bash-completion/completions/ptrace-*' \
		usr/share/zsh/vendor-completions/_ptrace \
		'usr/share/fish/vendor_completions.d/ptrace*.fish' \
		'usr/lib/*/posixtrace/posixtrace-preload.so' \
		'usr/share/doc/posixtrace/*.md*' 'usr/share/doc/posixtrace/*.json' \
		usr/share/doc/posixtrace/queries.sql 'usr/share/doc/posixtrace/*.png' \
		'usr/share/doc/posixtrace/examples/ptrace-ship*.service' \
		'usr/share/doc/posixtrace/examples/*.c'
}

library() {
	holds libposixtrace0 'usr/lib/*/libposixtrace.so.0*'
}

development() {
	holds libposixtrace-dev usr/include/trace.h usr/include/posixtrace.h \
		usr/include/posixtrace-control.h usr/include/posixtrace-log.h usr/include/posixtrace.hpp \
		'usr/lib/*/libposixtrace.a' 'usr/lib/*/libposixtrace.so' \
		'usr/lib/*/pkgconfig/posixtrace.pc' 'usr/lib/*/cmake/posixtrace/posixtrace-config*.cmake' \
		'usr/share/man/man3/posix*.3.gz' 'usr/share/man/man3/POSIXTRACE_*.3.gz' \
		usr/share/man/man7/trace.h.7.gz \
		usr/share/posixtrace/bindings/rust/Cargo.toml usr/share/posixtrace/bindings/rust/README.md \
		'usr/share/posixtrace/bindings/rust/*/Cargo.toml' \
		'usr/share/posixtrace/bindings/rust/*/src/*.rs' \
		usr/share/posixtrace/bindings/rust/posixtrace-sys/build.rs
}

node() {
	case $DEB_BUILD_PROFILES in *nonode) echo 'no node_api.h'; return 77 ;; esac
	holds node-posixtrace 'usr/lib/*/nodejs/posixtrace/*.js' 'usr/lib/*/nodejs/posixtrace/*.d.ts' \
		'usr/lib/*/nodejs/posixtrace/posixtrace.node' 'usr/lib/*/nodejs/posixtrace/package.json' \
		'usr/lib/*/nodejs/posixtrace/README.md*'
}

python() {
	holds python3-posixtrace usr/lib/python3/dist-packages/posixtrace/__init__.py \
		usr/lib/python3/dist-packages/posixtrace/__main__.py \
		usr/lib/python3/dist-packages/posixtrace/_columns.py \
		usr/lib/python3/dist-packages/posixtrace/_record.abi3.so \
		usr/lib/python3/dist-packages/posixtrace/_record.pyi \
		usr/lib/python3/dist-packages/posixtrace/py.typed
}

# In a root of its own, where the packages of this machine count as installed.
installs() (
	package posixtrace || exit 77
	if test "$(id -u)" -eq 0 && test -r /var/lib/dpkg/status; then
		mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" || exit 1
		cp /var/lib/dpkg/status "$root/var/lib/dpkg" || exit 1
		dpkg --root="$root" --log=/dev/null -i "$dir"/*.deb >"$dir/dpkg" 2>&1 || {
			grep -v 'files list file for package' "$dir/dpkg"
			exit 1
		}
		dpkg-query --admindir="$root/var/lib/dpkg" -W posixtrace
	else
		for file in "$dir"/*.deb; do dpkg-deb -x "$file" "$root" || exit 1; done
	fi
)

works() (
	test -d "$root/usr" || { echo 'not installed'; exit 77; }
	so=$(echo "$root"/usr/lib/*/libposixtrace.so)
	gcc -I"$root/usr/include" -o "$dir/hello" \
		"$root/usr/share/doc/posixtrace/examples/hello.c" "$so" || exit 1
	LD_LIBRARY_PATH=${so%/*}
	export LD_LIBRARY_PATH
	"$root/usr/bin/ptrace-run" -o "$dir/log" -- "$dir/hello" || exit 1
	"$root/usr/bin/ptrace-dump" --format=text "$dir/log" | grep 'hello\.greeting.*"world"'
)

purges() (
	test -d "$root/var" || { echo 'installed without a database'; exit 77; }
	dpkg --root="$root" --log=/dev/null -P node-posixtrace python3-posixtrace posixtrace libposixtrace-dev \
		libposixtrace0 \
		>"$dir/dpkg" 2>&1 || {
		grep -v 'files list file for package' "$dir/dpkg"
		exit 1
	}
	! find "$root" -name '*trace*' | grep .
)

result 'packages are built from what is distributed' builds
result 'they have the version of what they are made from' version
result 'posixtrace holds the commands' commands
result 'libposixtrace0 holds the shared library' library
result 'libposixtrace-dev holds what compiling needs' development
result 'node-posixtrace holds the package' node
result 'python3-posixtrace holds the module' python
result 'they install in a root of their own' installs
result 'what is installed works' works
result 'purged, nothing is left' purges
echo "1..$number"
exit "$status"

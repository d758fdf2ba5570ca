#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# Debian packages are built from the tarball, hold what they should, and work. In a Debian of their own, which
# `scripts/setup --packages' makes: they install and leave nothing when purged, lintian reports nothing, their own
# tests pass, other circumstances give the same bytes, and they are built for the other processor. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
debian=$PTRC_SOURCE/build/debian-root
packages=$dir/first
tree=$packages/posixtrace

for command in dpkg-buildpackage dh; do
	command -v "$command" >/dev/null || skip_all "no $command"
done
# They would be the same, or this is such a build already.
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'once is enough, without sanitizers'
test -z "${DEB_HOST_ARCH-}${RPM_BUILD_ROOT-}" || skip_all 'in a build of packages'

# The make that runs this test has nothing to say to those below, nor has configure's choice.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CXX
# What the compiler has compiled before it takes from a cache, if there is one.
cache=$(ccache -k cache_dir 2>/dev/null)

# inside COMMAND...: runs it in the Debian, as root, where $dir is /test. What it changes elsewhere goes to a layer
# that later calls see, and that disappears with $dir.
inside() {
	mkdir -p "$dir/layer/upper" "$dir/layer/work" "$dir/layer/root"
	# shellcheck disable=SC2016 # for the shell inside
	unshare --mount --uts --ipc --pid --fork sh -c '
		debian=$1 layer=$2/layer dir=$2 cache=$3
		shift 3
		mount -t overlay -o "lowerdir=$debian,upperdir=$layer/upper,workdir=$layer/work" layer "$layer/root" &&
		cd "$layer/root" && mkdir -p test cache &&
		mount --bind "$dir" test && mount -t proc proc proc && mount -t tmpfs -o mode=1777 shm dev/shm || exit 1
		test -z "$cache" || mount --bind "$cache" cache || exit 1
		exec chroot . env -i HOME=/root LC_ALL=C.UTF-8 CCACHE_DIR=/cache TMPDIR=/tmp \
			PATH="${cache:+/usr/lib/ccache:}/usr/sbin:/usr/bin:/sbin:/bin" "$@"' \
		sh "$debian" "$dir" "$cache" "$@"
}

# Why there is no Debian to be inside, or nothing
outside=
if test ! -d "$debian"; then
	outside='no build/debian-root: scripts/setup --packages'
elif ! inside true >"$dir/out" 2>&1; then
	outside="build/debian-root cannot be entered: $(head -n 1 "$dir/out")"
fi

# needs_debian: for a case that is skipped without it
needs_debian() {
	test -z "$outside" || { echo "$outside"; exit 77; }
	test -e "$packages"/posixtrace_*.deb || { echo 'not built'; exit 77; }
}

# last LINES FILE COMMAND...: the command's output goes to the file; if it fails, its last lines are shown
last() {
	lines=$1 file=$2
	shift 2
	"$@" >"$file" 2>&1 || { tail -n "$lines" "$file"; return 1; }
}

# What a packager says of the places that this tree does not know
published="POSIXTRACE_HOMEPAGE=https://posixtrace.example/ POSIXTRACE_VCS=https://vcs.example/posixtrace.git
	POSIXTRACE_VCS_BROWSER=https://vcs.example/posixtrace POSIXTRACE_BUGS=https://vcs.example/bugs
	POSIXTRACE_MAINTAINER='A. Packager <packager@example.org>'"
published=$(echo "$published" | tr -d '\n')
options="DEB_BUILD_OPTIONS=nocheck parallel=$(nproc)"
profiles=nocheck
# A package on this machine is not optimised and has nothing for debuggers: packaging is tested here.
builds_here() {
	test -e /usr/include/node/node_api.h || profiles='nocheck pkg.posixtrace.nonode'
	(cd "$tree" && dpkg-checkbuilddeps -P"$(echo "$profiles" | tr ' ' ,)") || exit 77
	cd "$tree" && last 40 "$dir/log" env "$options noopt noautodbgsym" DEB_BUILD_PROFILES="$profiles" \
		DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g CCACHE_BASEDIR="$dir" CCACHE_NOHASHDIR=1 \
		PATH="/usr/lib/ccache:$PATH" dpkg-buildpackage -us -uc
}

# The source package is the tarball, renamed, and debian/ of it, as HACKING.md says.
builds() (
	mkdir "$packages" || exit 1
	last 10 "$dir/log" make -C "$PTRC_BUILD" distdir distdir="$tree" || exit 1
	chmod -R u+w "$tree"
	# As in a fresh clone: a source package keeps the times of files that are older than its changelog.
	find "$tree/debian" -exec touch {} +
	version=$(cd "$tree" && dpkg-parsechangelog -S Version) || exit 1
	tar -C "$packages" --sort=name --owner=0 --group=0 --mtime=@1700000000 -cJf \
		"$packages/posixtrace_${version%-*}.orig.tar.xz" posixtrace || exit 1
	if test -n "$outside"; then
		builds_here || exit
	else
		last 40 "$dir/log" inside sh -c "cd /test/first/posixtrace && $published debian/addresses &&
			env '$options' DEB_BUILD_PROFILES=nocheck dpkg-buildpackage -us -uc" || exit 1
	fi
	cd "$packages" && ls && test -e posixtrace_*.dsc && test -e posixtrace_*.debian.tar.xz
)

# All places that have the version have the same. Debian sorts a version with ~dev before the
# released one, so its `~' is our `-'; behind its last `-' it counts the changes of the packaging.
version() (
	test -d "$tree" || exit 77
	configured=$("$tree/configure" --version | sed -n '1s/.* //p')
	packaged=$(cd "$tree" && dpkg-parsechangelog -S Version)
	echo "configure $configured, debian/changelog $packaged"
	test "$configured" = "$(echo "${packaged%-*}" | tr '~' -)"
)

# debian/copyright has the holder and the text of COPYING, and names each licence of the files that autotools add.
copyright() (
	cd "$tree" || exit 77
	sed -n '/^License: Expat$/,/^$/s/^ //p' debian/copyright | sed 's/^\.$//; /^$/{$d}' >"$dir/expat"
	sed '1,/^Copyright/d' COPYING | sed 1d | diff - "$dir/expat" || exit 1
	grep -qF "Copyright: $(sed -n 's/^Copyright (c) //p' COPYING)" debian/copyright || exit 1
	for file in configure aclocal.m4 Makefile.in build-aux/*; do
		grep -q "^\(Files:\)\{0,1\} $file\$" debian/copyright || { echo "no $file"; exit 1; }
	done
)

# refuses MESSAGE VARIABLE=VALUE...: debian/addresses says this, fails, and changes nothing
refuses() {
	cp -R "$PTRC_SOURCE/debian" "$dir/refused" || return 1
	message=$1
	shift
	if env "$@" "$dir/refused/addresses" 2>"$dir/said"; then echo "$* is accepted"; return 1; fi
	grep -qF "debian/addresses: $message" "$dir/said" || { cat "$dir/said"; return 1; }
	diff -r "$PTRC_SOURCE/debian" "$dir/refused" && rm -r "$dir/refused"
}

addresses() (
	refuses 'no variable is set' POSIXTRACE_HOMEPAGE= || exit 1
	refuses 'POSIXTRACE_VCS: host: no address' POSIXTRACE_HOMEPAGE=https://posixtrace.example/ POSIXTRACE_VCS=host || exit 1
	refuses 'POSIXTRACE_HOMEPAGE: https://a b/c: a character' POSIXTRACE_HOMEPAGE='https://a b/c' || exit 1
	refuses 'POSIXTRACE_MAINTAINER: me: no NAME <NAME@HOST>' POSIXTRACE_MAINTAINER=me || exit 1
	cp -R "$PTRC_SOURCE/debian" "$dir/debian" || exit 1
	# Twice, as they may move.
	env POSIXTRACE_HOMEPAGE=https://old.example/x POSIXTRACE_VCS=https://old.example/x.git "$dir/debian/addresses" &&
		eval "$published \"\$dir/debian/addresses\"" || exit 1
	cd "$dir/debian" || exit 1
	! grep -r old.example . || exit 1
	grep -x 'Homepage: https://posixtrace.example' control && grep -x 'Source: https://posixtrace.example' copyright &&
		grep -x 'Vcs-Git: https://vcs.example/posixtrace.git' control &&
		grep -x 'Vcs-Browser: https://vcs.example/posixtrace' control &&
		grep -x 'Maintainer: A. Packager <packager@example.org>' control &&
		grep -x 'Bug-Database: https://vcs.example/bugs' upstream/metadata && ! grep localhost changelog && grep -x 'Repository: https://vcs.example/posixtrace.git' upstream/metadata &&
		test "$(grep -c '^Homepage\|^Vcs' control)" -eq 3
)

# uscan finds the newest release on the page, and takes no pre-release for later than its release.
watch() (
	needs_debian
	cp -R "$PTRC_SOURCE/debian" "$dir/watched" && mkdir "$dir/page" || exit 1
	for release in 8.9.0 9.0.0 9.0.0-dev; do : >"$dir/page/posixtrace-$release.tar.xz"; done
	inside sh -c '
		cd /test/page && python3 -m http.server --bind 127.0.0.1 8099 >/dev/null 2>&1 &
		POSIXTRACE_HOMEPAGE=http://127.0.0.1:8099/ /test/watched/addresses || exit 1
		mkdir /test/watch && cp -R /test/watched /test/watch/debian && cd /test/watch || exit 1
		until python3 -c "import socket; socket.create_connection((\"127.0.0.1\", 8099))" 2>/dev/null; do sleep 0.1; done
		uscan --report --dehs --no-download' >"$dir/found"
	grep -q '<upstream-version>9.0.0</upstream-version>' "$dir/found" || { cat "$dir/found"; exit 1; }
)

# package NAME: its file
package() {
	set -- "$packages/$1"_*.deb
	test -e "$1" || { echo 'not built'; return 77; }
	echo "$1"
}

# holds NAME PATTERN...: the package has exactly these files, links included; in a pattern
# `*' is part of one name. What every package has goes without saying.
holds() (
	file=$(package "$1") || { echo "$file"; exit 77; }
	dpkg-deb --fsys-tarfile "$file" | tar -t | grep -v '/$' | sed 's|^\./||' |
		grep -v "^usr/share/doc/$1/\(changelog\|copyright\|NEWS\)\|^usr/share/lintian/overrides/" >"$dir/files"
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
		'usr/share/man/man3/posix_trace_*.3.gz' 'usr/share/man/man3/posixtrace_*.3.gz' \
		usr/share/man/man3/posixtrace.hpp.3.gz 'usr/share/man/man3/POSIXTRACE_*.3.gz' \
		usr/share/man/man7/trace.h.7.gz \
		usr/share/posixtrace/bindings/rust/Cargo.toml usr/share/posixtrace/bindings/rust/README.md \
		'usr/share/posixtrace/bindings/rust/*/Cargo.toml' \
		'usr/share/posixtrace/bindings/rust/*/src/*.rs' \
		usr/share/posixtrace/bindings/rust/posixtrace-sys/build.rs
}

node() {
	test -z "$outside" || test -e /usr/include/node/node_api.h || { echo 'no node_api.h'; return 77; }
	holds node-posixtrace 'usr/lib/*/nodejs/posixtrace/*.js' 'usr/lib/*/nodejs/posixtrace/*.d.ts' \
		'usr/lib/*/nodejs/posixtrace/posixtrace.node' 'usr/lib/*/nodejs/posixtrace/package.json' \
		'usr/lib/*/nodejs/posixtrace/README.md*' usr/share/man/man3/posixtrace-node.3.gz
}

python() {
	holds python3-posixtrace usr/lib/python3/dist-packages/posixtrace/__init__.py \
		usr/lib/python3/dist-packages/posixtrace/__main__.py \
		usr/lib/python3/dist-packages/posixtrace/_columns.py \
		usr/lib/python3/dist-packages/posixtrace/_record.abi3.so \
		usr/lib/python3/dist-packages/posixtrace/_record.pyi \
		usr/lib/python3/dist-packages/posixtrace/py.typed usr/share/man/man3/posixtrace-python.3.gz
}

# What is unpacked works, also where it is not installed.
works() (
	package posixtrace || exit 77
	root=$dir/root
	for file in "$packages"/*.deb; do dpkg-deb -x "$file" "$root" || exit 1; done
	so=$(echo "$root"/usr/lib/*/libposixtrace.so)
	gcc -I"$root/usr/include" -o "$dir/hello" \
		"$root/usr/share/doc/posixtrace/examples/hello.c" "$so" || exit 1
	LD_LIBRARY_PATH=${so%/*}
	export LD_LIBRARY_PATH
	"$root/usr/bin/ptrace-run" -o "$dir/hello.log" -- "$dir/hello" || exit 1
	"$root/usr/bin/ptrace-dump" --format=text "$dir/hello.log" | grep 'hello\.greeting.*"world"'
)

# No warning, hint or opinion (pedantic, experimental) but those that debian/*lintian-overrides explain.
lintian() (
	needs_debian
	cd "$packages" || exit 1
	last 200 "$dir/lint" inside sh -c 'cd /test/first && lintian --allow-root -IE --pedantic *.changes' || exit 1
	silent cat "$dir/lint"
)

purges() (
	needs_debian
	# shellcheck disable=SC2016 # for the shell inside
	last 40 "$dir/log" inside sh -ec '
		find /usr /etc | sort >/test/before
		dpkg --log=/dev/null -i /test/first/*.deb
		ptrace-run --version
		python3 -c "import posixtrace"
		dpkg --log=/dev/null -P $(cd /test/first && ls *.deb | sed "s/_.*//")
		find /usr /etc | sort | diff /test/before -'
)

# As somebody else would, from the source package: the second build is elsewhere, later, with another name of
# the machine, time zone, locale and umask, and without a cache.
same() (
	needs_debian
	last 40 "$dir/log" inside sh -c "
		hostname elsewhere
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin TZ=Asia/Tokyo LC_ALL=C HOME=/test/second
		mkdir -p /test/second/below/there && cd /test/second/below/there &&
		dpkg-source -x /test/first/*.dsc source && cd source && umask 027 &&
		env '$options' DEB_BUILD_PROFILES=nocheck faketime -f +500d dpkg-buildpackage -us -uc" || exit 1
	cd "$packages" || exit 1
	count=0
	for file in *.deb *.dsc *.debian.tar.xz; do
		cmp "$file" "$dir/second/below/there/$file" || exit 1
		count=$((count + 1))
	done
	test "$count" -ge 7
)

other=arm64
test "$(dpkg --print-architecture)" = amd64 || other=amd64

crosses() (
	needs_debian
	last 40 "$dir/log" inside sh -c "
		mkdir /test/cross && cd /test/cross && dpkg-source -x /test/first/*.dsc source && cd source &&
		env '$options noautodbgsym' dpkg-buildpackage -us -uc -B -a$other -Pcross,nocheck" || exit 1
	cd "$dir/cross" || exit 1
	for file in *.deb; do dpkg-deb -x "$file" root || exit 1; done
	case $other in arm64) machine=AArch64 ;; *) machine=X86-64 ;; esac
	find root -type f \( -path '*/bin/ptrace-*' -o -name '*.so*' -o -name '*.node' \) >files
	test "$(wc -l <files)" -ge 15 || { cat files; exit 1; }
	while read -r file; do
		readelf -h "$file" | grep -q "Machine:.*$machine" || { echo "$file is not for $machine"; exit 1; }
	done <files
	ls ./*.deb
)

# A program of the other processor records, and reads what it has recorded.
emulates() (
	needs_debian
	test "$other" = arm64 || { echo 'only aarch64 is emulated'; exit 77; }
	command -v qemu-aarch64 >/dev/null || { echo 'no qemu-aarch64'; exit 77; }
	test -d "$dir/cross/root" || { echo 'not built'; exit 77; }
	cat >"$dir/cross/own.c" <<-'END'
		#include <stdio.h>
		#include <string.h>
		#include <trace.h>

		int main(void)
		{
			trace_id_t stream;
			trace_event_id_t greeting;
			struct posix_trace_event_info info;
			char data[64];
			size_t size;
			int is_unavailable;

			if (posix_trace_create(0, NULL, &stream) || posix_trace_eventid_open("greeting", &greeting) ||
			    posix_trace_start(stream))
				return 1;
			posix_trace_event(greeting, "hello", 5);
			while (!posix_trace_trygetnext_event(stream, &info, data, sizeof(data), &size, &is_unavailable) &&
			       !is_unavailable)
				if (posix_trace_eventid_equal(stream, info.posix_event_id, greeting))
					printf("%.*s\n", (int)size, data);
			return 0;
		}
	END
	inside sh -c 'cd /test/cross && aarch64-linux-gnu-gcc -Iroot/usr/include -o own own.c \
		root/usr/lib/aarch64-linux-gnu/libposixtrace.so' || exit 1
	qemu-aarch64 -L "$debian" -E LD_LIBRARY_PATH="$dir/cross/root/usr/lib/aarch64-linux-gnu" "$dir/cross/own" >"$dir/own"
	grep -x hello "$dir/own"
)

# The last: the packages stay installed.
own_tests() (
	needs_debian
	inside sh -c 'cd /test/first && autopkgtest --no-built-binaries *.deb *.dsc -- null' >"$dir/log" 2>&1
	exited=$?
	for test in install trace check cxx python node; do
		grep -Eq "^$test +PASS" "$dir/log" || { echo "$test has not passed"; exited=1; }
	done
	test "$exited" -eq 0 || { tail -n 60 "$dir/log"; exit 1; }
)

result 'debian/addresses writes what a packager knows' addresses
result 'packages are built from the tarball' builds
result 'they have the version of what they are made from' version
result 'debian/copyright is complete' copyright
result 'debian/watch finds the newest release' watch
result 'posixtrace holds the commands' commands
result 'libposixtrace0 holds the shared library' library
result 'libposixtrace-dev holds what compiling needs' development
result 'node-posixtrace holds the package' node
result 'python3-posixtrace holds the module' python
result 'what is unpacked works' works
result 'lintian has nothing to say' lintian
result 'they install; purged, nothing is left' purges
result 'they are the same bytes when built elsewhere' same
result "they are built for $other" crosses
result "a program for $other records" emulates
result 'their own tests pass' own_tests
echo "1..$number"
exit "$status"

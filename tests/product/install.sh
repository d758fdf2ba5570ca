#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# What `make install' installs is all that is needed, and `make uninstall' takes it away. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
prefix=$dir/prefix
staged=$dir/staged

# The make that runs this test has nothing to say to those below.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

build() {
	make -C "$PTRC_BUILD" "$@"
}

# with_prefix TARGET: whatever configure was told
with_prefix() {
	build "$1" DESTDIR= prefix="$prefix" exec_prefix="$prefix" bindir="$prefix/bin" \
		libdir="$prefix/lib" includedir="$prefix/include" \
		pkgconfigdir="$prefix/lib/pkgconfig" datarootdir="$prefix/share" \
		datadir="$prefix/share" mandir="$prefix/share/man" \
		docdir="$prefix/share/doc/posixtrace" \
		pythondir="$prefix/lib/python3/dist-packages" \
		nodedir="$prefix/lib/nodejs" \
		bashcompletiondir="$prefix/share/bash-completion/completions" \
		zshcompletiondir="$prefix/share/zsh/site-functions" \
		fishcompletiondir="$prefix/share/fish/vendor_completions.d"
}

# What the source tree holds for users, as installed.
expected() (
	cd "$PTRC_SOURCE" || exit 1
	for f in man/ptrace-*.1; do
		name=${f##*/}
		# It is left out where a library is missing.
		[ "$name" != ptrace-ship.1 ] || [ -x "$PTRC_BUILD/src/ptrace-ship" ] || continue
		echo "bin/${name%.1}"
		echo "share/bash-completion/completions/${name%.1}"
		echo "share/fish/vendor_completions.d/${name%.1}.fish"
	done
	if [ -x "$PTRC_BUILD/src/ptrace-ship" ]; then
		for f in examples/*.service; do echo "share/doc/posixtrace/$f"; done
	fi
	for f in hello controller target analyzer log-fields; do echo "share/doc/posixtrace/examples/$f.c"; done
	for f in include/*.h include/*.hpp; do
		[ "$f" = include/posixtrace-private.h ] || echo "include/${f##*/}"
	done
	for f in man/*.[1357]; do echo "share/man/man${f##*.}/${f##*/}"; done
	echo share/zsh/site-functions/_ptrace
	for f in README.md ARCHITECTURE.md NEWS docs/*.md docs/*.json docs/*.sql docs/*.png; do
		echo "share/doc/posixtrace/${f##*/}"
	done
	if grep -q '^pythondir = [$/]' "$PTRC_BUILD/Makefile"; then
		for f in __init__.py __main__.py _columns.py _record.abi3.so _record.pyi py.typed; do
			echo "lib/python3/dist-packages/posixtrace/$f"
		done
	fi
	find bindings/rust -type f | sed 's|^|share/posixtrace/|'
	if [ -e "$PTRC_BUILD/bindings/node/posixtrace/posixtrace.node" ]; then
		for f in README.md index.d.ts index.js package.json posixtrace.node spans.js subscribe.d.ts subscribe.js; do
			echo "lib/nodejs/posixtrace/$f"
		done
	fi
	echo lib/cmake/posixtrace/posixtrace-config-version.cmake
	echo lib/cmake/posixtrace/posixtrace-config.cmake
	echo lib/libposixtrace.a
	echo lib/libposixtrace.la
	echo lib/pkgconfig/posixtrace.pc
	echo lib/posixtrace/posixtrace-preload.so
)

# files DIRECTORY: all that is not a directory; the shared library's by one name
files() (
	cd "$1" || exit 1
	find . ! -type d | sed 's|^\./||; /\/libposixtrace\.so/d'
)

everything() (
	with_prefix install || exit 1
	expected | sort >"$dir/expected"
	files "$prefix" | sort >"$dir/found"
	diff "$dir/expected" "$dir/found"
)

links_lead() (
	bad=0
	cd "$prefix/share/man" || exit 1
	for page in man*/*; do
		target=$(sed -n 's/^\.so //p' "$page")
		test -r "${target:-$page}" || { echo "$page: $target"; bad=1; }
	done
	find "$prefix/share" -xtype l | grep . && bad=1
	exit "$bad"
)

# compiled NAME PKG-CONFIG-OPTION COMPILER-OPTION...: an example by what pkg-config says
compiled() {
	command -v pkg-config >/dev/null || { echo 'no pkg-config'; exit 77; }
	name=$1 option=$2
	shift 2
	flags=$(PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig pkg-config \
		--define-variable=prefix="$prefix" --define-variable=exec_prefix="$prefix" \
		--define-variable=libdir="$prefix/lib" \
		--define-variable=includedir="$prefix/include" --cflags --libs "$option" \
		posixtrace) || exit 1
	# shellcheck disable=SC2086 # lists of flags
	$CC ${PTRC_SAN_CFLAGS-} "$@" -o "$dir/$name" "$PTRC_SOURCE/examples/hello.c" $flags
}

# traced NAME: by the installed commands
traced() {
	"$prefix/bin/ptrace-run" -o "$dir/$1.log" -- "$dir/$1" || exit 1
	"$prefix/bin/ptrace-dump" --event=hello.greeting --format=text "$dir/$1.log" |
		grep '"world"'
}

shared_program() (
	test -e "$prefix/lib/libposixtrace.so" || { echo 'no shared library'; exit 77; }
	compiled shared --shared || exit 1
	export LD_LIBRARY_PATH="$prefix/lib"
	ldd "$dir/shared" | grep "$prefix/lib/libposixtrace.so.0" || exit 1
	traced shared
)

static_program() (
	test -z "${PTRC_SAN_CFLAGS-}" || { echo 'no sanitized static programs'; exit 77; }
	compiled static --static -static || { echo 'no static programs here'; exit 77; }
	traced static
)

found_by_cmake() (
	command -v cmake >/dev/null || { echo 'no cmake'; exit 77; }
	mkdir "$dir/cmake" && cp "$PTRC_SOURCE/examples/hello.c" "$dir/cmake" || exit 1
	cat >"$dir/cmake/CMakeLists.txt" <<-'END'
		cmake_minimum_required(VERSION 3.16)
		project(hello C)
		find_package(posixtrace 1.0 REQUIRED)
		add_executable(by_cmake hello.c)
		target_link_libraries(by_cmake PRIVATE posixtrace::posixtrace)
	END
	cmake -S "$dir/cmake" -B "$dir/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" \
		-DCMAKE_C_COMPILER="${CC##* }" -DCMAKE_C_FLAGS="${PTRC_SAN_CFLAGS-}" &&
		cmake --build "$dir/cmake/build" || exit 1
	cp "$dir/cmake/build/by_cmake" "$dir" || exit 1
	export LD_LIBRARY_PATH="$prefix/lib"
	traced by_cmake || exit 1
	for version in 0.2 1.99 2.0; do
		sed -i "s/(posixtrace [0-9.]*/(posixtrace $version/" "$dir/cmake/CMakeLists.txt"
		! cmake -S "$dir/cmake" -B "$dir/cmake/build" || { echo "version $version will do"; exit 1; }
	done
)

nothing_left() (
	with_prefix uninstall || exit 1
	! find "$prefix" ! -type d | grep .
)

# Below DESTDIR, and nowhere else, are the same files, under the directories of configure.
in_stage() (
	build install DESTDIR="$staged" || exit 1
	files "$staged" | sed 's|.*/||' | sort >"$dir/names"
	sed 's|.*/||' "$dir/expected" | sort | diff - "$dir/names" || exit 1
	build uninstall DESTDIR="$staged" || exit 1
	! find "$staged" ! -type d | grep .
)

result 'everything is installed' everything
result 'links of manual pages lead somewhere' links_lead
result 'program with the installed shared library is traced' shared_program
result 'program with the installed static library is traced' static_program
result 'find_package(posixtrace) finds it, if the version will do' found_by_cmake
result 'uninstalled, nothing is left' nothing_left
result 'the same below DESTDIR' in_stage
echo "1..$number"
exit "$status"

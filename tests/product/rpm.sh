#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# rpmlint reports nothing of the spec and of the packages; these are built from the tarball, hold what they
# should, and work; built later, they have the same bytes. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
top=$dir/rpm
root=$dir/root
spec=$PTRC_SOURCE/rpm/posixtrace.spec

for command in rpmbuild rpmlint rpm2cpio cpio; do
	command -v "$command" >/dev/null || skip_all "no $command"
done
# A build of packages of another kind runs these tests, too.
test -z "${DEB_HOST_ARCH-}${RPM_BUILD_ROOT-}${PTRC_SAN_CFLAGS-}" || skip_all 'once is enough'
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CXX
# A cache of the compiler may only have what was compiled in the same directory, because of what the objects say of it.
unset CCACHE_NOHASHDIR CCACHE_BASEDIR

# The package for Node is optional: without the headers it is not built here either.
node='--without node'
test ! -e "$PTRC_BUILD/bindings/node/posixtrace/posixtrace.node" || node=

# `~' of rpm, which sorts before the release, is our `-'.
version() {
	configured=$("$PTRC_SOURCE/configure" --version | sed -n '1s/.* //p')
	given=$(rpmspec -q --qf '%{version}\n' "$spec" 2>/dev/null | sort -u)
	echo "configure $configured, spec $given"
	test "$configured" = "$(echo "$given" | tr '~' -)"
}

# build TOP: builds the packages below TOP
build() {
	# Elsewhere than where rpm is at home, what must be installed has other names, and the scripts of rpm that compress
	# and strip need a shell that is not Debian's /bin/sh.
	scripts=/usr/lib/rpm
	post="bash $scripts/brp-compress /usr && bash $scripts/brp-strip /usr/bin/strip"
	post="$post && bash $scripts/brp-strip-static-archive /usr/bin/strip"
	post="$post && bash $scripts/brp-strip-comment-note /usr/bin/strip /usr/bin/objdump"
	set -- "$1" --define 'posixtrace_url https://posixtrace.example'
	test ! -e /etc/debian_version || set -- "$@" --define "__os_install_post $post"
	where=$1
	shift
	# shellcheck disable=SC2086 # no word or one
	rpmbuild "$@" -ba --nodeps --nocheck --define "_topdir $where" --define "_smp_mflags -j$(nproc)" \
		--define 'nodejs_sitelib /usr/lib/node_modules' $node \
		--define 'python3_sitearch /usr/lib64/python3/site-packages' "$spec" >"$dir/log" 2>&1 || {
		tail -n 40 "$dir/log"
		return 1
	}
}

builds() (
	mkdir -p "$top/SOURCES" || exit 1
	make -C "$PTRC_BUILD" distdir distdir="$dir/posixtrace-$configured" >"$dir/log" 2>&1 || { tail "$dir/log"; exit 1; }
	tar -C "$dir" -cJf "$top/SOURCES/posixtrace-$configured.tar.xz" "posixtrace-$configured" || exit 1
	build "$top"
)

# The filters are for both, and one that has nothing to filter is an error.
lint() (
	test -d "$top/RPMS" || { echo 'not built'; exit 77; }
	rpmlint -r "$PTRC_SOURCE/rpm/posixtrace.rpmlintrc" "$spec" "$top"/RPMS/*/*.rpm "$top"/SRPMS/*.rpm >"$dir/lint" 2>&1
	grep -q ' 0 errors, 0 warnings' "$dir/lint" || { cat "$dir/lint"; exit 1; }
)

# The second build is later, with another time zone, locale and umask. It is in the same
# directory, as rpm writes that into a source package, and the source package's checksum into the others.
same() (
	test -d "$top/RPMS" || { echo 'not built'; exit 77; }
	mv "$top" "$dir/first" && mkdir "$top" && cp -Rp "$dir/first/SOURCES" "$top" || exit 1
	umask 027
	export TZ=Asia/Tokyo LC_ALL=C CCACHE_DISABLE=1
	sleep 1
	build "$top" || exit 1
	cd "$top" || exit 1
	count=0
	for package in RPMS/*/*.rpm SRPMS/*.rpm; do
		cmp "$package" "$dir/first/$package" || exit 1
		count=$((count + 1))
	done
	test "$count" -ge 8
)

# Each file is in the package of those who need it.
contents() (
	for package in "$top"/RPMS/*/*.rpm; do
		whose=$(rpm -qp --qf '%{name}' "$package") || exit 1
		rpm -qpl "$package" | sed "s/^/$whose /"
	done >"$dir/files"
	while read -r line; do
		grep -q "^$line\$" "$dir/files" || { echo "no $line"; exit 1; }
	done <<'END'
posixtrace /usr/bin/ptrace-run
posixtrace .*/posixtrace/posixtrace-preload.so
posixtrace /usr/share/man/man1/ptrace-run.1.*
posixtrace-libs .*/libposixtrace.so.0
posixtrace-devel /usr/include/trace.h
posixtrace-devel .*/pkgconfig/posixtrace.pc
posixtrace-static .*/libposixtrace.a
rust-posixtrace-devel .*/bindings/rust/posixtrace/Cargo.toml
python3-posixtrace .*/posixtrace/__init__.py
python3-posixtrace .*/posixtrace/_record.abi3.so
END
	test -n "$node" || grep -q '^nodejs-posixtrace .*/posixtrace/posixtrace.node$' "$dir/files" || exit 1
	! grep -E '\.la$|^posixtrace-libs .*/bin/|^posixtrace-devel .*\.so\.' "$dir/files"
)

works() (
	mkdir "$root" && cd "$root" || exit 1
	for package in "$top"/RPMS/*/*.rpm; do
		rpm2cpio "$package" | cpio -idm --quiet || exit 1
	done
	so=$(echo "$root"/usr/lib*/libposixtrace.so)
	gcc -I"$root/usr/include" -o "$dir/hello" "$root/usr/share/doc/posixtrace/examples/hello.c" "$so" || exit 1
	LD_LIBRARY_PATH=${so%/*}
	export LD_LIBRARY_PATH
	"$root/usr/bin/ptrace-run" -o "$dir/hello.log" -- "$dir/hello" || exit 1
	"$root/usr/bin/ptrace-dump" --format=text "$dir/hello.log" | grep 'hello\.greeting.*"world"'
)

result 'the spec has the version of configure' version
result 'packages are built from the tarball' builds
result 'rpmlint has nothing to say of the spec and the packages' lint
result 'each file is in its package' contents
result 'what is installed works' works
result 'they are the same bytes when built later' same
echo "1..$number"
exit $status

#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# scripts/release builds what can be published: a tarball of all sources, and static commands that scripts/static
# makes with the same bytes elsewhere and that work where nothing else is. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
# shellcheck source=tests/support/clone.sh
. "$PTRC_SOURCE/tests/support/clone.sh"

test -z "${DEB_HOST_ARCH-}${RPM_BUILD_ROOT-}${PTRC_SAN_CFLAGS-}" || skip_all 'once is enough'
for library in libyaml.a libpcre2-8.a; do
	test -e "$(gcc -print-file-name=$library)" || skip_all "no $library"
done
command -v git >/dev/null || skip_all 'no git'
# The libraries of the other processor, for which only x86-64 compiles.
other=
sysroot=$PTRC_SOURCE/build/sysroot
if [ "$(uname -m)" = x86_64 ]; then
	other=aarch64-linux-gnu
	test -e "$sysroot" || skip_all 'no build/sysroot (scripts/setup --static)'
	command -v $other-gcc >/dev/null || skip_all "no $other-gcc"
fi
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CXX
# All is configured and linked anew. A cache of the compiler, if there is one, has only what has the same path in it.
unset CCACHE_NOHASHDIR CCACHE_BASEDIR
PATH=/usr/lib/ccache:$PATH
export PATH
clone=$dir/clone
files=$dir/files
root=$dir/root
other_root=$dir/other
version=$(sed -n 's/^#define POSIXTRACE_VERSION "\(.*\)"$/\1/p' "$PTRC_SOURCE/include/posixtrace.h")

commit() {
	git -C "$clone" -c user.name=n -c user.email=e commit -qam "$1"
}

builds() (
	clone_source "$clone" || exit 1
	mkdir -p "$clone/build" && ln -s "$sysroot" "$clone/build/sysroot" || exit 1
	if command -v gpg >/dev/null; then with_key "$clone" || exit 1; fi
	"$clone/scripts/release" build "$files" >"$dir/said" 2>&1
	stopped=$?
	cat "$dir/said"
	test $stopped -eq 0 || exit 1
	{
		echo SHA256SUMS
		if command -v gpg >/dev/null; then echo SHA256SUMS.asc; fi
		echo "posixtrace-$version.tar.xz"
		for processor in "$(uname -m)" ${other:+aarch64}; do echo "posixtrace-$version-linux-$processor-static.tar.xz"; done
	} | LC_ALL=C sort >"$dir/expected"
	ls "$files" | LC_ALL=C sort | diff "$dir/expected" - || exit 1
	cd "$files" && sha256sum -c SHA256SUMS || exit 1
	test "$(wc -l <SHA256SUMS)" -eq "$(ls -- *.tar.xz | wc -l)" || exit 1
	command -v gpg >/dev/null || exit 0
	gpg --batch --verify SHA256SUMS.asc SHA256SUMS
	stopped=$?
	end_keys
	exit $stopped
)

# Nothing in the repository is missing but what only git uses.
all_sources() (
	tar -tf "$files/posixtrace-$version.tar.xz" | sed "s|^posixtrace-$version/||" | sort >"$dir/found"
	git -C "$clone" ls-files | grep -vx -e .gitignore | sort >"$dir/expected"
	missing=$(comm -23 "$dir/expected" "$dir/found")
	test -z "$missing" || { echo "not in the tarball: $missing"; exit 1; }
	! tar -tvf "$files/posixtrace-$version.tar.xz" | awk '$2 != "0/0"' | grep .
)

# What differs each time must not be published.
two_tarballs() (
	printf 'dist-hook:\n\tdate +%%s.%%N >$(distdir)/now\n' >>"$clone/Makefile.am" && commit now || exit 1
	# Quicker: what one configure has found out, the next one knows.
	echo "cache_file=$dir/cache" >"$dir/site"
	CONFIG_SITE=$dir/site "$clone/scripts/release" build "$dir/differ" >"$dir/said" 2>&1
	stopped=$?
	cat "$dir/said"
	test $stopped -eq 1 && grep -q '^scripts/release: two tarballs of the same commit differ$' "$dir/said" &&
		silent ls "$dir/differ"
)

# static_of PROCESSOR
static_of() {
	echo "posixtrace-$version-linux-$1-static.tar.xz"
}

# same_elsewhere PROCESSOR [OPTION]: from another directory, and another temporary one
same_elsewhere() (
	processor=$1
	shift
	SOURCE_DATE_EPOCH=$(git -C "$clone" log --reverse --format=%ct | head -n 1)
	export SOURCE_DATE_EPOCH
	mkdir -p "$dir/tmp" || exit 1
	made=$(TMPDIR=$dir/tmp "$PTRC_SOURCE/scripts/static" "$dir/second" "$@") || exit 1
	cmp "$made" "$files/$(static_of "$processor")"
)

# contents PROCESSOR DIRECTORY
contents() (
	mkdir "$2" && tar -C "$2" --strip-components=1 -xf "$files/$(static_of "$1")" || exit 1
	test -x "$2/bin/ptrace-stop" && test -e "$2/share/man/man1/ptrace-run.1" &&
		test -e "$2/share/bash-completion/completions/ptrace-dump" && cmp "$PTRC_SOURCE/COPYING" "$2/COPYING" || exit 1
	for word in "posixtrace-$version-linux" --waits --functions --sdt --symbols --stacks=dwarf ptrace-ship; do
		grep -q -e "$word" "$2/README.md" || { echo "README.md does not have $word"; exit 1; }
	done
	for program in "$2"/bin/*; do
		readelf -h "$program" | grep -qi "machine:.*$(echo "$1" | tr _ .)" || { echo "$program: is for another"; exit 1; }
		! readelf -l "$program" | grep INTERP || { echo "$program: is not static"; exit 1; }
	done
	! find "$2" -name '*.so*' -o -name '*.a' -o -name '*.h' | grep . &&
		! grep -rlF -e "$PTRC_SOURCE" -e "$dir" "$2/bin"
)

# In a root that has only the tarball.
works_alone() (
	unshare -rm true 2>/dev/null || { echo 'no user namespaces'; exit 77; }
	mkdir -p "$root/proc" "$root/dev/shm" "$root/tmp" || exit 1
	touch "$root/dev/null"
	# shellcheck disable=SC2016 # of the inner shell
	unshare -rmpf sh -ec '
		mount -t proc none "$1/proc"
		mount --bind /dev/null "$1/dev/null"
		mount -t tmpfs none "$1/dev/shm"
		chroot "$1" /bin/ptrace-run -o /tmp/a.log -- /bin/ptrace-event job.done id=7
		chroot "$1" /bin/ptrace-dump --json --event=job.done /tmp/a.log
		chroot "$1" /bin/ptrace-stat /tmp/a.log' sh "$root" >"$dir/said" 2>&1
	stopped=$?
	cat "$dir/said"
	test $stopped -eq 0 && grep -q '"event":"job.done".*"data":{"id":7}' "$dir/said"
)

# What cannot be done says what it lacks.
lacks() (
	"$root/bin/ptrace-run" --waits -o "$dir/w.log" -- true >"$dir/said" 2>&1
	test $? -eq 125 && grep -q 'posixtrace-preload.so: is preloaded for --functions, --waits and --sdt: No such' \
		"$dir/said" || { cat "$dir/said"; exit 1; }
)

# The emulator makes no process without an exit signal, so nothing is recorded there. A log that is recorded here
# is made one of aarch64: the two copies of its prefix are, which name the machine and have no checksum.
reads_logs() (
	command -v qemu-aarch64 >/dev/null || { echo 'no qemu-aarch64'; exit 77; }
	mkdir "$dir/here" "$dir/there" || exit 1
	log=$dir/here/a.log
	"$root/bin/ptrace-run" -o "$log" -- sh -c 'for i in 1 2 3; do
		"$1/ptrace-event" job.begin id=$i; "$1/ptrace-event" job.end id=$i text=done; done' sh "$root/bin" || exit 1
	qemu-aarch64 "$other_root/bin/ptrace-dump" "$log" >"$dir/said" 2>&1
	test $? -eq 1 && grep -q 'a.log: a trace log from another kind of machine$' "$dir/said" || { cat "$dir/said"; exit 1; }
	cp "$log" "$dir/there"
	for at in 16 896; do
		printf '\267' | dd of="$dir/there/a.log" bs=1 seek=$at conv=notrunc 2>/dev/null
	done
	cat >"$dir/rules.yaml" <<-'END'
		rules:
		  - {name: every job ends, after: job.begin, expect: job.end, by: data.id}
		  - {name: jobs are fast, pair: [job.begin, job.end], by: data.id, p50: "< 1h"}
	END
	compared=0
	while read -r words; do
		# shellcheck disable=SC2086 # words
		set -- $words
		command=$1
		shift
		(cd "$dir/here" && "$root/bin/$command" "$@" a.log) </dev/null >"$dir/said" 2>&1
		here=$?
		(cd "$dir/there" && qemu-aarch64 "$other_root/bin/$command" "$@" a.log) </dev/null >"$dir/said.there" 2>&1
		there=$?
		test $here -eq 0 && test $there -eq 0 && test -s "$dir/said" && cmp "$dir/said" "$dir/said.there" || {
			echo "$words: $here and $there"
			head -n 20 "$dir/said" "$dir/said.there"
			exit 1
		}
		compared=$((compared + 1))
	done <<-END
		ptrace-dump
		ptrace-dump --json
		ptrace-dump --where=data.id==2
		ptrace-stat
		ptrace-stat --json
		ptrace-stat --pairs
		ptrace-check $dir/rules.yaml
		ptrace-export --to=chrome
		ptrace-export --to=csv
		ptrace-export --to=otlp
		ptrace-export --to=perfetto
		ptrace-events
	END
	test $compared -eq 12
)

result 'scripts/release makes tarballs, checksums and their signature' builds
result 'the tarball has all sources, and no owner' all_sources
result 'the same static commands are made from another directory' same_elsewhere "$(uname -m)"
result 'they are commands, their manual, and a list of what is missing' contents "$(uname -m)" "$root"
result 'the commands work where nothing else is' works_alone
result 'what is not in it says so' lacks
if [ -n "$other" ]; then
	result 'the same static commands of aarch64 are made from another directory' same_elsewhere aarch64 --host=$other
	result 'they are commands of aarch64, their manual, and a list of what is missing' contents aarch64 "$other_root"
	result 'the commands of aarch64 read logs, and print what those of x86-64 do' reads_logs
fi
result 'two tarballs that differ are not published' two_tarballs
echo "1..$number"
exit $status

#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# scripts/static makes the same tarball twice, and its commands work where nothing else is. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
test -z "${DEB_HOST_ARCH-}${RPM_BUILD_ROOT-}${PTRC_SAN_CFLAGS-}" || skip_all 'once is enough'
for library in libyaml.a libpcre2-8.a; do
	test -e "$(gcc -print-file-name=$library)" || skip_all "no $library"
done
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CXX
# All is compiled anew. A cache of the compiler may only have what was compiled in the same directory, because
# of what the objects say of it.
unset CCACHE_NOHASHDIR CCACHE_BASEDIR
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
root=$dir/root

makes_it() {
	made=$("$PTRC_SOURCE/scripts/static" "$dir/first") || return 1
	test -s "$made"
}

the_same() (
	other=$(TMPDIR=$dir "$PTRC_SOURCE/scripts/static" "$dir/second") || exit 1
	cmp "$made" "$other"
)

contents() (
	mkdir "$root" && tar -C "$root" --strip-components=1 -xf "$made" || exit 1
	"$root/bin/ptrace-run" --version | grep -F "$(basename "$made" | cut -d- -f 2)" || exit 1
	test -x "$root/bin/ptrace-stop" && test -e "$root/share/man/man1/ptrace-run.1" &&
		test -e "$root/share/bash-completion/completions/ptrace-dump" || exit 1
	for word in --waits --functions --sdt --symbols --stacks=dwarf ptrace-ship; do
		grep -q -e "$word" "$root/README" || { echo "README does not say that $word is not there"; exit 1; }
	done
	! find "$root" -name '*.so*' -o -name '*.a' -o -name '*.h' | grep . &&
		! grep -rlF -e "$PTRC_SOURCE" -e "$dir" "$root/bin"
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

result 'the tarball is made' makes_it
result 'made again elsewhere, it has the same bytes' the_same
result 'it has the commands, their manual, and a list of what it lacks' contents
result 'the commands work where nothing else is' works_alone
result 'what is not in it says so' lacks
echo "1..$number"
exit $status

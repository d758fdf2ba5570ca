#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# scripts/release writes a version into each place, and refuses what must not be published. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
# shellcheck source=tests/support/clone.sh
. "$PTRC_SOURCE/tests/support/clone.sh"
clone=$dir/clone
release=$clone/scripts/release
files=$dir/files
old=$(sed -n 's/^#define POSIXTRACE_VERSION "\(.*\)"$/\1/p' "$PTRC_SOURCE/include/posixtrace.h")

# refuses MESSAGE ARGUMENT...: the script exits with 1 and the message, and changes nothing
refuses() (
	message=$1
	shift
	"$release" "$@" >"$dir/said" 2>&1
	stopped=$?
	cat "$dir/said"
	test $stopped -eq 1 && grep -qF -e "scripts/release: $message" "$dir/said" && silent git -C "$clone" status --porcelain
)

first_line() {
	test "$(sed -n 1p "$clone/$1")" = "$2" || { echo "$1: $(sed -n 1p "$clone/$1")"; return 1; }
}

writes() (
	clone_source "$clone" || exit 1
	today=$(date +%Y-%m-%d)
	"$release" version 98.7.6 || exit 1
	cd "$clone" || exit 1
	# On the next day, if it has just begun.
	first_line NEWS "posixtrace 98.7.6 ($today)" || first_line NEWS "posixtrace 98.7.6 ($(date +%Y-%m-%d))" || exit 1
	for file in configure.ac include/posixtrace.h docs/conformance.md bindings/rust/*/Cargo.toml debian/changelog \
		rpm/posixtrace.spec $(grep -L '^\.so ' man/*.[1-8]); do
		grep -qF 98.7.6 "$file" || { echo "$file does not have the version"; exit 1; }
	done
	# A release may be spoken of later, a pre-release may not. A tarball has what autoconf made, too.
	case $old in
	*-*) ! git grep -nF -e "$old" -e "$(echo "$old" | tr - '~')" -- ':!configure' ':!tests/product/stored' || exit 1 ;;
	esac
	first_line debian/changelog 'posixtrace (98.7.6-1) unstable; urgency=medium' &&
		git -c user.name=n -c user.email=e commit -qam release
)

# The tools of the packages read the same.
read_by_others() (
	cd "$clone" || exit 1
	command -v dpkg-parsechangelog >/dev/null || { echo 'no dpkg-parsechangelog'; exit 77; }
	command -v rpmspec >/dev/null || { echo 'no rpmspec'; exit 77; }
	test "$(dpkg-parsechangelog -S Version)" = "$1-1" || { dpkg-parsechangelog; exit 1; }
	rpmspec -q --srpm --qf '%{version} %{changelogname}\n' rpm/posixtrace.spec 2>"$dir/said" >"$dir/read"
	cat "$dir/said" "$dir/read"
	grep -q "^$1 .*> - $1-1\$" "$dir/read"
)

# What the last version was and said is not taken for the next one.
next_version() (
	cd "$clone" || exit 1
	echo '.\" Since posixtrace 98.7.6, and libother 98.7.6.' >>man/ptrace-run.1
	git -c user.name=n -c user.email=e commit -qam remark
	"$release" version 98.8.0-dev || exit 1
	first_line NEWS 'posixtrace 98.8.0 (unreleased)' &&
		first_line debian/changelog 'posixtrace (98.8.0~dev-1) UNRELEASED; urgency=medium' || exit 1
	grep -qx 'posixtrace 98.7.6 ([-0-9]*)' NEWS && grep -q '^posixtrace (98.7.6-1) unstable;' debian/changelog &&
		grep -q '^\* .* - 98.7.6-1$' rpm/posixtrace.spec || exit 1
	tail -n 1 man/ptrace-run.1 | grep -q 'Since posixtrace 98.7.6, and libother 98.7.6' || exit 1
	git grep -lF 98.7.6 | grep -vx -e NEWS -e 'debian/.*' -e rpm/posixtrace.spec -e man/ptrace-run.1 \
		-e tests/product/release.sh && exit 1
	git -c user.name=n -c user.email=e commit -qam next
)

no_versions() {
	for word in 98.8 v98.8.0 98.08.0 98.8.0-RC 98.8.0.1 '98.8.0 beta' ''; do
		refuses "$word: no version, such as 1.0.0 or 1.1.0-dev" version "$word" || return 1
	done
	refuses 'the version is 98.8.0-dev already' version 98.8.0-dev &&
		refuses '98.7.9: is older than 98.8.0-dev, which the files have' version 98.7.9
}

# A file in which the version has no place is an error, not a file that keeps the old version.
no_place() (
	cd "$clone" || exit 1
	sed -i 's/^\(#define POSIXTRACE_\)VERSION /\1RELEASE /' include/posixtrace.h
	"$release" version 99.0.0 >"$dir/said" 2>&1
	test $? -eq 1 && grep -F 'scripts/release: include/posixtrace.h: there is no place for the version' "$dir/said"
	stopped=$?
	cat "$dir/said"
	git reset -q --hard
	exit $stopped
)

misuse() (
	for words in '' version 'version 99.0.0 b' 'build' 'publish x'; do
		# shellcheck disable=SC2086 # words
		"$release" $words >"$dir/said" 2>&1
		test $? -eq 2 && grep -q '^usage: scripts/release version' "$dir/said" || { cat "$dir/said"; exit 1; }
	done
)

nothing_built() (
	mkdir "$dir/full" && echo x >"$dir/full/file" || exit 1
	refuses "$dir/full: is not empty" build "$dir/full" || exit 1
	echo x >"$clone/not-committed"
	"$release" build "$dir/empty" 2>"$dir/said"
	stopped=$?
	rm "$clone/not-committed"
	cat "$dir/said"
	test $stopped -eq 1 && grep -q 'what is published is what is committed' "$dir/said" && silent ls "$dir/empty"
)

# What is not what was built and signed is not even unpacked.
changed() (
	archive=$files/posixtrace-98.8.0-dev.tar.xz
	mkdir "$files" || exit 1
	refuses "$archive: no such file" check "$files" || exit 1
	echo archive >"$archive"
	(cd "$files" && sha256sum ./*.tar.xz >SHA256SUMS) || exit 1
	echo changed >"$archive"
	refuses "$files: other files than were built" check "$files"
)

changed_and_summed() (
	command -v gpg >/dev/null || { echo 'no gpg'; exit 77; }
	with_key "$clone" || exit 1
	gpg --batch --quiet --armor --detach-sign --local-user maintainer@example.org "$files/SHA256SUMS" || exit 1
	(cd "$files" && sha256sum ./*.tar.xz >SHA256SUMS) || exit 1
	refuses "$files/SHA256SUMS: is not what was signed" check "$files"
	stopped=$?
	end_keys
	exit $stopped
)

result 'the version is written into every place, and the day into NEWS' writes
result 'the tools of the packages read the version' read_by_others 98.7.6
result 'the next version has headings of its own, and the last one keeps its' next_version
result 'the tools of the packages read the next version' read_by_others '98.8.0~dev'
result 'what is no version, no new one or an older one is refused' no_versions
result 'a file without a place for the version is named' no_place
result 'a wrong call is told' misuse
result 'nothing is built over other files, or from what is not committed' nothing_built
result 'files that were changed are refused' changed
result 'sums that were changed after they were signed are refused' changed_and_summed
echo "1..$number"
exit $status

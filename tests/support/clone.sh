# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # $dir is of tap.sh
# A repository of the source tree as it is, with changes that are not committed, for tests of what
# works on a repository: `. clone.sh' after tap.sh. TAP.

# clone_source DIRECTORY: made there, with one commit
clone_source() {
	command -v git >/dev/null || { echo 'no git'; return 77; }
	mkdir "$1" || return 1
	if [ -e "$PTRC_SOURCE/.git" ]; then
		(cd "$PTRC_SOURCE" && git ls-files -z --cached --others --exclude-standard |
			tar --ignore-failed-read --null -T - -cf -) | tar -C "$1" -xf - || return 1
	else
		# A tarball that was unpacked, with builds in it.
		tar -C "$PTRC_SOURCE" --exclude=./build --exclude=./_build --exclude=./_inst -cf - . | tar -C "$1" -xf - || return 1
		chmod -R u+w "$1"
	fi
	# In a tarball there is no .gitignore.
	git -C "$1" init -q && echo /build/ >>"$1/.git/info/exclude" && git -C "$1" add -A && git -C "$1" -c user.name=n -c user.email=e commit -qm 'all there is'
}

# with_key REPOSITORY: gpg has a key that signs, and the repository names it
with_key() {
	GNUPGHOME=$(mktemp -d "${TMPDIR:-/tmp}/gpg.XXXXXX") || return 1
	export GNUPGHOME
	gpg --batch --quiet --passphrase '' --quick-generate-key maintainer@example.org ed25519 sign never &&
		git -C "$1" config user.signingkey maintainer@example.org
}

end_keys() {
	gpgconf --kill all
	rm -rf "$GNUPGHOME"
}

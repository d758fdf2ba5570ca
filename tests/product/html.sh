#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# `make html' writes every page of the manual and every document, without a dead link. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
web=$dir/html

for command in mandoc cmark-gfm python3; do
	command -v "$command" >/dev/null || skip_all "no $command"
done

writes() {
	silent "$PTRC_SOURCE/scripts/html" "$web"
}

every_page() (
	for page in "$PTRC_SOURCE"/man/*.[1-8]; do
		grep -q '^\.so ' "$page" || echo "man/${page##*/}.html"
	done >"$dir/pages"
	(cd "$PTRC_SOURCE" && ls -- *.md docs/*.md | sed 's/\.md$/.html/') >>"$dir/pages"
	test "$(wc -l <"$dir/pages")" -gt 60 || exit 1
	while read -r page; do
		grep -q "href=\"$page\"" "$web/index.html" || { echo "index.html has no link to $page"; exit 1; }
	done <"$dir/pages"
)

# Links of all pages lead to files, and to places in them, that are there.
live_links() {
	python3 - "$web" <<'END'
import html, pathlib, re, sys
top = pathlib.Path(sys.argv[1]).resolve()
texts = {p: p.read_text() for p in top.rglob("*.html")}
places = {p: set(re.findall(r'<[^>]* id="([^"]*)"', text)) for p, text in texts.items()}
count = dead = 0
for page, text in texts.items():
    for link in map(html.unescape, re.findall(r'(?:href|src|action)="([^"]*)"', text)):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, fragment = link.partition("#")
        file = (page.parent / path).resolve() if path else page
        count += 1
        if top not in file.parents or not file.is_file() or fragment and fragment not in places[file]:
            dead += 1
            print(f"{page.relative_to(top)}: {link}: leads nowhere")
sys.exit(dead > 0 or count < 500)
END
}

links_of_names() {
	grep -q '<a href="../man/ptrace-run.1.html">' "$web/man/posixtrace-waits.7.html" &&
		grep -q '<a href="../man/posix_trace_attr_init.3.html">' "$web/man/trace.h.7.html" &&
		grep -q 'man/posixtrace-tutorial.7.html' "$web/README.html"
}

# The search has the words of each page, and what it runs is valid.
search() (
	sed -n '1s/^const pages = \(.*\);$/\1/p' "$web/search.js" >"$dir/search.json"
	python3 - "$dir/search.json" <<'END' || exit 1
import json, sys
pages = {page[1]: page for page in json.load(open(sys.argv[1]))}
where = pages["posixtrace-waits(7)"]
assert where[0] == "man/posixtrace-waits.7.html" and "threads" in where[2] and "pthread_join" in where[3], where
END
	command -v node >/dev/null || { echo 'no node'; exit 77; }
	sed '1,/^const pages/d' "$web/search.js" | node --check -
)

misuse() {
	"$PTRC_SOURCE/scripts/html" 2>"$dir/message"
	test $? -eq 2 && grep -q '^usage: ' "$dir/message" || exit 1
	: >"$dir/file"
	"$PTRC_SOURCE/scripts/html" "$dir/file" 2>"$dir/message"
	test $? -eq 1 && grep -q "^scripts/html: $dir/file: " "$dir/message"
}

result 'the pages are written, without a word' writes
result 'the index has a link to each page and document' every_page
result 'no link is dead' live_links
result 'names of pages are links' links_of_names
result 'the search has the words of all pages' search
result 'a wrong call and a directory that cannot be made are told' misuse
echo "1..$number"
exit $status

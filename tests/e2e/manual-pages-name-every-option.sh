#!/bin/sh
# What --man prints from the tables of options stands in each manual page.
. "$(dirname "$0")/lib"
for page in "$top"/man/flick-*.1; do
	command=${page##*/flick-}
	"$FLICK" "${command%.1}" --man >"$work/list" || fail "${command%.1} --man"
	awk -v page="$page" '
		BEGIN {
			while ((getline line <page) > 0)
				text = text line "\n"
		}
		{ item = item $0 "\n" }
		/^\.TP$/ && NR > 1 { check(substr(item, 1, length(item) - 4)); item = ".TP\n" }
		END { if (item) check(item); exit bad }
		function check(what) {
			if (!index(text, what)) {
				printf "not in it: %s", what
				bad = 1
			}
		}' "$work/list" >"$out" || fail "$page is not what --help says"
done

# What --help lists below the options (analyses, formats) has its paragraph.
for command in record report dump; do
	names=$("$FLICK" $command --help | sed -n '/^\(Analyses\|Formats\)/,/^$/s/^  \([a-z]*\) .*/\1/p')
	[ -n "$names" ] || fail "$command --help lists nothing"
	for name in $names; do
		grep -qx "\.B $name" "$top/man/flick-$command.1" ||
			fail "flick-$command(1) does not say what $name is"
	done
done

# flick(1) has what `flick --help` says of each command.
"$FLICK" --help | sed -n 's/^  flick \([a-z]*\)  *\(.*\)/\1 \2/p' | while read -r command about; do
	grep -A 1 -F "flick\\-$command (1)" "$top/man/flick.1" | grep -qxF "$about." ||
		fail "flick(1) does not say of $command: $about"
done || exit 1

#!/bin/sh
# One SVG that asks for nothing else; a browser that opens it finds, measures and
# zooms. Names that XML does not like are kept as far as they can be.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
cat >"$work/names.cc" <<'END'
#define BODY __attribute__((noinline)) static
struct text { };
template <class T> BODY void spin(T n) { for (volatile long i = 0; i < (long)n; i++) { } }
BODY bool operator<(const text &, const text &) { spin<long>(40000); return true; }
BODY void narrow() { spin<int>(20000); }
BODY void wide() { spin<long>(60000); narrow(); }
int main()
{
	text a, b;

	wide();
	for (int i = 0; i < 3; i++)
		narrow();
	return a < b ? 0 : 1;
}
END
compile "$work/names" "$work/names.cc" -O1 $sites
record -a tree -- "$work/names"
succeeded
svg=$work/flame.svg
run "$FLICK" dump --format=flame -o "$svg" "$data"
succeeded

# Nothing from elsewhere: the two names of namespaces are no addresses to fetch.
foreign=$(grep -oE '(href|src|url\(|@import|https?:)[^ >]*' "$svg" |
	grep -v 'http://www.w3.org/2000/svg\|http://www.w3.org/1999/xhtml')
[ -z "$foreign" ] || fail "it asks for" $foreign
grep -q 'operator&lt;' "$svg" || fail "a name with < is not there"
[ "$(grep -c '<g class="f"' "$svg")" -eq "$(sql "with recursive
	below(root, id) as (select id, id from tree union all
		select root, c.id from below b join tree c on c.parent = b.id)
	select count(*) from (select sum(self_ns) ns from below join tree using (id)
		group by root) where ns > 0 and ns >= (select sum(self_ns) from tree) / 20000")" ] || fail "other frames than contexts"

need chromium
browse() {	# FRAGMENT [WIDTH]
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-extensions \
		--window-size=${2:-1000},700 --hide-scrollbars \
		--user-data-dir="$work/profile" --dump-dom "file://$svg#$1" \
		>"$out" 2>"$err" || fail "chromium with #$1"
	! grep -q parsererror "$out" || fail "it is no XML"
}
# Frames by name, their width as drawn, and their marks.
frames() {
	tr '\n' ' ' <"$out" | sed 's/<g /\n<g /g' | sed -n \
		's/^<g class="\([^"]*\)".*<title>\([^ ]*\).*<rect x="\([^"]*\)".* width="\([^"]*\)".*/\1|\2|\3|\4/p'
}

browse "search=NARROW"
hits=$(frames | grep -c '^f hit|')
[ "$hits" -eq 2 ] || fail "$hits frames match, not 2"
frames | grep '^f hit|' | grep -qv '|narrow' && fail "another frame matches"
ns=$(sql "select sum(t.self_ns) + (select sum(c.self_ns) from tree c join tree p on
	p.id = c.parent join functions f on f.id = p.function where f.name like 'narrow%')
	from tree t join functions f on f.id = t.function where f.name like 'narrow%'")
all=$(sql "select sum(self_ns) from tree")
share=$(awk -v n="$ns" -v all="$all" 'BEGIN { printf "%.2f", 100 * n / all }')
grep -q ">2 matched, $share %<" "$out" || fail "not $share % matched"

browse "search=a"			# main, and what is above it: once
grep -q ' matched, 100.00 %<' "$out" || fail "frames on one another count twice"

browse "search=%5E(nar|wi)"
grep -q '>3 matched' "$out" || fail "a regular expression finds other frames"
browse "search=(("			# half of one
grep -q '>0 matched' "$out" || fail "half an expression ends the search"

browse "search=50%"			# typed by hand; the rest of the script goes on
grep -q ">0 matched, 0.00 %<" "$out" || fail "50% is not searched for"

wide=$(grep -A 1 '<g class="f"' "$svg" | grep '<g class' | grep -n '<title>wide' | cut -d: -f1)
browse "zoom=$((wide - 1))"
frames | grep '|wide' | grep -q '|10.00|980.00$' || fail "wide does not fill the width"
frames | grep -q '^f dim|main' || fail "main is not dim"
[ "$(grep -c 'display: none' "$out")" -ge 1 ] || fail "what is beside it is still there"

browse "zoom=$((wide - 1))" 1600
frames | grep '|wide' | grep -q '|10.00|1580.00$' || fail "it is not as wide as the window"

# Deep and too thin to be seen: the graph is as high as what is seen.
cat >"$work/deep.c" <<'END'
#include <time.h>
__attribute__((noinline)) static int deep(int n) { return n ? deep(n - 1) + n : 0; }
int main(void)
{
	volatile int left = deep(300);

	while (clock() < CLOCKS_PER_SEC)
		left = left;
	return 0;
}
END
compile "$work/deep" "$work/deep.c" -O1 $sites
for i in 1 2 3 4 5; do			# who loses its core down there is seen
	record -a tree -- "$work/deep"
	run "$FLICK" dump --format=flame -o "$svg" "$data"
	high=$(sed -n 's/.*<svg .* height="\([0-9]*\)".*/\1/p' "$svg")
	[ "$high" -ge 200 ] || break
done
[ "$high" -lt 200 ] || fail "$high pixels high for one frame that is seen"

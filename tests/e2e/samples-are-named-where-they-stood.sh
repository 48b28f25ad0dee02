#!/bin/sh
# Samples of the program counter are named by what lay there then: in a child, in a
# library that has taken another's place, in a new image. What the kernel does for the
# program is nobody's self time.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
target moves -O2 $sites
target steady -O2 $sites
for name in alpha gamma; do
	compile "$work/$name.so" "$targets/moves.c" -shared -fPIC -O2 $sites -DNAME=$name
done

self_ms() {	# FUNCTION
	sql "select coalesce(sum(self_ns), 0) / 1000000 from $(rows latency) where name = '$1'"
}

record --follow -- "$work/moves" "$work/alpha.so" "$work/gamma.so"
succeeded
for f in before in_child alpha gamma after; do
	ms=$(self_ms $f)
	[ "$ms" -gt 120 ] && [ "$ms" -lt 280 ] || fail "$f takes $ms ms, not 200"
done
ms=$(sql "select coalesce(sum(self_ns), 0) / 1000000 from $(rows latency)")
[ "$ms" -lt 1300 ] || fail "all take $ms ms, not a second"
ms=$(self_ms '[unknown]')
[ "$ms" -lt 100 ] || fail "$ms ms are nobody's"

cat >"$work/linked.c" <<'END'
static inline __attribute__((always_inline)) void within(void)
{
	for (volatile int i = 0; i < 1500000000; i++)
		;
}
void outer(void) { within(); }
END
compile "$work/liblinked.so.1.2" "$work/linked.c" -shared -fPIC -O1 $sites
ln -s liblinked.so.1.2 "$work/liblinked.so"
say 'void outer(void); int main(void) { outer(); return 0; }' >"$work/uses.c"
libraries="-L$work -llinked -Wl,-rpath,$work" compile "$work/uses" "$work/uses.c" -O1 $sites
label="inlined, in a file that is found by a link:"
record -- "$work/uses"
succeeded
within=$(self_ms within) outer=$(self_ms outer)
[ "$within" -gt 100 ] && [ "$outer" -lt $((within / 2)) ] ||
	fail "$label within takes $within ms, outer $outer"

# The loader finds a library by a link, the kernel says which file it is.
label="a link:"
mv "$work/alpha.so" "$work/alpha.so.1.2"
ln -s alpha.so.1.2 "$work/alpha.so"
record -- "$work/moves" "$work/alpha.so" "$work/gamma.so"
succeeded
[ "$(sql "select count(*) from $(rows latency) where name = 'alpha'")" = 1 ] ||
	fail "$label a function has two rows"
[ "$(self_ms alpha)" -gt 120 ] || fail "$label alpha takes $(self_ms alpha) ms"

label="--raw:"
record --raw -a latency --all -- "$work/steady" 1200
succeeded
n=$(sql "select count(*) from latency where self_ns % 997003 <> 0")
[ "$n" -gt 0 ] || fail "$label self times are samples"

label="without a probe:"
record -U two -- "$work/steady" 700
succeeded
[ "$(sql "select calls is null and self_ns > 0 from $(rows latency) where name = 'two'")" = 1 ] ||
	fail "$label calls are made up"
run "$FLICK" report "$data"
grep -Eq ' - .* two$' "$out" || fail "$label that is not shown"

label="a moment:"
record -- "$work/steady" 30
succeeded
grep -q '^cost: unknown' "$err" || fail "$label a cost is made up"

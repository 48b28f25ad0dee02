#!/bin/sh
# count in the manner of funccount, latency in that of funclatency: whom was asked
# for and nobody else, each with all of its calls.
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites

# The lines that the awk program $2 prints are the target's own for f*.
wanted() {	# WHAT PROGRAM
	sed -n 's/^count \(f[a-z]* [0-9]*\)$/\1/p' "$out" | sort >"$work/due"
	awk "$2" "$out" | sort | cmp -s - "$work/due" ||
		fail "$1 is not: $(tr '\n' ';' <"$work/due")"
}

run "$FLICK" count 'f*' -- "$work/recursion"
succeeded
wanted "the table" '/^FUNC  *COUNT$/ { on = 1; next } on { print $1, $2 }'

run "$FLICK" count 'f*' --wait 'g*' -- "$work/recursion"
succeeded
wanted "the table with options among patterns" \
	'/^FUNC  *COUNT$/ { on = 1; next } on && /^f/ { print $1, $2 }'

cat >"$work/some.c" <<'END'
__attribute__((noinline)) void used(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void never(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	(void)argv;
	used();
	if (argc > 5)
		never();
	return 0;
}
END
compile "$work/some" "$work/some.c" -O1 $sites
for command in count latency; do
	run "$FLICK" $command never -- "$work/some"
	succeeded
	grep -q '^flick: no function that matches was called$' "$err" ||
		fail "$command: nobody says that nothing was called: $(cat "$err")"
	run "$FLICK" $command never used -- "$work/some"
	succeeded
	! grep -q 'matches was called' "$err" || fail "$command: $(cat "$err")"
done

run "$FLICK" latency 'f*' -- "$work/recursion"
succeeded
wanted "the summary" '/^Function =/ { f = $3 } /^avg =/ { print f, $NF }'
wanted "the sum of a histogram's rows" '/^Function =/ { f = $3 } $2 == "->" { n[f] += $5 }
	END { for (f in n) print f, n[f] }'

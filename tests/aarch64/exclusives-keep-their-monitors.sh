#!/bin/sh
# AArch64: between a load-exclusive and its store-exclusive flick weaves nothing in. A function that
# is left, or begins, inside a pair, or loads a literal there that a body cannot load without the
# stack, has no body: FLE_EXCLUSIVE, and `list` shows the pair. Functions whose pairs are whole have
# theirs, with places before and behind.
# timeout: 240
. "$(dirname "$0")/lib"

cat >"$TMP/pairs.c" <<'END'
#include <stdio.h>
#define F(name, code) __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
	".cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n")

/* whole pairs: of one block, of several with two ways out, with a tail call on the way out */
F(adds, "1: ldaxr w1, [x0]\nadd w1, w1, #1\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nmov w0, w1\nret\n");
F(takes, "1: ldaxr w1, [x0]\ncbz w1, 2f\ntbz w1, #0, 3f\nsub w2, w1, #1\nstxr w3, w2, [x0]\ncbnz w3, 1b\n"
	"mov w0, w1\nret\n3: sub w2, w1, #2\nstxr w3, w2, [x0]\ncbnz w3, 1b\nmov w0, w1\nret\n"
	"2: clrex\nmov w0, #0\nret\n");
F(or_adds, "1: ldaxr w1, [x0]\ncmp w1, #1000\nb.ge adds\nadd w1, w1, #5\nstxr w2, w1, [x0]\ncbnz w2, 1b\n"
	"mov w0, w1\nret\n");
/* halves of a pair */
F(opens, "nop\nldaxr w1, [x0]\nadd w1, w1, #1\nret\n");
F(shuts, "nop\nstlxr w2, w1, [x0]\nmov w0, w2\nret\n");
/* a literal of a vector inside */
F(mixes, "1: ldaxr w1, [x0]\nldr d1, 4f\nfmov w3, s1\nadd w1, w1, w3\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nmov w0, w1\n"
	"ret\n.p2align 3\n4: .word 7, 0\n");

extern int adds(int *), takes(int *), or_adds(int *), mixes(int *);
__attribute__((noipa)) int halves(int *p)
{
	int failed;

	__asm__ volatile("1: mov x0, %1\n\tstr x30, [sp, #-16]!\n\tbl opens\n\tbl shuts\n\tldr x30, [sp], #16\n\tcbnz w0, 1b\n\tmov %w0, w0"
			 : "=r"(failed) : "r"(p) : "x0", "x1", "x2", "memory", "cc");
	return failed;
}

int main(void)
{
	int word = 7, s = 0;

	for (int i = 0; i < 100; i++)
		s += adds(&word) + takes(&word) + or_adds(&word) + mixes(&word) + halves(&word);
	printf("%d %d\n", word, s);
	return 0;
}
END

target pairs "$TMP/pairs.c"
alone=$($EMULATOR "$TMP/pairs")
flick list "$TMP/pairs" >"$TMP/list" 2>&1 || fail "list: $(cat "$TMP/list")"
# The pair's addresses, as `list` shows them.
pair()			# FUNCTION LOAD STORE
{
	aarch64-linux-gnu-objdump -d --no-show-raw-insn "$TMP/pairs" | awk -v f="<$1>:" -v a="$2" -v b="$3" '
		$2 == f { on = 1; next }
		on && NF == 0 { exit }
		on && $2 == a && !x { x = $1 }
		on && $2 == b && !y { y = $1 }
		END { sub(":", "", x); sub(":", "", y); print "0x" x ", 0x" y }'
}
refused()		# FUNCTION LOAD STORE
{
	grep -F " $1  no: it would be between" "$TMP/list" | grep -qF ": $(pair "$1" "$2" "$3")" ||
		fail "$1 is not refused with $(pair "$1" "$2" "$3"): $(grep -w "$1" "$TMP/list")"
}
refused opens ldaxr ldaxr
refused shuts stlxr stlxr
for f in adds takes or_adds; do
	grep -w "$f" "$TMP/list" | grep -q 'no:' && fail "$f is refused: $(grep -w "$f" "$TMP/list")"
done
for how in "-a counts" "--all -a latency"; do
	# shellcheck disable=SC2086
	record pairs $how
	[ "$(head -n 1 "$TMP/out")" = "$alone" ] || fail "$how: printed $(cat "$TMP/out"), alone $alone"
	for f in takes or_adds; do
		n=$(sqlite3 "$TMP/data/results.db" "select calls from ${how##* }_named where function = '$f'")
		[ "$n" = 100 ] || fail "$how: $f was called 100 times, not '$n'"
	done
	for f in opens shuts mixes; do
		n=$(sqlite3 "$TMP/data/results.db" "select calls from ${how##* }_named where function = '$f'")
		[ -z "$n" ] || fail "$how: $f has a body: $n calls"
	done
	n=$(sqlite3 "$TMP/data/results.db" "select count(*) from sites
		where refusal = -5063 and kind = 'entry'")
	[ "$n" = 3 ] || fail "$how: 3 functions are refused for their pairs, not $n"
done

# A call of a profiling function between the two is refused, and calls no more, since the way there
# accesses memory; so is a pad before a store whose load was a caller's. Others have their probes.
cat >"$TMP/between.c" <<'END'
#include <stdio.h>
#define NEVER __attribute__((noinline, no_instrument_function))
static inline __attribute__((always_inline)) int bump(int x) { return x + 1; }
__attribute__((noinline)) int outside(int x) { __asm__(""); return x * 3; }
__attribute__((noinline)) int adds(int *p)
{
	int v, failed;

	do {
		__asm__ volatile("ldaxr %w0, [%1]" : "=r"(v) : "r"(p) : "memory");
		v = bump(v);
		__asm__ volatile("stlxr %w0, %w1, [%2]" : "=&r"(failed) : "r"(v), "r"(p) : "memory");
	} while (failed);
	return v;
}
NEVER int shuts(int *p, int v);
__asm__(".text\n.globl shuts\n.type shuts, %function\nshuts: .cfi_startproc\n.Lpad: nop\nnop\n"
	"stlxr w2, w1, [x0]\nmov w0, w2\nret\n.cfi_endproc\n.size shuts, .-shuts\n"
	".section __patchable_function_entries,\"aw\"\n.p2align 3\n.quad .Lpad\n.text\n");
int main(void)
{
	int word = 0, s = 0;

	for (int i = 0; i < 100; i++)
		s += outside(i) + adds(&word) + shuts(&s, 0) * 0;
	printf("%d %d\n", word, s);
	return 0;
}
END
target between "$TMP/between.c" -finstrument-functions
alone=$($EMULATOR "$TMP/between")
flick list "$TMP/between" >"$TMP/list" 2>&1 || fail "list: $(cat "$TMP/list")"
at=$(aarch64-linux-gnu-objdump -d --no-show-raw-insn "$TMP/between" | awk '
	$2 == "<adds>:" { on = 1; next }
	on && NF == 0 { exit }
	on && $2 == "ldaxr" { x = $1 }
	on && $2 == "stlxr" { y = $1 }
	END { sub(":", "", x); sub(":", "", y); print "0x" x ", 0x" y }')
[ "$(grep -c " cyg .* no: it would be between.*: $at\$" "$TMP/list")" = 2 ] ||
	fail "two calls are not refused with $at: $(cat "$TMP/list")"
grep -q " patchable .* shuts  no: it would be between" "$TMP/list" ||
	fail "the pad is not refused: $(cat "$TMP/list")"
[ "$(grep -c 'no: ' "$TMP/list")" = 3 ] || fail "others are refused: $(cat "$TMP/list")"
for how in "-a counts" "--all -a latency"; do
	# shellcheck disable=SC2086
	record between $how
	[ "$(head -n 1 "$TMP/out")" = "$alone" ] || fail "$how: printed $(cat "$TMP/out"), alone $alone"
	for f in outside adds; do
		n=$(sqlite3 "$TMP/data/results.db" "select calls from ${how##* }_named where function = '$f'")
		[ "$n" = 100 ] || fail "$how: $f was called 100 times, not '$n'"
	done
	n=$(sqlite3 "$TMP/data/results.db" "select count(*) from ${how##* }_named where function = 'bump'")
	[ "$n" = 0 ] || fail "$how: what is between has $n rows"
done

#!/bin/sh
# AArch64: a probe at a single instruction counts how often that is come to, and leaves every register
# and flag as it was: between a comparison and its branch, at a loop's head, at a call's return, at an
# entry. Between a load-exclusive and its store-exclusive there is none (FLE_EXCLUSIVE), unless the
# pair is rewritten: by --exclusive=cas, by lse. Then threads lose nothing, and no access of flick's
# stands between two exclusives.
# timeout: 300
. "$(dirname "$0")/lib"

make_judge
cat >"$TMP/spots.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#define F(name, code) __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
	".cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n")
/* x0 times round; all flags and registers matter */
F(loops, "mov x1, #0\nmov x2, #0\nmov x16, #3\nmov x17, #5\n"
	".globl head\nhead: cmp x1, x0\n"
	".globl branch\nbranch: b.hs 2f\nadds x2, x2, x16\n"
	".globl carry\ncarry: adc x2, x2, x17\nadd x1, x1, #1\nb head\n"
	"2: mov x0, x2\nret\n");
F(adds, "1: ldaxr w1, [x0]\n.globl inside\ninside: add w1, w1, #1\n.globl store\nstore: stlxr w2, w1, [x0]\n"
	".globl behind\nbehind: cbnz w2, 1b\nret\n");
extern long loops(long);
extern void adds(int *);
static int word;
static void *work(void *p)
{
	for (int i = 0; i < 2000; i++)
		adds(&word);
	return p;
}
int main(void)
{
	pthread_t t[2];
	long s = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 100; i++)
		s += loops(i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	printf("%d %ld\n", word, s);
	return 0;
}
END
target spots "$TMP/spots.c" -mno-outline-atomics -pthread
alone=$($EMULATOR "$TMP/spots")
offset()		# LABEL
{
	aarch64-linux-gnu-nm "$TMP/spots" | sed -n "s/^0*\([0-9a-f]*\) T $1\$/0x\1/p"
}
watch()			# OPTION...: counts, under the judge
{
	rm -rf "$TMP/verdict" "$TMP/data"
	FLICK_EMULATOR="$EMULATOR -plugin $TMP/judge.so,out=$TMP/verdict,theirs=$theirs" $EMULATOR "$A64/flick" \
		record --text=kick $few -o "$TMP/data" "$@" "$TMP/spots" >"$TMP/out" 2>"$TMP/err" ||
		fail "$*: not recorded: $(cat "$TMP/err")"
	[ "$(head -n 1 "$TMP/out")" = "$alone" ] || fail "$*: printed $(cat "$TMP/out"), alone $alone"
	grep -q ' | wrong 0$' "$TMP/verdict" || fail "$*: $(cat "$TMP/verdict")"
}
met()			# LABEL TIMES
{
	n=$(sqlite3 "$TMP/data/results.db" "select coalesce(sum(calls), 0) from ${3:-counts}_named
		where function like '$4+0x%' or function = '$1'")
	echo "$1: $n"
	[ "$n" = "$2" ] || fail "$1 was met $2 times, not $n: $(flick report "$TMP/data")"
}
one()			# FUNCTION LABEL TIMES OPTION...
{
	function=$1 label=$2 times=$3
	shift 3
	watch -a counts "$@" -P "spots!$(offset "$label")"
	met "$label" "$times" counts "$function"
}
one loops head 5050
one loops branch 5050
one loops carry 4950
one adds inside 4000 --exclusive=lse
one adds store 4000 --exclusive=lse
watch -a counts --exclusive=cas -P "spots!$(offset inside)" -P "spots!$(offset store)" -P "spots!$(offset behind)"
n=$(sqlite3 "$TMP/data/results.db" "select min(calls) >= 4000 and count(*) = 3 from counts_named where function like 'adds+0x%' or function in ('inside', 'store', 'behind')")
[ "$n" = 1 ] || fail "cas: $(flick report "$TMP/data")"
watch --all -a latency -P "spots!$(offset carry)" -P main -P loops -P adds
grep -q 'cannot have' "$TMP/err" && fail "times: $(cat "$TMP/err")"
FLICK_EMULATOR=$EMULATOR $EMULATOR "$A64/flick" record --text=kick $few --why -o "$TMP/refused" -a counts \
	-P "spots!$(offset inside)" "$TMP/spots" >"$TMP/out" 2>"$TMP/err"
grep -q 'between a load-exclusive and its store-exclusive' "$TMP/out" "$TMP/err" ||
	fail "not refused: $(cat "$TMP/out" "$TMP/err")"
[ "$(grep -a "^[0-9]* [0-9]*$" "$TMP/out" | head -n 1)" = "$alone" ] || fail "refused: printed $(cat "$TMP/out")"

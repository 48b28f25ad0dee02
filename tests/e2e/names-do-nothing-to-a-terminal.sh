#!/bin/sh
# A function may have any name. Whatever flick prints of it, wherever, holds no byte
# that a terminal obeys, and says which bytes these were.
. "$(dirname "$0")/lib"
need "$CC" objcopy tr
escape=$(printf '\033')
cat >"$work/odd.c" <<'END'
__attribute__((noinline)) int red(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline, patchable_function_entry(1))) int small(int x) { return x + 2; }
int main(int argc, char **argv) { (void)argv; return red(argc) + small(argc) - 5; }
END
"$CC" -c -O1 $sites -fpatchable-function-entry=5 "$work/odd.c" -o "$work/plain.o" ||
	fail "$CC"
objcopy --redefine-sym red="$escape[31mred$escape]0;title$(printf '\a')" \
	--redefine-sym small="$escape[2J$(printf '\302\233')31m" "$work/plain.o" "$work/odd.o" ||
	skip "objcopy cannot rename it"
"$CC" "$work/odd.o" -o "$work/odd" || fail "$CC"

# PATTERN of standard output or error.
harmless() {
	if LC_ALL=C tr -d '\n\t\r' <"$out" | LC_ALL=C grep -q '[[:cntrl:]]' ||
	   LC_ALL=C tr -d '\n\t\r' <"$err" | LC_ALL=C grep -q '[[:cntrl:]]' ||
	   LC_ALL=C grep -q "$(printf '\302\233')" "$out" "$err"; then
		fail "$label a control byte"
	fi
	grep -qF "$1" "$out" "$err" || fail "$label no $1"
}

label="record:"
record --why -a latency,tree --all --trace -- "$work/odd"
[ "$status" -eq 0 ] || fail "$label exit status $status"
for format in text csv; do
	label="report --format=$format:"
	run "$FLICK" report --format=$format "$data"
	harmless '\x1b[31mred\x1b]0;title\x07'
done
label="report --format=json:"
run "$FLICK" report --format=json "$data"
harmless '\u001b[31mred\u001b]0;title\u0007'
label="dump folded:"
run "$FLICK" dump "$data"
harmless '\x1b[31mred\x1b]0:title\x07'
label="dump chrome:"
run "$FLICK" dump --format=chrome "$data"
harmless '\u001b[31mred'
label="dump flame:"
run "$FLICK" dump --format=flame "$data"
harmless '[31mred'
label="list:"
run "$FLICK" list "$work/odd"
harmless '\x1b[31mred\x1b]0;title\x07'
label="list --json:"
run "$FLICK" list --json "$work/odd"
harmless '\u001b[31mred'
label="count:"
run "$FLICK" count "*red*" -- "$work/odd"
harmless '\x1b[31mred'
label="latency:"
run "$FLICK" latency "*red*" -- "$work/odd"
harmless '\x1b[31mred'
label="a near name:"
run "$FLICK" count "$escape[31mred$escape]0;titlex" -- "$work/odd"
harmless '\x1b[31mred'
label="a program:"
run "$FLICK" record -o "$data" -- "$work/no${escape}such"
harmless 'no\x1bsuch'

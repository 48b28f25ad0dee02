#!/bin/sh
# With --follow what a program's processes load later is dear as what they begin with: ar, which
# loads a plug-in of LLVM's, has probes in the first of its processes alone.
# timeout: 240
. "$(dirname "$0")/lib"
no_emulator samples
need ar gcc

runs=5
echo 'int one(void) { return 1; }' >"$work/one.c"
gcc -c "$work/one.c" -o "$work/one.o" || skip "gcc does not compile"
LD_DEBUG=files ar rcs "$work/none.a" "$work/one.o" 2>"$work/loaded" || skip "ar fails"
grep -q libLLVM "$work/loaded" || skip "ar loads no large library"
cat >"$work/all" <<SH
for i in $(seq $runs | tr '\n' ' '); do ar rcs $work/\$i.a $work/one.o || exit 1; done
SH
record --follow -- sh "$work/all"
succeeded
for i in $(seq $runs); do
	cmp -s "$work/$i.a" "$work/none.a" || fail "another archive came of it"
done
bare=$(grep '^flick: processes without probes' "$err" | grep -o "[0-9]* of $runs of [^ ;]*ar")
[ "${bare%% *}" -gt 0 ] || fail "each ar has probes"
[ "${bare%% *}" -lt $runs ] || fail "no ar has probes"

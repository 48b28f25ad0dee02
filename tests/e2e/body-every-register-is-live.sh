#!/bin/sh
# What a caller keeps in a register over a call of a local function, as gcc's -fipa-ra lets
# it, in the red zone, or in whatever its compiler knows to be left alone, is there behind
# the call of a body.
# timeout: 300
. "$(dirname "$0")/lib"
x86_target ipa-ra
need sqlite3 objdump gcc
export TRUTH_THREADS= FLICK_BODIES=1
CC=gcc
[ "$(uname -m)" = x86_64 ] && paths="-a paths" || paths=
grep -q avx2 /proc/cpuinfo && avx=-mavx2 || avx=

check() {	# TARGET FLAGS...
	t=$1
	shift
	target $t "$@"
	for how in "-a counts" "-a latency --all" "--rate=30%" "" ${paths:+"$paths"}; do
		label="$t $* $how:"
		record $how -- "$work/$t"
		succeeded
		conserved
		case $how in
		*counts) exact ;;
		*latency*) exact latency ;;
		esac
	done
}

target ipa-ra -O2 -fipa-ra
objdump -d --no-show-raw-insn "$work/ipa-ra" >"$work/asm"
for r in rcx rdx rsi r8 r9 r10 r11; do
	grep -A1 'call .*<callee>' "$work/asm" | grep -q "cmp .*%$r\\>" ||
		fail "the compiler keeps nothing in $r over a call"
done
grep -A2 'call .*<caller>' "$work/asm" | grep -q '%r11' ||
	say "r11 is not live over a call that no asm names"
check ipa-ra -O2 -fipa-ra
check redzone -O2 -DBARE $avx
check redzone -O3 $avx
check keeper -O2

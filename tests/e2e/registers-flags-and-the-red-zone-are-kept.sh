#!/bin/sh
# timeout: 300
# redzone and keeper check every value they can; under each kind of probe.
. "$(dirname "$0")/lib"
need sqlite3
grep -q avx2 /proc/cpuinfo && avx=-mavx2 || avx=

check() {	# TARGET FLAGS...
	t=$1
	shift
	[ $t = keeper ] || [ "$(uname -m)" = x86_64 ] || return 0	# redzone is code of it
	target $t "$@"
	# A pad has no exit behind it: its calls are counted, never timed.
	timed="-a latency --all"
	case "$*" in *patchable*) timed="-a counts" ;; esac
	for how in "-a counts" "$timed" ""; do
		every 2 || continue
		label="$CC $t $* $how:"
		record $how -- "$work/$t"
		succeeded
		conserved
		[ "$how" != "-a counts" ] || exact
	done
}

pads="-fpatchable-function-entry=5"
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for level in -O0 -O2 -O3; do
		check redzone $level $sites $avx
		check keeper $level $sites
	done
	check redzone -O2 $pads -DBARE $avx
	check redzone -O3 $pads -DBARE
	check keeper -O2 $pads
done
[ "$CC" = clang ] && command -v clang >/dev/null || exit 0
xray="-fxray-instrument -fxray-instruction-threshold=1"
clang $xray -x c /dev/null -c -o /dev/null 2>/dev/null || exit 0
check redzone -O2 $xray -DBARE
check keeper -O2 $xray

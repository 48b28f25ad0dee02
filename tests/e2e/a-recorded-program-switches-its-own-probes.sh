#!/bin/sh
# A recorded program opens flick.h, three times, and counts, handles and toggles calls while
# others make them: its hits and handled calls are exact, and so is what is recorded, of what
# the recorder wants and nothing else. A library that is loaded meanwhile has probes, too. A
# child that is not recorded handles no calls; one that is handles its own.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}
libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD"

table_of() {
	case $1 in
	*counts*) say counts ;;
	*graph*) say graph ;;
	*) say latency ;;
	esac
}

check() {	# MODE OPTIONS
	label="$kind $1, $2:"
	record $2 -- "$work/beside" $1
	succeeded
	! grep -q 'own probes (flick.h)' "$err" || fail "$label the recorder tells of it"
	conserved
	case $2 in
	*"-P work"*) ;;
	*)
		exact $(table_of "$2")
		return
		;;
	esac
	sed -i '/^count other/d' "$out"		# it is not wanted
	exact counts
	[ -z "$(sql "select name from $(rows counts) where name = 'other'")" ] ||
		fail "$label what the recorder did not want is recorded"
}

forks() {	# OPTIONS OF-THE-CHILD
	label="$kind fork, $1:"
	record $1 -- "$work/beside" fork
	succeeded
	grep -qx "child $2" "$out" || fail "$label the child handled other calls"
	[ $2 -eq 0 ] || sed -i 's/ 2000$/ 2100/' "$out"
	exact $(table_of "$1")
}

kind=cyg:
target beside -O2 $sites -I"$top/include"
libraries= library self-lib -O1 $sites
for how in "-a counts" "-P work -a counts" "--all -a latency" "" "--follow" \
	"-a graph --rate=30%"; do
	check calls "$how"
done
check met "-a counts"
check met "--all -a latency"
check met ""
check "load $work/self-lib.so" "-a counts"
check "load $work/self-lib.so" "--all -a latency"
forks "-a counts" 0
forks "" 0
if ! emulated forks; then
	forks "--follow --all -a latency" 100
	forks "--follow" 100
fi

# The second image has the first one's rows, at addresses of its own.
if ! emulated programs; then
	label="$kind two images:"
	record $compilers --follow -a counts -- \
		sh -c '"$0" calls && "$0" calls && "$0" met' "$work/beside"
	succeeded
	exact
fi

if command -v clang >/dev/null; then
	kind=xray:
	CC=clang target beside -O2 -fxray-instrument -fxray-instruction-threshold=1 \
		-I"$top/include"
	for how in "-a counts" "-P work -a counts" "--all -a latency" ""; do
		check calls "$how"
	done
fi

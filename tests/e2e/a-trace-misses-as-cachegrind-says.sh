#!/bin/sh
# timeout: 180
# flick cache of the accesses that valgrind's lackey tells: each number is the one that
# valgrind's own cachegrind has for caches of that geometry, to the last one.
. "$(dirname "$0")/lib"
need valgrind "$CC"
libraries=-static target accesses -O2

# Where the program's memory lies does not depend on the tool, as its environment is the same.
valgrind_of() {	# TOOL OPTION...
	tool=$1
	shift
	run env -i valgrind --tool="$tool" "$@" "$work/accesses"
	[ "$status" -eq 0 ] || skip "valgrind cannot run a static program: $(tail -n 1 "$err")"
}
valgrind_of lackey --trace-mem=yes --log-file="$work/trace"
for kind in I. " L" " S" " M"; do
	[ "$(grep -c "^$kind" "$work/trace")" -gt 5000 ] || fail "too few accesses of kind $kind"
done

# The numbers that cachegrind's last lines begin with, of reads and writes apart.
compare() {	# I1 D1 LL
	label="$*:"
	valgrind_of cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null \
		--log-file="$work/log" --I1="$1" --D1="$2" --LL="$3"
	tr -d , <"$work/log" | awk '
		{ sub(/^==[0-9]+== /, "") }
		/^I +refs/ { instructions = $3 }
		/^I1 +misses/ { instructions = instructions " " $3 }
		/^LLi +misses/ { instructions = instructions " " $3 }
		/^D +refs/ || /^D1 +misses/ || /^LLd +misses/ {
			match($0, /\(.*\)/)
			split(substr($0, RSTART + 1, RLENGTH - 2), n, / rd *\+ */)
			reads = reads " " n[1] + 0
			writes = writes " " n[2] + 0
		}
		END { print "loads" reads; print "stores" writes; print "fetches " instructions }
	' >"$work/true"
	"$FLICK" cache --policy=independent --code="$1" --cache="$2:$3" "$work/trace" \
		>"$out" 2>"$err" || fail "$label flick cache"
	awk '$1 != "all" && NR > 1 { print $1, $2, $3, $5 }' "$out" >"$work/got"
	[ -s "$err" ] && fail "$label it complains"
	diff "$work/true" "$work/got" >"$work/diff" ||
		fail "$label cachegrind <, flick >: $(cat "$work/diff")"
}
compare 32768,8,64 32768,4,64 524288,8,64
compare 4096,1,32 2048,2,32 16384,4,32
compare 8192,2,64 1024,16,64 65536,1,64

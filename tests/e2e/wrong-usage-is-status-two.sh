#!/bin/sh
. "$(dirname "$0")/lib"

wrong() {	# PATTERN ARGS...
	pattern=$1
	shift
	label="flick $*:"
	run "$FLICK" "$@"
	[ "$status" -eq 2 ] || fail "$label status $status, not 2"
	grep -Eiq -- "$pattern" "$err" || fail "$label it does not say $pattern"
	[ ! -s "$out" ] || fail "$label errors belong on standard error"
}

wrong 'reco?rd' recrod
wrong 'nonsense' record --nonsense -- true
wrong 'program' record
wrong 'analys|counts' record -a nonsense -- true
wrong '-o' record -o
wrong 'usage|help' list
wrong 'from 1' calibrate --seconds 0
wrong 'from 1' calibrate --seconds soon
wrong 'only one of' calibrate --quick --show
wrong '--quick' calibrate --quack
wrong 'usage' calibrate now
for kib in 0 7 1048577 99999999999999999999 8K; do
	wrong '--buffer takes a number from 8 to 1048576' record --buffer $kib -- true
done
wrong '--threads takes a number from 1 to 16384' record --threads 16385 -- true
wrong '--threads takes a number from 1 to 16384' record --threads 4294967297 -- true
wrong '--sites takes a number from 1 to 67108864' record --sites 67108865 -- true
wrong '0.1% to 100%' record --rate 0 -- true
wrong '0.1% to 100%' record --rate 0.05% -- true
wrong '0.1% to 100%' record --rate 200% -- true
wrong '0.1% to 100%' record --rate x -- true
wrong '0.1% to 100%' record --rate 5%% -- true
wrong '0.1% to 100%' record --rate '' -- true
wrong '0.1% to 100%' record --rate=-1% -- true
wrong '0.1% to 100%' record --rate nan -- true
wrong 'cannot be used with --rate=5%' record --rate 5% --all -- true
wrong 'precise is for recordings that time every call' record --precise -- true
wrong 'precise is for recordings that time every call' record --precise -a counts -- true
wrong 'raw is of times' record --raw -a counts -- true
wrong 'cannot be used with --rate=5%' record --rate 5% --trace -a graph -- true
wrong 'samples in another way' record --rate 5% -K 3 -- true
wrong 'samples in another way' record --rate auto --epoch 3 -- true
wrong 'one process' record --rate 5% --follow -- true
wrong 'readers' record --rate 5% --readers 2 -- true

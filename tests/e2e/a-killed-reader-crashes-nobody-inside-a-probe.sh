#!/bin/sh
# SIGKILL of `flick record` under four threads that are in probes all the time, for
# every form of site and way of recording: the program goes on as if nothing was.
. "$(dirname "$0")/lib"
no_emulator names
need "$CC"
[ "$(uname -m)" = x86_64 ] && bodies="-a paths" || bodies="-a counts"
alias=$(aliased)

outlives() {	# FLAGS...
	target outlive "$@"
	case $* in
	*patchable*) set -- "-a counts" ${alias:+"-a counts --text=alias"} ;;
	*instrument*) set -- "" "-a counts" "-a latency --all" "-a graph --rate=50%" ;;
	*) set -- "$bodies" ;;
	esac
	for how; do
		label="$CC $compiled $how:"
		rm -rf "$data" "$out"
		"$FLICK" record $how -o "$data" -- "$work/outlive" >"$out" 2>"$err" &
		wait $!
		for i in $(seq 300); do
			grep -q '^done' "$out" && continue 2
			sleep 0.1
		done
		fail "$label it died, or hangs"
	done
}

CC=gcc
outlives -O2
outlives -O2 $sites
outlives -O2 -fpatchable-function-entry=9,7
command -v clang >/dev/null || exit 0
CC=clang
outlives -O2 -fpatchable-function-entry=9
outlives -O2 -fxray-instrument -fxray-instruction-threshold=1

#!/bin/sh
# `plt:NAME` counts calls of another module's function, of programs as they are, by module:
# exactly, however the linker made the stub and the loader binds it; of threads, of libraries
# that come and go, of children that are followed.
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
export TRUTH_THREADS=

of() {	# MODULE FUNCTION: its calls there
	sql "select coalesce(sum(t.calls), 0) from counts t join functions f on f.id = t.function
		join modules m on m.id = f.module where f.name = '$2' and m.path like '%/$1'"
}

counted() {	# OPTIONS...
	record -a counts "$@" -P 'plt:stubs!labs' -P 'plt:strlen' -- "$work/stubs" "$work/stubs-lib.so"
	succeeded
	lossless
	want=$(awk '/^child/ { child = $2 } /^count labs/ { n = $3 } END { print n + f * child }' \
		f="${follows:-0}" "$out")
	[ "$(of stubs labs@plt)" = "$want" ] ||
		fail "$label $(of stubs labs@plt) calls of labs, not $want"
	want=$(awk '/^count strlen/ { print $3 }' "$out")
	[ "$(of stubs strlen@plt)" = "$want" ] ||
		fail "$label $(of stubs strlen@plt) calls of strlen, not $want"
	[ "$(of stubs-lib.so strlen@plt)" = 300 ] ||
		fail "$label $(of stubs-lib.so strlen@plt) calls of strlen by the library"
}

library stubs-lib -O1 -fno-builtin -Wl,-z,lazy
ways() {	# FLAGS...: one way each
	for how; do
		label="$how:"
		target stubs -O1 -fno-builtin $how
		counted
	done
}
ways "-Wl,-z,lazy" "-Wl,-z,now,-z,relro" "-no-pie -Wl,-z,lazy" "-Wl,-z,norelro" "$sites"
case $(uname -m) in
x86_64)
	ways "-fcf-protection=full -Wl,-z,lazy,-z,ibtplt" ;;
aarch64)
	# Stubs with a landing pad, and of five instructions. Startup files have no pads, and
	# the loader signs nothing: on a processor that knows neither they are NOPs.
	export QEMU_CPU=cortex-a72
	ways "-mbranch-protection=standard -Wl,-z,force-bti -no-pie" "-Wl,-z,pac-plt" \
		"-mbranch-protection=standard -Wl,-z,force-bti,-z,pac-plt,-z,now -no-pie"
	unset QEMU_CPU ;;
esac
if command -v ld.lld >/dev/null; then
	label="lld:"
	target stubs -O1 -fno-builtin -fuse-ld=lld
	counted
fi

target stubs -O1 -fno-builtin
if [ -z "${EMULATED:-}" ]; then
	label="alias:"
	counted --text=alias
fi
label="--provider:"
counted --provider=plt
# A pattern that does not name stubs takes none, whatever stands beside it; where the provider is
# named it is of stubs.
label="beside all:"
run "$FLICK" count 'plt:labs' '*' -- "$work/stubs"
grep -q '^labs@plt  *[1-9]' "$out" && grep -q '^work ' "$out" || fail "$label what is asked for is not there"
! grep -v '^labs@plt\|^count ' "$out" | grep '@plt' || fail "$label stubs that nobody asked for"
record -a counts -P 'plt:labs' -U '*' -P work -- "$work/stubs"
[ "$(sql "select group_concat(name, ' ') from (select name from $(rows counts) order by name)")" = "labs@plt work" ] ||
	fail "$label -U '*' is of stubs: $(sql "select name from $(rows counts)")"
run "$FLICK" list "$work/stubs" 'plt:labs' '*'
[ "$(grep -c '@plt$' "$out")" = 1 ] || fail "$label list: $(cat "$out")"
# Of what is sampled they are counted beside it, where every call is timed they are left out.
if [ -z "${EMULATED:-}" ]; then
	label="beside what is sampled:"
	record -P 'plt:stubs!labs' -P work -- "$work/stubs"
	succeeded
	! grep 'entry probes\{0,1\} only' "$err" || fail "$label it is said that they cannot be had"
	want=$(awk '/^count labs/ { print $3 }' "$out")
	got=$(sql "select calls, coalesce(total_ns, 0) from $(rows latency) where name = 'labs@plt'")
	[ "$got" = "$want 0" ] || fail "$label labs has '$got', not $want calls and no time"
	[ "$(sql "select sampled > 0 and total_ns > 0 from $(rows latency) where name = 'work'")" = 1 ] ||
		fail "$label work is not timed"
fi
label="beside what is timed:"
record --all -P 'plt:stubs!labs' -P work -- "$work/stubs"
succeeded
grep -q '^flick: 1 function has entry probes only: calls cannot be timed; use -a counts' "$err" ||
	fail "$label it is not said"
label="--provider=plt, all:"
run "$FLICK" count --provider=plt '*' -- "$work/stubs"
grep -q '^strlen@plt ' "$out" && grep -q '^labs@plt ' "$out" || fail "$label not all stubs"
label="--follow:"
emulated forks || follows=1 counted --follow
label="bound before:"
LD_BIND_NOW=1 counted

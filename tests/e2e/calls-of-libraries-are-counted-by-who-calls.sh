#!/bin/sh
# `plt:NAME` counts calls of another module's function, of programs as they are, by module:
# exactly, however the linker made the stub and the loader binds it; of threads, of libraries
# that come and go, of children that are followed.
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
[ "$(uname -m)" = x86_64 ] || skip "stubs of this CPU have no probes"
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
for how in "-Wl,-z,lazy" "-Wl,-z,now,-z,relro" "-no-pie -Wl,-z,lazy" "-Wl,-z,norelro" \
	"-fcf-protection=full -Wl,-z,lazy,-z,ibtplt" "$sites"; do
	label="$how:"
	target stubs -O1 -fno-builtin $how
	counted
done
if command -v ld.lld >/dev/null; then
	label="lld:"
	target stubs -O1 -fno-builtin -fuse-ld=lld
	counted
fi

target stubs -O1 -fno-builtin
label="alias:"
counted --text=alias
label="--provider:"
counted --provider=plt
label="--follow:"
follows=1 counted --follow
label="bound before:"
LD_BIND_NOW=1 counted

#!/bin/sh
# The shared region is large: it is marked to stay out of core files, and the core
# file of a target that aborts is about as large as without flick.
. "$(dirname "$0")/lib"
no_emulator dontdump
need od "$CC"
target killme -O2 $sites
target crash -O2 $sites

"$FLICK" record -a latency --all -o "$data" -- "$work/killme" "$work/tally" 2 60000 \
	>"$out" 2>"$err" &
reader=$!
wait_for_calls "$work/tally" 1
pid=$(child_of $reader)
flags=$(awk '/memfd:flick/ { ours = 1 } /^VmFlags/ && ours { print; ours = 0 }' \
	"/proc/$pid/smaps")
kill -KILL "$pid"
wait $reader
say "$flags" | grep -q 'VmFlags' || fail "no shared region is mapped"
say "$flags" | grep -vq ' dd' && fail "the shared region is in core files: $flags"

core_bytes() {	# COMMAND...
	rm -f core*
	run "$@"
	set -- core*
	[ -f "$1" ] || skip "no core file is written here"
	stat -c %s "$1"
}
case $(cat /proc/sys/kernel/core_pattern) in
core | core.%p) ;;
*) skip "core files go elsewhere: the mark was tested, no file" ;;
esac
mkdir "$work/cores" && cd "$work/cores" || fail "no directory"
ulimit -c unlimited || skip "core files are not allowed"
plain=$(core_bytes "$work/crash" abort) || { say "$plain"; exit 77; }
ours=$(core_bytes "$FLICK" record -a latency --all -o "$data" -- "$work/crash" abort) ||
	{ say "$ours"; exit 77; }
[ "$ours" -lt $((plain + 8000000)) ] || fail "a core file of $ours bytes, not $plain"

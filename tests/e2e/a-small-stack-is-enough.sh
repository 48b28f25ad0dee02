#!/bin/sh
# A program whose stack, and whose threads' stacks, are as small as they may be (ulimit -s), is
# recorded from its start, and attached to, as any other. So small is the stack of the thread
# that loads libflick.so, too.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
. "$here/attach-lib"
target threads -O2 $sites

# with KIB PROGRAM	$work/small runs it, on such stacks
with() {
	printf '#!/bin/sh\nulimit -s %s && exec "%s" "$@"\n' "$1" "$work/$2" >"$work/small"
	chmod +x "$work/small"
}

program=small
for kib in 24 32 40 44 48; do
	label="$kib KiB:"
	with $kib threads
	for how in "-a counts" "-a counts,latency --all"; do
		record $how --wait "$compilers" -- "$work/small" 3 1000
		succeeded
		exact
	done
	with $kib attached
	begin 3
	for=0.1
	attach -a counts
	is_as_it_was
	attach --all
	is_as_it_was
	finish
done

label="flick's own of 64 KiB:"
run sh -c 'ulimit -s 64 && exec "$@"' sh "$FLICK" record -o "$data" --all -a counts "$compilers" -- \
	"$work/threads" 3 1000
succeeded
exact

#!/bin/sh
# A program can make its recorder keep as much as it likes: contexts, here. There is a
# limit; beyond it the recording ends in one clear line, and the program does not notice.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

most() {	# of memory that flick had, in MB: private pages
	sed -n 's/^most \([0-9]*\)$/\1/p' "$work/most"
}

watched() {	# COMMAND...: run it, and look what it keeps until it has ended
	"$@" >"$out" 2>"$err" &
	pid=$!
	max=0
	while kill -0 $pid 2>/dev/null; do
		kept=$(awk '{ print int(($2 - $3) * 4 / 1024) }' /proc/$pid/statm 2>/dev/null)
		[ "${kept:-0}" -le "$max" ] || max=$kept
		sleep 0.01
	done
	wait $pid
	status=$?
	echo "most $max" >"$work/most"
}

target contexts -O2 $sites
label="contexts:"
expected=$("$work/contexts" 19)
for readers in 1 2; do
	watched "$FLICK" record --memory 48 --readers $readers -a tree -o "$data" -- \
		"$work/contexts" 19
	[ "$status" -eq 3 ] || fail "$label status $status"
	grep -qx "$expected" "$out" || fail "$label the program says something else"
	[ "$(grep -c 'takes more than 48 MiB of memory: it ends here, the program' \
		"$err")" -eq 1 ] || fail "$label not one line"
	[ "$(most)" -lt 400 ] || fail "$label flick kept $(most) MB"
	run "$FLICK" report "$data"
	succeeded
done

# So little that the program had no probes yet: that is no fault of its.
label="next to nothing:"
run "$FLICK" record --memory 1 -o "$data.none" -- "$work/contexts" 10
one_line_error 1 'takes more than 1 MiB of memory: it ends here, the program goes on'

# Enough is no limit.
label="few contexts:"
run "$FLICK" record --memory 200 -a tree -o "$data" -- "$work/contexts" 10
succeeded
lossless


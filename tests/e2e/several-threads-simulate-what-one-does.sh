#!/bin/sh
# timeout: 120
# flick cache --readers N: the same numbers, by threads that are there.
. "$(dirname "$0")/lib"
no_emulator names
need awk

# Streams, a hot stack, and accesses across every second line.
awk 'BEGIN {
	srand(7)
	for (i = 0; i < 150000; i++) {
		if (i % 3 == 0)
			printf " %s %x,8\n", i % 2 ? "L" : "S", 140737488000000 + int(rand() * 400)
		else if (i % 3 == 1)
			printf " L %x,4\n", 1048576 + i * 4
		else
			printf " M %x,%d\n", 4194304 + int(rand() * 3000000), 1 + int(rand() * 16)
	}
}' >"$work/trace"

for more in "" "--policy=independent" "--cache=2K,2,32:3K,3,32" "--cache=64,1,64:4K,64,64"; do
	# shellcheck disable=SC2086
	"$FLICK" cache $more "$work/trace" >"$work/one" || fail "$more: one thread fails"
	for n in 2 3 16; do
		# shellcheck disable=SC2086
		"$FLICK" cache $more --readers="$n" "$work/trace" >"$work/some" ||
			fail "$more: --readers=$n fails"
		cmp "$work/one" "$work/some" || fail "$more: --readers=$n finds something else"
	done
done

# Threads of a process that waits for its input.
mkfifo "$work/fifo"
"$FLICK" cache --readers=3 "$work/fifo" >"$work/some" &
reader=$!
exec 5>"$work/fifo"
cat "$work/trace" >&5
n=$(ls "/proc/$reader/task" | wc -l)
exec 5>&-
wait "$reader" || fail "--readers=3 of a pipe fails"
[ "$n" -eq 3 ] || fail "--readers=3 has $n threads"

"$FLICK" cache --readers=0 "$work/trace" >"$out" 2>"$err"
[ $? -eq 2 ] || fail "--readers=0 is no usage error"

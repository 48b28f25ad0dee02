#!/bin/sh
# orphan.sh - what a probe costs whose reader is dead: orphan.c, which kills it.
set -eu
. "$(dirname "$0")/lib.sh"

# The pipe is closed by the last to end, which is the orphan.
"$build/flick" record -a latency --all -o "$scratch/flick.data" \
	-- "$out/orphan" ${json:+--json} 2>"$scratch/log" | cat >"$scratch/lines"
if grep -q invoke.orphan "$scratch/lines"; then
	grep invoke.orphan "$scratch/lines"
else
	for name in invoke.orphan invoke.orphan.unnamed; do
		skip $name "flick: $(last_line "$scratch/log")"
	done
fi

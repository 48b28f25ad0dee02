#!/bin/sh
# record --trigger: a call that took longer writes what came in the last moments, and who
# called; nothing older, and nothing when no call took so long. The program goes on.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
target flight -O1 $sites
fly() {
	rm -rf "$data"
	run "$FLICK" record --exit-code -o "$data" --provider=cyg "$@" "$work/flight"
}

replay() {
	"$FLICK" replay --no-pager "$data" >"$work/calls" 2>"$err" || fail "$label replay"
}

label="it fires:"
fly --trigger 'slow>5ms' --last 100ms
succeeded
grep -q '^late 3000000$' "$out" || fail "$label the program did not go on"
grep -q 'slow took [0-9.]* ms, and what came before is kept' "$err" || fail "$label it is not said"
replay
! grep -q 'early' "$work/calls" || fail "$label what is older than asked for is there"
for line in '| main() {' '|   request() {' '|     slow();' '|     work();' 'request \*/'; do
	grep -q "$line" "$work/calls" || fail "$label the trace has no: $line"
done
[ "$(grep -c 'slow();' "$work/calls")" = 1 ] || fail "$label slow was called once"
"$FLICK" dump --format=folded "$data" 2>"$err" | grep -q '^main;request;slow ' ||
	fail "$label who called slow?"
[ "$(sql "select count(*) from results where name = 'trigger'")" = 0 ] || fail "$label a table"

label="any of a pattern:"
fly --trigger '*l?w>5000us'
succeeded
grep -q 'slow took' "$err" || fail "$label it is not said"
replay
grep -q '|     early();' "$work/calls" || fail "$label of two seconds all is there"

# A call of `work` takes some nanoseconds; under a microsecond, or some if it was held up.
label="a short one:"
fly --trigger 'work>1ns'
succeeded
grep -Eq 'work took ([0-9]{1,3}\.[0-9]{3} us|[0-9.]+ ms), and what came before is kept' "$err" ||
	fail "$label it is not said"
! grep -q 'took 0[.]0* ms' "$err" || fail "$label of no time"

label="it does not:"
fly --trigger 'slow>60s'
succeeded
grep -q 'no call of slow took longer' "$err" || fail "$label it is not said"
[ ! -e "$data/trace.zst" ] || fail "$label there is a trace"
[ -e "$data/results.db" ] || fail "$label there are no results"

# A function that cannot fire is a mistake before the program runs; who waits for it in vain is
# told so, has what was recorded, and status 1.
label="no such function:"
for options in "" "-U slow"; do
	fly --trigger 'slwo>1ms' $options
	one_line_error 1 'no function that is recorded is called `slwo`, as --trigger has it'
	[ ! -s "$out" ] || fail "$label it has run"
done
fly --trigger 'slwo>1ms'
grep -q 'did you mean `slow`' "$err" || fail "$label it does not say which"
label="one that is not recorded:"
fly --trigger 'slow>1ms' -U slow
one_line_error 1 'no function that is recorded is called `slow`, as --trigger has it'
[ ! -s "$out" ] || fail "$label it has run"
for options in "--wait --trigger slwo>1ms" "--trigger libnone.so*!slow>1ms"; do
	label="$options:"
	fly $options
	succeeded 1
	head -1 "$err" | grep -q 'slw\?ow\?` yet, as --trigger' || fail "$label it is not said at first"
	grep -q '^flick: no function .*, as --trigger has it.*: there is no trace$' "$err" ||
		fail "$label it is not said"
	[ -e "$data/results.db" ] || fail "$label there are no results"
done
label="a refused one:"
target asks -O1
rm -rf "$data"
run "$FLICK" record -o "$data" --trigger 'asks>1ms' "$work/asks"
one_line_error 1 '`asks`, as --trigger has it, cannot be timed: it calls dlopen'
run "$FLICK" record --wait -o "$data" --trigger 'asks>1ms' "$work/asks"
succeeded 1
grep -q '`asks`, as --trigger has it, cannot be timed: .*: there is no trace$' "$err" ||
	fail "$label it is not said"

if ! emulated ptrace; then
	label="a program that runs already:"
	target lively -O1 $sites
	"$work/lively" >/dev/null 2>&1 </dev/null &
	pid=$!
	trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT
	rm -rf "$data"
	run "$FLICK" record -p $pid -o "$data" --trigger 'rest>100us' --last 1s
	succeeded
	grep -q 'rest took' "$err" || fail "$label it is not said"
	kill -0 $pid || fail "$label it does not go on"
	replay
	grep -q 'rest();' "$work/calls" || fail "$label the call is not there"
	kill $pid
fi

label="mistakes:"
for words in "--trigger slow" "--trigger slow>" "--trigger >5ms" "--trigger slow>0ms" \
	"--trigger slow>5parsec" "--trigger slow>5" "--trigger slow>99999999999999s" \
	"--trigger slow>1s --last 2" "--last 2s" "--trigger slow>1s --last soon" \
	"--trigger slow>1s --follow" "--trigger slow>1s --rate=5%" \
	"--trigger slow>1s --readers=2" "--trigger slow>1s -K 5"; do
	run "$FLICK" record -o "$data" $words "$work/flight"
	one_line_error 2 'trigger|last|readers|sampling'
done

#!/bin/sh
# --follow: the recording lasts as long as anybody of the family; a signal and
# --duration end it all the same, and what stays behind has its probes off.
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 pgrep "$CC"
target family -O2 $sites

# Nothing stays behind for good.
end_daemon() {
	pid=$(daemon 2>/dev/null)
	case $(readlink "/proc/${pid:-0}/exe") in
	"$work"/*) kill -KILL "$pid" ;;
	esac
}
trap 'end_daemon; rm -rf "$work"' EXIT

# The process that stays, by the line it wrote first.
daemon() {
	sed -n 's/^pid //p' "$out" | head -n 1
}

is_left_alone() {
	pid=$(daemon)
	kill -0 "$pid" 2>/dev/null || fail "$label the daemon is dead"
	for i in $(seq 50); do
		n=$(ls "/proc/$pid/task" | wc -l)
		[ "$n" -gt 1 ] || break
		sleep 0.1
	done
	kill -KILL "$pid"
	[ "$n" -eq 1 ] || fail "$label flick's thread is still in it"
	status=$1
	succeeded
	exact
	lossless
}

label="a daemon that ends:"
record -f -a counts -- "$work/family" daemon 200
succeeded
exact
lossless

label="--duration:"
record -f -d 1 -a counts -- "$work/family" stay
is_left_alone $status

for text in mprotect alias; do
	label="a signal, $text:"
	rm -rf "$data" "$err" "$out"
	"$FLICK" record -f --text=$text -a counts -o "$data" -- "$work/family" stay \
		>"$out" 2>"$err" &
	reader=$!
	for i in $(seq 100); do
		grep -q 'has ended; recording' "$err" && break
		sleep 0.1
	done
	kill -TERM $reader		# a job's SIGINT is ignored by sh
	wait $reader
	is_left_alone $?
	grep -q 'has ended; recording' "$err" || fail "$label it does not say why it waits"
done

label="the first one's status:"
record -f --exit-code -- sh -c "$work/family plain; exit 7"
succeeded 7

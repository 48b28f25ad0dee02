#!/bin/sh
# life.sh - programs live under a recorder that is killed, stopped and let go on, and
# do not notice.
#
#	providers, options, ways to write and to synchronise in random order;
#	FLICK_SEED=N for the same order again, FLICK_TORTURE=long for many more
#
#	life: N runs, N killed, N stopped | wrong 0 died 0 hung 0 slow 0
#
# Each program prints what it computed, and what is left of its masks, handlers and
# descriptors (tests/targets/life.c): the same, with and without. What stands right
# of the bar must be zero.
#
# timeout: 900
# alone
. "$(dirname "$0")/../e2e/lib"
need "$CC" clang od

seed=${FLICK_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
say "seed $seed (FLICK_SEED=$seed makes the same order again)"
runs=12
[ "${FLICK_TORTURE:-}" != long ] || runs=240

any() {	# LIMIT
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	picked=$((seed / 65536 % $1))
}

choose() {	# WORDS..., one of which is $choice
	any $#
	shift $picked
	choice=$1
}

build_all() {
	for kind in cyg clang xray patchable; do
		case $kind in
		cyg) cc=$CC flags=-finstrument-functions ;;
		clang) cc=clang flags=-finstrument-functions ;;
		xray) cc=clang flags="-fxray-instrument -fxray-instruction-threshold=1" ;;
		patchable) cc=$CC flags=-fpatchable-function-entry=16 ;;
		esac
		mkdir "$work/$kind"
		"$cc" -w -O2 $flags "$targets/life.c" -o "$work/$kind/life" -pthread -ldl &&
		"$cc" -w -O2 $flags -shared -fPIC "$targets/life-lib.c" \
			-o "$work/$kind/lib.so" || fail "$kind does not build"
	done
}

# Until the target has said its last word; empty $ended: it hangs. Before its exec it
# is the reader's child, with the reader's arguments.
await_end() {
	ended=
	for i in $(seq 300); do
		if grep -q '^done$' "$out"; then
			ended=well
			return
		fi
		pgrep -f "$work/$kind/life" >/dev/null || break
		sleep 0.1
	done
	grep -q '^done$' "$out" && ended=well && return
	pgrep -f "$work/$kind/life" >/dev/null || ended=died
}

# What becomes of the reader meanwhile. Before it has a child, no target notices.
meddle() {	# kill stop leave
	until pgrep -P $reader >/dev/null || ! kill -0 $reader; do
		sleep 0.002
	done
	case $1 in
	kill)
		any 40
		sleep 0.0$((picked / 10))$((picked % 10))
		kill -KILL $reader 2>/dev/null && killed=$((killed + 1)) ;;
	stop)
		for i in 1 2 3; do
			kill -STOP $reader 2>/dev/null || break
			sleep 0.05
			kill -CONT $reader
			stopped=$((stopped + 1))
		done ;;
	esac
}

one_run() {
	choose cyg clang xray patchable
	kind=$choice
	choose mprotect alias
	text=$choice
	choose membarrier signal membarrier
	sync=$choice
	case $kind in
	patchable) options="-a counts" ;;
	*)
		choose "" "-a counts" "-a latency --all" "--rate=20%" "-K 3 --epoch 2" \
			"-f -a counts" "-f -a latency --all"
		options=$choice ;;
	esac
	choose kill stop leave kill
	meddling=$choice
	any 1000000
	its_seed=$picked
	label="$kind $options --text=$text --sync=$sync, $meddling, seed $its_seed:"
	# In the background, too: a shell lets such ignore SIGINT and SIGQUIT.
	"$work/$kind/life" $its_seed "$work/$kind/lib.so" >"$work/plain" &
	wait $!
	: >"$out"
	LIFE_SPEED=1 "$FLICK" record $options --text=$text --sync=$sync -o "$data" -- \
		"$work/$kind/life" $its_seed "$work/$kind/lib.so" >"$out" 2>"$err" &
	reader=$!
	meddle $meddling
	wait $reader 2>/dev/null
	await_end
	runs_done=$((runs_done + 1))
	judge
}

judge() {
	case $ended in
	'')
		hung=$((hung + 1))
		say "$label hangs"
		pkill -KILL -f "^$work/$kind/life" ;;
	died)
		died=$((died + 1))
		say "$label died"
		tail -n 3 "$err" ;;
	*)
		if grep -q '^slow' "$out" && [ $meddling = kill ]; then
			slow=$((slow + 1))
			say "$label $(grep '^slow' "$out")"
		fi
		grep -v '^slow' "$out" | cmp -s - "$work/plain" && return
		wrong=$((wrong + 1))
		say "$label $(grep -v '^slow' "$out" | diff "$work/plain" -)" ;;
	esac
}

runs_done=0 killed=0 stopped=0 wrong=0 died=0 hung=0 slow=0
build_all
while [ $runs_done -lt $runs ]; do
	one_run
done
say "life: $runs_done runs, $killed killed, $stopped stopped | wrong $wrong died $died" \
	"hung $hung slow $slow"
[ $((wrong + died + hung + slow)) -eq 0 ]

#!/bin/sh
# lttng.sh DIR COMMAND ARGS - run a command under LTTng-UST's function tracing.
#
# The session daemon is private: for root, whose daemon would use the machine's
# /run/lttng, in namespaces of its own, which also end it; for anybody else
# under $LTTNG_HOME. The trace goes to DIR/trace. Blocking mode: the target
# waits where a buffer is full, nothing is discarded. One event kind each for
# entry and exit, with LTTng's own time stamp.
set -eu

dir=$1
shift

if [ "$(id -u)" = 0 ] && [ "${LTTNG_PRIVATE-}" != 1 ]; then
	export LTTNG_PRIVATE=1
	exec unshare --mount --pid --fork --kill-child --mount-proc \
		sh "$0" "$dir" "$@"
fi

if [ "${LTTNG_PRIVATE-}" = 1 ]; then
	mount -t tmpfs tmpfs /run
	mount -t tmpfs tmpfs /dev/shm
fi
mkdir -p "$dir"
export LTTNG_HOME="$dir"
pidfile=$dir/sessiond.pid
library=$(find /usr/lib /usr/local/lib \
	-name liblttng-ust-cyg-profile-fast.so 2>/dev/null | head -n 1)

stop_daemon() {
	kill "$(cat "$pidfile")" 2>/dev/null || true
}

{
	lttng-sessiond --no-kernel --daemonize \
		--pidfile="$pidfile"
	trap stop_daemon EXIT
	lttng create bench --output="$dir/trace"
	lttng enable-channel --userspace --blocking-timeout=inf \
		--subbuf-size=1M --num-subbuf=8 calls
	lttng enable-event --userspace --channel=calls \
		'lttng_ust_cyg_profile_fast:*'
	lttng start
} >"$dir/log" 2>&1
LTTNG_UST_ALLOW_BLOCKING=1 LTTNG_UST_REGISTER_TIMEOUT=-1 \
	LD_PRELOAD="$library" "$@"
{
	lttng stop
	lttng destroy
} >>"$dir/log" 2>&1
! grep -i 'discarded\|lost' "$dir/log"

#!/bin/sh
# Who cannot be attached to is told in one line, with what to do, and runs on: a static
# program, one in another mount or user namespace, one that is stopped, one that is not there.
# Where the system lets nobody make a namespace, that is left out.
. "$(dirname "$0")/lib"
need "$CC" unshare
cat >"$work/waits.c" <<'END'
#include <unistd.h>
int main(void)
{
	for (;;)
		pause();
}
END
compile "$work/waits" "$work/waits.c" -O1
compile "$work/static" "$work/waits.c" -O1 -static

refused() {	# PID SENTENCE
	run "$FLICK" record -p "$1" -d 0.1 -o "$data"
	[ $status -eq 1 ] || fail "$2: status $status"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$2: more than a line: $(cat "$err")"
	grep -q -e "$2" "$err" || fail "$2: $(cat "$err")"
	[ ! -e "$data" ] || fail "$2: results of nothing are kept"
}

# Once it runs the program, whatever began it.
begin() {	# PROGRAM COMMAND...
	want=$1
	shift
	"$@" &
	pid=$!
	for i in $(seq 200); do
		[ "$(readlink /proc/$pid/exe)" = "$want" ] && return 0
		[ -e /proc/$pid/exe ] || break
		sleep 0.01
	done
	wait $pid 2>/dev/null
	return 1
}

end() {
	kill -KILL $pid
	wait $pid 2>/dev/null
}

runs_on() {
	case $(awk '{ print $3 }' /proc/$pid/stat) in
	[SR]) ;;
	*) fail "$1: it does not run on" ;;
	esac
}

begin "$work/static" "$work/static" || fail "the static one does not run"
refused $pid 'linked statically'
runs_on static
end
begin "$work/waits" unshare -m "$work/waits" && {
	refused $pid 'another mount namespace'
	runs_on mount
	end
}
begin "$work/waits" unshare -U "$work/waits" && {
	refused $pid 'another user namespace'
	runs_on user
	end
}
begin "$work/waits" "$work/waits" || fail "it does not run"
kill -STOP $pid
while [ "$(awk '{ print $3 }' /proc/$pid/stat)" != T ]; do :; done
refused $pid 'is stopped'
kill -CONT $pid
runs_on stopped
end
refused $pid 'there is no process'

#!/bin/sh
# A library that was unloaded and is loaded again, unchanged, is not read, nobody is asked where
# it lies, and it does not wait for the recorder: a dlopen() and a dlclose() of it take some 45
# system calls of flick's. Where it has no build id its code is read, and no more.
. "$(dirname "$0")/lib"
need sqlite3 strace "$CC"
target by-turns -O2
by_turns_lib() {	# NAME OPTION...
	to=$1
	shift
	library by-turns-lib -O2 -DTURN=1 "$@"
	mv "$work/by-turns-lib.so" "$work/$to.so"
}
by_turns_lib bodies -Wl,--build-id
by_turns_lib nameless -Wl,--build-id=none
by_turns_lib sites -Wl,--build-id $sites

# asked_for LIBRARY N FILE: what is asked for while the library is loaded so many times
asked_for() {
	rm -rf "$data"
	run strace -f -o "$work/trace" "$FLICK" record --wait -a counts -o "$data" -- \
		"$work/by-turns" "$2" "$work/$1.so"
	succeeded
	[ "$(sql "select sum(calls) from counts_named where function = 'turn'")" = "$2" ] ||
		fail "$label not all calls"
	process=$(awk '/execve\("[^"]*by-turns"/ { at = $1 } END { print at }' "$work/trace")
	grep "^$process " "$work/trace" | grep -v " resumed>" >"$3"
}

# a_load WHAT MOST: a load takes so many of these at most, in tenths
a_load() {
	few=$(grep -c "$1" "$work/few")
	many=$(grep -c "$1" "$work/many")
	[ $(((many - few) / 10)) -le "$2" ] ||
		fail "$label $few of $1 for 100 loads, $many for 200"
}

# Twice: for its sites, and for its bodies.
read_once() {
	n=$(grep -c "/$library\.so\", O_RDONLY|O_NONBLOCK" "$work/few")
	[ "$n" -le 2 ] || fail "$label read $n times"
}

for library in bodies nameless sites; do
	label="$library:"
	[ $library = nameless ] && maps=95 || maps=75	# fifty are the loader's
	asked_for $library 100 "$work/few"
	asked_for $library 200 "$work/many"
	a_load /proc/self/maps 1
	a_load rt_sigprocmask 360		# an unloading takes ten
	a_load futex 5
	[ $library = nameless ] || read_once
	a_load "m*map(" $maps
	a_load . 650				# 150 are the loader's
done

#!/bin/sh
# Bodies in a process that forks, in its children (--follow), in another image, in libraries
# that are loaded and unloaded while others call.
# timeout: 400
. "$(dirname "$0")/lib"
no_emulator wiped
need sqlite3 "$CC"
export TRUTH_THREADS= FLICK_BODIES=1

target fork -O2
for how in "-a counts" "-a latency --all"; do
	label="fork $how:"
	record $how -- "$work/fork"
	succeeded
	[ "$how" = "-a counts" ] && exact || exact latency
	lossless
done

target family -O2
library family-lib -O2
for text in mprotect alias; do
	for case in fork nested exec vfork server load killed busy; do
		label="family $case $text:"
		record --follow -a counts --text=$text -- "$work/family" $case 5
		succeeded
		exact
		lossless
	done
done

target dlopen -O2
library dlopen-lib -O2
for text in mprotect alias; do
	for how in "-a counts" "-a latency --all"; do
		label="dlopen $text $how:"
		record $how --text=$text -- "$work/dlopen" "$work/dlopen-lib.so" 100
		succeeded
		sed -i '/^count main/d' "$out"	# calls dlopen(), which asks who does
		[ "$how" = "-a counts" ] && exact || exact latency
		lossless
		n=$(sql "select count(*) from sites s join functions f on f.id = s.function
			where f.name like 'lib%' and s.refusal")
		[ "$n" -eq 0 ] || fail "$label $n places are refused when the library is back"
	done
done

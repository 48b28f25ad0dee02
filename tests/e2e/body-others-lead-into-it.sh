#!/bin/sh
# A function that others come to behind its first instruction has a body as any other has:
# those that come by its entry are counted, the others find what they come to. While threads
# run through both its jumps come and go.
# timeout: 300
. "$(dirname "$0")/lib"
x86_target led
need sqlite3
. "$here/attach-lib"
export TRUTH_THREADS= FLICK_BODIES=1

libraries=-lgcc_s
target led -O2
libraries=
for how in "-a counts" "-a latency --all" "-a tree"; do
	label="$how:"
	record $how -- "$work/led" 500
	succeeded
	told=$(grep '^jump' "$out" | tr '\n' ' ')
	[ "$told" = "jump 1 found 1 jump 1 found 1 jump 0 found 0 " ] || fail "$label $told"
	case $how in
	*counts) exact ;;
	*latency*) exact latency ;;
	*) exact tree ;;
	esac
	lossless
done
label="-a paths:"
record -a paths -- "$work/led" 500
succeeded
lossless
for f in led led_far led_page led_pad; do
	n=$(sql "select sum(calls) from $(rows paths) where name = '$f'")
	[ "$n" = 500 ] || fail "$label $n of $f"
done

# What comes to the middle of the NOPs finds it.
label="list:"
run "$FLICK" list "$work/led"
grep -q ' led_refused  no: code elsewhere leads into its first bytes' "$out" || fail "$label"
for f in led led_far led_page led_pad led_by leads leads_refused; do
	grep -q "entry+1 .* $f\$" "$out" || fail "$label $f"
done

# The jump of a function, and what leads to it, come and go under threads.
program=led
for ways in "mprotect membarrier" "alias signal"; do
	text=${ways% *} sync=${ways#* }
	label="$text $sync:"
	begin
	export FLICK_TEXT=$text FLICK_SYNC=$sync
	for how in "-a counts" "" "-a latency --all" "-a counts -P led" "-a counts"; do
		attach $how
		is_as_it_was
	done
	unset FLICK_TEXT FLICK_SYNC
	n=$(sql "select count(*) from $(rows counts) where name like 'led%' and calls > 100")
	[ "$n" = 5 ] || fail "$label $n functions have calls"
	finish
done

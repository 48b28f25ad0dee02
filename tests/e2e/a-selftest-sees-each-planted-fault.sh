#!/bin/sh
# A flick with a fault planted in src/patch or src/arch fails its own selftest,
# and the fault shows in the column where it belongs.
#
# timeout: 300
. "$(dirname "$0")/lib"
no_emulator calibrate
need "$CC"
archive=$BUILD/tested.a
[ -f "$archive" ] || skip "tested.a is not built"
libs=$(sed -n 's/^READER_LIBS *=//p' "$top/config.mk")

# A plant is an edit of a source; one that edits nothing has to be mended.
plant() {	# COLUMN TEST SOURCE EDIT
	every 2 || return 0
	column=$1 test=$2 source=$top/src/$3
	sed "$4" "$source" >"$work/plant.c"
	! cmp -s "$source" "$work/plant.c" || fail "$3 has no place for the plant $4"
	"$CC" -std=gnu11 -D_GNU_SOURCE -O2 -w -fPIC -mgeneral-regs-only -I"$top/src" \
		-I"$top/include" -I"$(dirname "$source")" -o "$work/planted" \
		"$BUILD/reader/cli/main.o" "$work/plant.c" "$archive" $libs \
		-lm -lpthread -ldl 2>"$err" || fail "$3 with the plant $4"
	for seconds in 1 2 4 8 16 32 0; do
		[ $seconds -gt 0 ] || fail "$3: $4: nothing $column"
		run "$work/planted" selftest --test "$test" --seconds $seconds
		grep "^$test .*| .*$column [1-9]" "$out" && break
	done
	succeeded 1
	grep -q '^switching does NOT work' "$out" || fail "$3: $4: no verdict"
}

plant stray sync patch/sync.c 's/^\tfl_sync->all_cores();//'
plant torn word arch/x86_64/flip.c \
	's/^\tif (n == 2)$/fl_arch_store_bytes(at, bytes, n); return; &/'
plant torn wide patch/commit.c 's/^\telse if (m->park_bytes)$/\telse if (0)/'
plant lost wide arch/x86_64/moves.c 's/(s->may_pass ? s->n : 0)/s->n/'
plant lost contest patch/public.c \
	's/if (!take_turn(l, REST, round))/if (!take_turn(l, REST, round) \&\& 0)/'
plant lost async patch/public.c \
	's/return fl_set_stored(&l->set) ? 0 : -EAGAIN;/return 0;/'
plant lost fork patch/fork.c 's/fl_os_at_fork(before_fork, in_parent, in_child)/true/'
plant lost body arch/x86_64/flip.c 's/store_relaxed((uint8_t \*)at, \*bytes)/store_relaxed((uint8_t *)at, 0xf4)/'

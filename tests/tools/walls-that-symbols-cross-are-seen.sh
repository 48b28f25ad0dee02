#!/bin/sh
# What no include shows, objects do: a symbol of another folder that is not in its
# door, or whose door may not be opened; and a door that is too wide, or shows what
# only its own folder calls.
check="$ROOT/tools/check-doors . made"
. "$ROOT/tests/tools/tree.inc"

# Compile the tree as the Makefile does; a file that has gone leaves its object.
make_objects()
{
	for f in $(find src -name '*.[cS]'); do
		o=made/guest/${f#src/}
		mkdir -p "$(dirname "$o")"
		$CC -Isrc -c -o "${o%.[cS]}.o" "$f" || exit 1
	done
}

: | put tools/limits
put src/probe/probe.h <<'END'
#include "channel/channel.h"
int fl_probe_hit(int id);
static inline int fl_probe_twice(int id) { return fl_inner(id) + fl_inner(id); }
int fl_inner(int);
END
put src/probe/probe.c <<'END'
#include "probe/probe.h"
int fl_inner(int id) { return id; }
int fl_private(int id) { return id; }
int fl_probe_hit(int id) { return id + (fl_shown != 0); }
END
put src/channel/channel.h <<'END'
extern int fl_shown;
END
echo 'int fl_shown;' | put src/channel/data.c
put src/agent/agent.c <<'END'
#include "probe/probe.h"
int main(void) { return fl_probe_hit(1) + fl_probe_twice(1); }
END
make_objects
clean "what doors show, and what is inline in them"

put src/agent/side.c <<'END'
int fl_private(int);
int fl_side(void) { return fl_private(0); }
END
make_objects
sees 'src/agent/side refers to fl_private of probe, not in its door' "a declaration of one's own"
echo 'wall agent 1 for now' >tools/limits
clean "what tools/limits lets be"
: >tools/limits
put src/agent/side.c <<'END'
int fl_private(int);
int (*const fl_side)(int) = fl_private;
END
make_objects
sees 'src/agent/side refers to fl_private of probe, not in its door' "a pointer to a function"
rm src/agent/side.c
clean "an object whose source has gone"

printf '\t.globl fl_low\nfl_low:\n\tjmp fl_probe_hit\n\t.section .note.GNU-stack, ""\n' |
	put src/arch/low.S
make_objects
sees 'src/arch/low refers to fl_probe_hit of probe, whose door it may not open' "assembly"
rm src/arch/low.S

echo 'int fl_private(int);' >>src/probe/probe.h
sees 'only probe refers to fl_private(), which is in its door' "a door that shows its own"
sed -i '$d' src/probe/probe.h

for i in 1 2 3 4 5 6 7 8 9 10; do
	echo "int fl_probe_$i(int a,"
	echo "		int b);"
done >>src/probe/probe.h
clean "a dozen"
echo 'int fl_probe_11(void);' >>src/probe/probe.h
sees 'door probe: 13; stop at 12' "thirteen functions"
echo 'door probe 13 a reason' >tools/limits
clean "thirteen, for a reason"
rm src/agent/agent.c
echo 'int fl_probe_12(void);' >>src/probe/probe.h
clean "a header that nobody else includes is no door"

#!/bin/sh
# Guest code that calls what is not allowed, or has TLS, does not pass.
. "$ROOT/tests/tools/tree.inc"
check="$ROOT/tools/check-guest . objects"

compile()
{
	mkdir -p objects
	$CC -O1 -fPIC -c -x c -o "objects/$1.o" - || exit 1
}

put tools/guest-allow <<'END'
# a comment

memcpy	pure
_GLOBAL_OFFSET_TABLE_ the linker's
END
sees 'no guest objects' "a check of nothing"

compile one <<'END'
#include <string.h>
void two(void);
void one(char *a, char *b, size_t n) { memcpy(a, b, n); two(); }
END
compile two <<'END'
void two(void) { }
END
clean "allowed calls and calls among themselves"

compile bad <<'END'
#include <stdlib.h>
void *bad(void) { return malloc(4711); }
END
sees 'guest code calls malloc: objects/bad.o' "malloc"
echo 'malloc' >>tools/guest-allow
sees 'malloc has no reason' "an allowed symbol nobody explained"
sed -i '$d' tools/guest-allow

compile bad <<'END'
__thread int mine __attribute__((tls_model("local-exec")));
int bad(void) { return mine; }
END
sees 'thread-local data: objects/bad.o: mine' "TLS"
rm objects/bad.o

# What one file may do another may not, and it must do it.
mkdir -p objects/part
compile part/own <<'END'
int getpid(void);
__thread int mine __attribute__((tls_model("initial-exec")));
int own(void) { return getpid() + mine; }
END
sees 'guest code calls getpid: objects/part/own.o' "a call not allowed"
printf 'part/own:getpid its own\npart/own:mine where\n' >>tools/guest-allow
clean "what that file is allowed"
compile part/other <<'END'
int getpid(void);
int other(void) { return getpid(); }
END
sees 'guest code calls getpid: objects/part/other.o' "another file's leave"
compile part/other <<'END'
extern __thread int far __attribute__((tls_model("global-dynamic")));
int other(void) { return far; }
END
echo 'part/other:far elsewhere' >>tools/guest-allow
sees 'asks the loader for thread-local data: objects/part/other.o' "dynamic TLS"
rm -r objects/part

check="$ROOT/tools/check-guest"
mkdir -p build/guest
cp objects/*.o build/guest
BUILD=build
echo 'int leak(void) { return 1; } int flick_x(void) { return 2; }' |
	$CC -shared -fPIC -x c -o build/libflick.so - || exit 1
sees 'libflick.so exports: leak' "a symbol that is not flick's"
echo 'int flick_x(void) { return 2; }' |
	$CC -shared -fPIC -x c -o build/libflick.so - || exit 1
sees 'nothing needs part/own:getpid' "leave that nobody takes"
sed -i '/^part/d' tools/guest-allow
clean "flick's own symbols"

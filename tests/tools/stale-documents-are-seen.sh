#!/bin/sh
# A document that names what is not there does not pass.
check="$ROOT/tools/check-docs"
. "$ROOT/tests/tools/tree.inc"

echo 'int fl_all(void) { return make_one(); }' | put src/probe/glue.c
echo '#define FLE_TOOBIG 1' | put include/flick/errors.def
echo 'exit 0' | put tests/e2e/this-is-so.sh
echo 'int main;' | put tests/unit/plan.c
: | put bench/README.md
: | put tests/README.md
: | put docs/HACKING.md
put src/MAP.md <<'END2'
| 4 | a glue | `probe/glue.c`, `make_one()`, `fl_all()` | - |
END2
put README.md <<'END2'
`src/probe/glue.c`, `probe/glue.c`, `glue.c` and `probe/`; `e2e/this-is-so`,
`unit/plan`, `probe/NAME.c`, `src/X/NAME.c`; `fl_all()`, `FLE_TOOBIG`, `fl_NAME`,
`flick/errors.def`, `include/flick/*`, `/proc/self/maps`, `x/3i`, `build/x.o`, `a
long token, on two lines`.

    probe/gone.c

```
`probe/gone.c`
```
END2
clean "what is there, what is another's, and examples"

plant()
{
	cp "$1" good
	echo "$2" >>"$1"
	sees "$3" "$2"
	mv good "$1"
}
plant README.md 'In `probe/gone.c` is' 'README.md:11: there is no probe/gone.c'
plant docs/HACKING.md 'In `gone.h`' 'docs/HACKING.md:1: there is no gone.h'
plant docs/HACKING.md 'In `gone/NAME.c` and `probe/NAME.h`' 'there is no probe/NAME.h'
plant tests/README.md '`e2e/that-is-so`' 'there is no e2e/that-is-so'
plant bench/README.md 'a `struct fl_gone`' 'no source has fl_gone'
plant docs/HACKING.md '`FLE_GONE`' 'no source has FLE_GONE'
plant docs/HACKING.md "1. text, and
    more of it in \`gone.c\`" 'there is no gone.c'
plant src/MAP.md '| 5 | x | `probe/glue.c`, `make_two()` |' 'make_two is in no file of its row'
plant src/MAP.md '| 5 | x | `unit/plan`, `make_one()` |' 'make_one is in no file of its row'

#!/bin/sh
# A function that takes a flag, and one name in two folders, do not pass.
check="$ROOT/tools/check-names"
. "$ROOT/tests/tools/tree.inc"

: | put tools/limits
put src/patch/commit.c <<'END'
/* void old(bool flag); struct row { */
struct fl_row;
static bool is_on(const struct row *r, bool *is_new)
{
	return say("void f(bool x)", r);
}
static void write_all(void)
{
	if (is_on(NULL, NULL))
		write_all();
}
static const struct fl_sync s = {
	.name = "x",
	.probe = probe,
};
static int probe(void)
{
}
END
put src/probe/state.c <<'END'
struct row {
	int a;
	struct {
		int b;
	} in;
};
static int probe(void)
{
}
END
clean "results by pointer, members of tables, declarations"

plant()
{
	cp src/patch/commit.c good.c
	cat >>src/patch/commit.c
	sees "$1" "$2"
	mv good.c src/patch/commit.c
}
echo 'int fl_set(int to, bool is_on);' |
	plant 'src/patch/commit.c:19: fl_set() takes a bool' "a named flag"
printf 'static int set(int to,\n\t\tbool)\n{\n}\n' |
	plant 'set() takes a bool' "a flag without a name, on a line of its own"
printf 'struct fl_way {\n\tint (*go)(struct x *, bool is_on);\n};\n' |
	plant 'go() takes a bool' "a member that takes a flag"
printf 'struct row {\n\tint a;\n};\n' | plant 'row is in patch probe' "a tag in two folders"
printf 'struct b {\n\tstruct row { int a; } x;\n};\n' |
	plant 'row is in patch probe' "a tag within a structure"
printf 'static void write_all(void)\n{\n}\n' >>src/probe/state.c
sees 'write_all is in patch probe' "a static function in two folders"
printf 'alike src 1\n' >tools/limits
clean "what tools/limits lets be"
printf 'alike src 2\n' >tools/limits
clean "fewer than tools/limits lets be"
grep -q 'may be lowered from 2' said || { cat said; exit 1; }
printf 'alike src\n' >tools/limits
sees 'tools/limits:1: no number' "a row without its number"

#!/bin/sh
# Of a file without symbols functions are found that nothing leads to but a table of distances
# between functions, constants in one segment with the code, or an address of eight bytes in an
# instruction: calls are as many as with symbols.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/named.c" <<'END'
typedef void function(void);
volatile int n;
/* Laid out as functions are, and as parts of functions are. */
__asm__(".text\n"
#define APART(name) ".balign 16\n.type " #name ", @function\n.globl " #name "\n" #name ":\n" \
	".cfi_startproc\naddl $3, n(%rip)\nret\n.cfi_endproc\n"
	APART(first) APART(far_1) APART(far_2) ".balign 16\n");
#define TIGHT(name) __attribute__((noinline, used, optimize("Os"))) void name(void) { n += 3; }
TIGHT(before) TIGHT(in_table_1) TIGHT(in_table_2) TIGHT(by_code)
static function *const table[] = { in_table_1, in_table_2 };
extern const int distances[];
__asm__(".section .rodata\n.balign 4\ndistances: .long far_1 - distances, far_2 - distances\n"
	".text\n");
int main(int argc, char **argv)
{
	function *volatile f = by_code;

	(void)argv;
	for (int i = 0; i < 50; i++) {
		table[(i + argc) & 1]();
		((function *)((const char *)distances + distances[(i + argc) & 1]))();
		f();
	}
	return n == 450 ? 0 : 1;
}
END

# The calls of functions but main.
calls() {
	record -a counts --wait -- "$1"
	succeeded
	sql "select sum(calls) from counts where calls >= 25 and calls <= 50"
}

for how in "-O2" "-O2 -no-pie -fno-pie" "-O2 -no-pie -fno-pie -Wl,-z,noseparate-code" \
	   "-O0 -no-pie -fno-pie -mcmodel=large" "-O0"; do
	# shellcheck disable=SC2086
	$CC $how -o "$work/named" "$work/named.c"
	strip -o "$work/stripped" "$work/named"
	with=$(calls "$work/named") without=$(calls "$work/stripped")
	[ "$with" = 150 ] || fail "$how: $with calls with symbols"
	[ "$without" = 150 ] || fail "$how: $without calls without symbols"
done

#!/bin/sh
# 300,000 functions, of whose calls a scan names all; and 20,000 whose calls it names
# none of: each call is counted, and the program forks as before.
# timeout: 300
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "the programs are code of x86-64"
need sqlite3 "$CC"

# N functions of one size, which are told of themselves by their address, or their caller.
program() {	# NAME N LOAD_BEFORE_ENTER LOAD_BEFORE_EXIT
	cat >"$work/$1.S" <<END
	.macro make
	.type f_\\@, @function
f_\\@:	push %rdi
	$3
	mov 8(%rsp), %rsi
	call __cyg_profile_func_enter@plt
	$4
	mov 8(%rsp), %rsi
	call __cyg_profile_func_exit@plt
	pop %rdi
	ret
	.size f_\\@, . - f_\\@
	.endm
	.text
	.globl first, behind
first:
	.rept $2
	make
	.endr
behind:	ret
	.section .note.GNU-stack,"",@progbits
END
	cat >"$work/main.c" <<END
#include <sys/wait.h>
#include <unistd.h>

extern char first[], behind[];

int main(void)
{
	int size = (behind - first) / $2, pid, status;

	for (int round = 0; round < 2; round++)
		for (char *f = first; f < behind; f += size)
			((void (*)(void *))f)(f);
	pid = fork();
	if (pid == 0)
		_exit(3);
	return waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3;
}
END
	compile "$work/$1" "$work/main.c" -O1 -g0 "$work/$1.S"
}

program named 300000 'lea f_\@(%rip), %rdi' 'lea f_\@(%rip), %rdi'
label="300,000 functions, one wanted:"
record -P f_7 -a counts -- "$work/named"
succeeded
[ "$(sql "select group_concat(name || calls) from $(rows counts) where calls > 0")" = f_72 ] ||
	fail "$label calls"
label="300,000 functions, all wanted:"
record -a counts -- "$work/named"
succeeded
[ "$(sql "select count(*), sum(calls) from counts where calls = 2")" = "300000 600000" ] ||
	fail "$label calls"

program unnamed 20000 '' 'mov (%rsp), %rdi'
label="20,000 functions that no scan names:"
record -a counts -- "$work/unnamed"
succeeded
[ "$(sql "select count(*), sum(calls) from counts where calls = 2")" = "20000 40000" ] ||
	fail "$label calls"
grep -q '^flick: 40000 of 40000 probes were only found when they were first called' "$err" ||
	fail "$label it does not say so"

/*
 * filter-call.h - what system calls answer from here on (seccomp). 0, or not so where that
 * cannot be had.
 */
#ifndef FILTER_CALL_H
#define FILTER_CALL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

static inline int install_filter(struct sock_filter *code, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* One call: SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO with an errno, ... */
static inline int filter_call(int nr, uint32_t answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install_filter(code, sizeof(code) / sizeof(code[0]));
}

#endif

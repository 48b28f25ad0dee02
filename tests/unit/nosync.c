/* unit/nosync: where the kernel denies membarrier, patching is refused. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "patch/patch.h"

/* membarrier answers EPERM from here on. */
static int deny(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void without_membarrier_nothing_is_patched(void **state)
{
	(void)state;
	assert_int_equal(fl_patch_open(NULL), FLE_NOSYNC);
	assert_string_equal(fl_patch_sync_name(), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_membarrier_nothing_is_patched),
	};

	if (deny())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

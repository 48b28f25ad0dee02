/*
 * sync-membarrier.c - membarrier(PRIVATE_EXPEDITED_SYNC_CORE).
 *
 * OS1: on return every running sibling has executed a core-serialising
 * instruction, and a sibling that is not running executes one before it runs user
 * code again. The registration survives fork and is lost at exec. Kernels before
 * 5.11 did not serialise the caller itself, which never matters here: the
 * caller executes none of the bytes it changes before its next return from a
 * system call.
 */
#include "base/base.h"
#include "os/os.h"
#include "sync.h"

static int probe(void)
{
	int err = fl_os_membarrier_register();

	return err ? err : fl_os_membarrier_sync_core();
}

static void all_cores(void)
{
	if (fl_os_membarrier_sync_core() == -EPERM) {
		fl_os_membarrier_register();
		fl_os_membarrier_sync_core();
	}
}

const struct fl_sync fl_sync_membarrier = {
	.name = "membarrier",
	.about = "PRIVATE_EXPEDITED_SYNC_CORE, Linux 4.16 and later",
	.probe = probe,
	.all_cores = all_cores,
};

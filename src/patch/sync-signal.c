/*
 * sync-signal.c - a handshake with every thread that is on a core.
 *
 * For systems that refuse membarrier. A thread that is off its core is left in
 * peace: it comes back by way of the scheduler (OS18). handshake.c says what the
 * program may notice.
 */
#include "handshake.h"
#include "sync.h"

/* The thread that chooses must not block the signal: threads to come inherit its mask. */
static int probe(void)
{
	uint64_t blocked = 0;
	int err = fl_handshake_open();

	if (!err)
		err = fl_os_thread_blocked(fl_os_tid(), &blocked);
	if (err)
		return err;
	return blocked >> (FL_SYNC_SIGNAL - 1) & 1 ? FLE_SIGBLOCK : fl_handshake_ready();
}

/* The handshake needs /proc, and may fail for a while (no descriptor left). */
static void all_cores(void)
{
	enum { AGAIN_US = 1000 };

	while (fl_handshake(FL_WHO_CORES, FL_FOR_EVER))
		fl_os_sleep_us(AGAIN_US);
}

const struct fl_sync fl_sync_signal = {
	.name = "signal",
	.about = "SIGURG to every thread that runs, and its answer",
	.asks = true,
	.probe = probe,
	.ready = fl_handshake_ready,
	.all_cores = all_cores,
};

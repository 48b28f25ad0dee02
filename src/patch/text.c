/*
 * text.c - the permissions of pages that hold sites.
 *
 * Hides mprotect. Pages become writable when their sites are armed and get
 * back what they had when the last probe goes; pages without sites are never
 * touched. Not thread-safe: callers hold the probe table's lock.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "patch.h"

struct find { uintptr_t at; int prot; };

static int find_prot(void *arg, const struct fl_mapping *m)
{
	struct find *f = arg;

	if (f->at < m->lo || f->at >= m->hi)
		return 0;
	f->prot = m->prot;
	return 1;
}

int fl_text_prot(uintptr_t at)
{
	struct find f = { .at = at, .prot = -EFAULT };

	fl_os_mappings(find_prot, &f);
	return f.prot;
}

static int protect(uintptr_t lo, uintptr_t hi, int prot)
{
	lo = fl_round_down(lo, FL_PAGE);
	hi = fl_round_up(hi, FL_PAGE);
	return fl_os_protect((void *)lo, hi - lo, prot);
}

int fl_text_open(uintptr_t lo, uintptr_t hi, int prot)
{
	return protect(lo, hi, prot | PROT_WRITE);
}

int fl_text_close(uintptr_t lo, uintptr_t hi, int prot)
{
	return protect(lo, hi, prot);
}

/*
 * slots.c - what the loader will write into the GOT of a module it has only
 * mapped so far.
 *
 * Hides a table by slot of the relocations whose value lies in the module's own
 * text. An interposed function would get another address: its sites are still
 * those of the body that stands here.
 */
#include "cyg.h"

static size_t bucket_of(const struct fl_slots *t, uintptr_t slot)
{
	return (slot >> 3) * 0x9e3779b97f4a7c15ull >> t->shift;
}

static int count(void *arg, uintptr_t slot, uint32_t type, const char *name,
		 uintptr_t value)
{
	struct fl_slots *t = arg;

	(void)slot;
	(void)type;
	(void)name;
	t->n += fl_text_bytes(t->m, value) != 0;
	return 0;
}

static int put(void *arg, uintptr_t slot, uint32_t type, const char *name,
	       uintptr_t value)
{
	struct fl_slots *t = arg;
	size_t mask = t->n_buckets - 1, i = bucket_of(t, slot);

	(void)type;
	(void)name;
	if (!fl_text_bytes(t->m, value))
		return 0;
	while (t->bucket[i].slot && t->bucket[i].slot != slot)
		i = (i + 1) & mask;
	t->bucket[i].slot = slot;
	t->bucket[i].value = value;
	return 0;
}

int fl_slots_open(struct fl_slots *t, const struct fl_module *m)
{
	*t = (struct fl_slots){ .m = m, .shift = 63 };
	fl_obj_relocs(m, count, t);
	if (!t->n)
		return 0;
	for (t->n_buckets = 2; t->n_buckets < 2 * t->n; t->n_buckets *= 2)
		t->shift--;
	t->bucket = fl_scratch_open(t->n_buckets * sizeof *t->bucket);
	if (!t->bucket)
		return -ENOMEM;
	fl_obj_relocs(m, put, t);
	return 0;
}

uintptr_t fl_slots_read(const struct fl_slots *t, uintptr_t slot)
{
	if (!t->bucket)
		return 0;
	for (size_t i = bucket_of(t, slot); t->bucket[i].slot;
	     i = (i + 1) & (t->n_buckets - 1))
		if (t->bucket[i].slot == slot)
			return t->bucket[i].value;
	return 0;
}

void fl_slots_close(struct fl_slots *t)
{
	fl_scratch_close(t->bucket, t->n_buckets * sizeof *t->bucket);
}

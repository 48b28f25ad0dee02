/*
 * field.c - machine code of the functions a bench switches, and its runners.
 *
 * Hides the bytes. Code is readable, writable and executable for the whole
 * run: what opening pages costs is not measured with it.
 */
#include "field.h"
#include "bench.h"

#include <string.h>
#include <sys/mman.h>

/* The targets lie so that calls to one and to the other differ in three bytes:
 * not a flip by luck. */
enum { TARGET_A = 0x100, TARGET_B = 0x11210, BARE = 0x300, SITES = 0x20000 };

const unsigned char field_nop[SITE_BYTES] = { 0x0f, 0x1f, 0x44, 0, 0 };

static const unsigned char body[] = { 0x48, 0xff, 0x07, 0xc3 };
static const unsigned char body_a[] = { 0x48, 0xff, 0x47, 0x08, 0xc3 };
static const unsigned char body_b[] = { 0x48, 0xff, 0x47, 0x10, 0xc3 };

size_t place_dense(size_t i)
{
	return 27 * i;
}

size_t place_inside(size_t i)
{
	return LINE_BYTES * i + 10 + i % (LINE_BYTES - 10 - 8 + 1);
}

size_t place_word(size_t i)
{
	return LINE_BYTES * i + 16 + i % 4;
}

size_t place_split(size_t i)
{
	return LINE_BYTES * i + 63 - i % 4;
}

/* Not behind the first byte: flick refuses that one for a nop, since no single byte
 * keeps threads from the other four and leaves the flags alone. */
size_t place_parkable(size_t i)
{
	return LINE_BYTES * i + 62 - i % 3;
}

void field_call(unsigned char bytes[SITE_BYTES], const struct field *f, size_t i,
		const unsigned char *target)
{
	int32_t rel = (int32_t)(target - (field_at(f, i) + SITE_BYTES));

	bytes[0] = 0xe8;
	memcpy(bytes + 1, &rel, sizeof(rel));
}

bool field_make(struct field *f, size_t n, field_place *place)
{
	f->n = n;
	f->place = place;
	f->bytes = SITES + place(n) + 4096;
	f->code = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->code == MAP_FAILED)
		return false;
	memset(f->code, 0xcc, f->bytes);
	f->sites = f->code + SITES;
	f->target_a = memcpy(f->code + TARGET_A, body_a, sizeof(body_a));
	f->target_b = memcpy(f->code + TARGET_B, body_b, sizeof(body_b));
	f->code[BARE] = 0xc3;
	f->bare = (field_fn *)(f->code + BARE);
	for (size_t i = 0; i < n; i++) {
		unsigned char *at = field_at(f, i);

		field_call(at, f, i, f->target_a);
		memcpy(at + SITE_BYTES, body, sizeof(body));
	}
	return true;
}

void field_free(struct field *f)
{
	munmap(f->code, f->bytes);
}

void field_strip(const struct field *f, size_t i)
{
	field_at(f, i)[SITE_BYTES] = 0xc3;
}

bool field_runs(const struct field *f, size_t i, char target)
{
	struct counts c = { 0 };
	field_fn *fn = (field_fn *)field_at(f, i);

	for (int k = 0; k < 3; k++)
		fn(&c);
	return c.a == (target == 'a' ? 3 : 0) && c.b == (target == 'b' ? 3 : 0);
}

/* ---- the thread that runs them ------------------------------------------- */

static void *execute(void *arg)
{
	struct executor *e = arg;

	bench_pin(e->cpu);
	while (!atomic_load_explicit(&e->is_stopping, memory_order_relaxed))
		for (size_t i = 0; i < e->n; i++) {
			field_fn *fn = (field_fn *)field_at(e->field,
							    e->first + i);

			for (size_t k = 0; k < e->repeat; k++)
				fn(&e->counts);
		}
	return NULL;
}

struct counts executor_counts(const struct executor *e)
{
	const volatile struct counts *c = &e->counts;

	return (struct counts){ c->calls, c->a, c->b };
}

void executor_start(struct executor *e, const struct field *f, size_t first,
		    size_t n, size_t repeat, int cpu)
{
	enum { WARM = 100000 };

	*e = (struct executor){
		.field = f, .first = first, .n = n, .repeat = repeat, .cpu = cpu,
	};
	pthread_create(&e->thread, NULL, execute, e);
	while (executor_counts(e).calls < WARM)
		__builtin_ia32_pause();
}

void executor_stop(struct executor *e)
{
	atomic_store(&e->is_stopping, true);
	pthread_join(e->thread, NULL);
}

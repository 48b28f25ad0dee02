/*
 * fuzz/region - the shared region as the reader reads it: a target that writes anything
 * into it at any time. An input is a list of strokes, each a place, a value and what
 * the reader does next; all the while another thread flips words that are its own.
 *
 * timeout: 600
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "channel/channel.h"
#include "session/functions.h"
#include "fuzz.h"
#include "perf/originals.h"

enum { SITES = 256, SLOTS = 3 };

struct stroke {
	uint8_t what, how;
	uint16_t at;
	uint32_t value;
};

static struct fl_region *m;
static struct fl_reader *reader;
static struct fl_functions functions;
static struct fl_run *run;
static struct fl_view view;
static uint64_t slots_at, slot_bytes;	/* as they were, like these: */
static struct fl_shm_site *sites;
static struct fl_shm_module *modules;
static struct fl_originals *bodies;
static struct fl_body_row *body_rows;
static struct fl_body_block *body_blocks;
static uint32_t is_over, seed;

static void feed(void *arg, const struct fl_batch *b)
{
	(void)arg;
	fl_run_feed(run, b);
}

static void count(void *arg, uint32_t thread, uint32_t probe, uint64_t n)
{
	(void)arg;
	fl_run_count(run, thread, probe, n);
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	(void)arg;
	fl_run_thread_end(run, thread, alive);
}

static const char *name_of(const void *owner, uint32_t function)
{
	const struct fl_functions *r = owner;

	return function < r->n ? r->all[function].name : NULL;
}

static struct fl_slot *slot(uint32_t i)
{
	return (struct fl_slot *)((char *)m + slots_at + i % SLOTS * slot_bytes);
}

/* Words of the slots' heads and records, as long as the reader is at work. */
static void *flip(void *arg)
{
	uint64_t x = seed | 1;

	(void)arg;
	while (!load_relaxed(&is_over)) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		store_relaxed((uint64_t *)slot((uint32_t)x) + x % (slot_bytes / 8),
			      x & 64 ? x >> 40 : x);
		store_relaxed(&((uint32_t *)sites)[x % (SITES * 10)], (uint32_t)x);
	}
	return NULL;
}

static void look(uint8_t how)
{
	if (how & 1)
		fl_functions_extend(&functions);
	view.sites = functions.sites;
	view.function_of = functions.function_of;
	view.n_functions = functions.n;
	view.n_sites = functions.n_sites;
	if (how & 2)
		fl_reader_poll(reader, how & 4);
	if (how & 8)
		fl_reader_count(reader);
}

static void live(uint32_t i, uint32_t value)
{
	struct fl_slot *s = slot(i);

	*(uint32_t *)&s->owner = value & 1 ? FUTEX_OWNER_DIED : 1;
	s->ring[0].filled = value >> 1 & 3;
	s->ring[0].ptr = s->ring[0].data + (value >> 3 & 0xfff) * 16;
	s->state = FL_SLOT_LIVE;
	m->session[0].fresh[0] |= 1ull << i % SLOTS;
	m->n_slots_used = SLOTS;
}

static void record(uint32_t at, uint32_t value)
{
	struct flick_record *r = (void *)((char *)slot(at) + FL_SLOT_HEADER_BYTES);

	r[at / SLOTS % 256] = (struct flick_record){ .tsc = value, .probe = value % SITES,
						     .sp = value >> 8 };
}

static void act(struct stroke s)
{
	uint32_t *head = (uint32_t *)m;

	switch (s.what % 7) {
	case 0:					/* behind the magic: anything */
		head[s.at % (sizeof(*m) / 4)] = s.value;
		break;
	case 1:
		((uint32_t *)slot(s.how >> 4))[s.at % 1024] = s.value;
		break;
	case 2:
		((uint32_t *)sites)[s.at % (SITES * 10)] = s.value;
		break;
	case 3:
		((uint32_t *)(s.how & 64 ? (void *)body_blocks :
			      s.how & 32 ? (void *)body_rows : modules))[s.at % 1024] = s.value;
		break;
	case 4:
		live(s.at, s.value);
		break;
	case 5:
		record(s.at, s.value);
		break;
	default:
		m->n_sites = s.value % 512;
		m->n_modules = s.value >> 16;
	}
	look(s.how);
	if (s.how & 128)
		fl_originals_turn(bodies, UINT64_MAX);
	if (s.how & 16)
		fl_originals_at(bodies, (int32_t)s.value, (uint64_t)s.at << 4);
}

static int open_all(uint8_t mode)
{
	static const uint32_t actions[] = { FL_ACT_TIME, FL_ACT_COUNT, FL_ACT_SAMPLE,
					    FL_ACT_WINDOW };
	struct fl_shm_options o = {
		.n_slots = SLOTS, .max_sites = SITES, .ring_kib = 16,
		.action = actions[mode % 4],
		.rate = mode % 4 == 3 ? FL_RATE_ALL / 2 : 0, .adapts = mode & 4,
	};
	const struct fl_sink sink = { NULL, feed, count, thread_end };
	struct fl_use uses[] = { { .analysis = fl_analysis_find("counts") },
				 { .analysis = fl_analysis_find("latency") },
				 { .analysis = fl_analysis_find("tree") } };
	int fd;

	if (fl_shm_create(&o, &m, &fd))
		return -1;
	close(fd);
	slots_at = m->slots_at;
	slot_bytes = m->slot_bytes;
	sites = fl_shm_sites(m);
	modules = fl_shm_modules(m);
	body_rows = fl_shm_bodies(m);
	body_blocks = fl_shm_body_blocks(m);
	view = (struct fl_view){ .ns_per_tick = 0.4, .name = name_of, .owner = &functions,
				 .live = sites, .framed = 6,
				 .sampled = mode % 4 == 2, .windows = mode % 4 == 3 };
	return fl_originals_open(&bodies, m) || fl_functions_open(&functions, m) ||
	       fl_run_open(&run, uses, view.sampled ? 2 : 3, &view) ||
	       fl_reader_open(&reader, m, &sink, 0);
}

static void close_all(void)
{
	for (size_t i = 0; i < 2; i++) {
		struct flick_rows rows;

		if (!fl_run_rows(run, i, &rows))
			free(rows.cells);
	}
	fl_reader_close(reader);
	fl_run_close(run);
	fl_functions_close(&functions);
	fl_originals_close(bodies);
	fl_shm_destroy(m, -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const bool flips = n && *data & 8;
	pthread_t other;

	if (n < 1 + sizeof(struct stroke) || n > 4096 || open_all(*data))
		return 0;
	seed = *data * 2654435761u;
	is_over = 0;
	if (flips && pthread_create(&other, NULL, flip, NULL))
		abort();
	for (size_t at = 1; at + sizeof(struct stroke) <= n; at += sizeof(struct stroke)) {
		struct stroke s;

		memcpy(&s, data + at, sizeof(s));
		act(s);
	}
	look(7);
	store_relaxed(&is_over, 1);
	if (flips)
		pthread_join(other, NULL);
	close_all();
	return 0;
}

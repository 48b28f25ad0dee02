/*
 * public-make.c - flick/channel.h: make a ring, attach to one, count its words.
 *
 * Hides the layout's arithmetic and the two robust mutexes by which either side
 * sees the other's death. No code here is on a path that enqueues.
 */
#include "arch/arch.h"
#include "channel/mutex.h"
#include "channel/public.h"
#include "obj/obj.h"

#define DATA_AT fl_round_up(sizeof(struct fl_public) + 1, FL_PAGE)
#define CHUNK_BYTES (128 * 1024)
#define CHUNKS 16
#define MAX_CHUNKS 65536
#define MAX_CHUNK_BYTES (1u << 30)
#define BURST_BYTES 64

static bool is_multiple(uint64_t n, uint64_t of, uint64_t lo, uint64_t hi)
{
	return n >= lo && n <= hi && n % of == 0;
}

/* A given option is taken as it is, or refused; 0 stands for the default. */
static int fill_in(struct flick_channel_opt *o, const struct flick_channel_opt *given)
{
	*o = (struct flick_channel_opt){ .size = sizeof(*o) };
	if (given)
		*o = *given;
	if (!o->word_bytes)
		o->word_bytes = 8;
	if (!o->chunk_bytes)
		o->chunk_bytes = CHUNK_BYTES;
	if (!o->chunks)
		o->chunks = CHUNKS;
	if (!o->burst_bytes)
		o->burst_bytes = BURST_BYTES;
	if (o->size != sizeof(*o) || o->flags || o->mode > FLICK_ADAPTIVE ||
	    (o->word_bytes != 4 && o->word_bytes != 8) ||
	    !is_multiple(o->chunk_bytes, FL_HALF_BYTES, FL_HALF_BYTES, MAX_CHUNK_BYTES) ||
	    !is_multiple(o->chunks, 1, 2, MAX_CHUNKS) ||
	    !is_multiple(o->burst_bytes, 64, 64, FLICK_BURST_BYTES) ||
	    o->burst_bytes > o->chunk_bytes)
		return FLE_OPTION;
	return 0;
}

static uint64_t bytes_of(const struct flick_channel_opt *o)
{
	return DATA_AT + (uint64_t)o->chunks * o->chunk_bytes;
}

size_t flick_channel_bytes(const struct flick_channel_opt *opt)
{
	struct flick_channel_opt o;

	return fill_in(&o, opt) ? 0 : bytes_of(&o);
}

static void lay_out(struct fl_public *r, const struct flick_channel_opt *o)
{
	r->hot.word_bytes = o->word_bytes;
	r->word_bytes = o->word_bytes;
	r->mode = o->mode;
	r->chunk_bytes = o->chunk_bytes;
	r->chunks = o->chunks;
	r->burst_bytes = o->burst_bytes;
	r->data_at = DATA_AT;
	r->bytes = bytes_of(o);
	r->base = (char *)r + r->data_at;
	r->hot.ptr = r->base;
	r->magic = FL_PUBLIC_MAGIC;
}

int flick_channel_init(void *memory, size_t bytes,
		       const struct flick_channel_opt *opt, struct flick_channel **c)
{
	struct fl_public *r = memory;
	struct flick_channel_opt o;
	int err = fill_in(&o, opt);

	if (err)
		return err;
	if (!memory || (uintptr_t)memory % 64 || bytes < bytes_of(&o))
		return -EINVAL;
	*r = (struct fl_public){ 0 };
	err = fl_mutex_make(&r->producer);
	if (!err)
		err = fl_mutex_make(&r->consumer);
	if (err)
		return err;
	lay_out(r, &o);
	*c = &r->hot;
	return 0;
}

bool fl_public_is_valid(const struct fl_public *r, size_t bytes)
{
	struct flick_channel_opt filled, o = {
		.size = sizeof(o), .mode = r->mode, .word_bytes = r->word_bytes,
		.chunk_bytes = (uint32_t)r->chunk_bytes, .chunks = (uint32_t)r->chunks,
		.burst_bytes = (uint32_t)r->burst_bytes,
	};

	return r->magic == FL_PUBLIC_MAGIC && o.chunk_bytes && o.chunks && o.word_bytes &&
	       r->chunk_bytes <= UINT32_MAX && r->chunks <= UINT32_MAX &&
	       !fill_in(&filled, &o) && r->data_at == DATA_AT &&
	       r->bytes == bytes_of(&o) && r->bytes <= bytes;
}

int flick_channel_attach(void *memory, size_t bytes, struct flick_channel **c)
{
	struct fl_public *r = memory;

	if (!memory || (uintptr_t)memory % 64 || bytes < sizeof(*r) ||
	    !fl_public_is_valid(r, bytes))
		return -EINVAL;
	*c = &r->hot;
	return 0;
}

int fl_public_lock(pthread_mutex_t *mutex)
{
	int err = pthread_mutex_trylock(mutex);

	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(mutex);
	return -err;
}

/* ---- the producer comes -------------------------------------------------- */

static bool is_at_home(const struct fl_public *r, uint64_t at)
{
	return at <= r->chunks * r->chunk_bytes || fl_public_is_aside(r, r->base + at);
}

/* Does the state that the last producer left make sense? */
static bool is_sound(const struct fl_public *r)
{
	return is_at_home(r, r->ptr_at) &&
	       (!fl_public_is_aside(r, r->base + r->ptr_at) ||
		is_at_home(r, r->resume_at)) &&
	       r->aside_kind < FL_N_ASIDE && r->claimed - r->filled <= 1;
}

/* All addresses are the last producer's, so a new producer writes them anew. If it is killed
 * in between, `ptr_at` and `resume_at` still have the two that matter. */
static void change_addresses(struct fl_public *r)
{
	r->moving = 1;
	flick_in_order();
	r->base = (char *)r + r->data_at;
	FL_POINT("public.moving");
	r->hot.ptr = r->base + r->ptr_at;
	r->resume = r->base + r->resume_at;
	flick_in_order();
	r->moving = 0;
}

/* The ring goes on where it stood. A claimed chunk stays claimed, because the consumer may
 * have taken a part of it. False: the ring is damaged, and nothing has changed. */
static bool move_in(struct fl_public *r)
{
	if (!r->moving) {
		r->ptr_at = (uintptr_t)r->hot.ptr - (uintptr_t)r->base;
		r->resume_at = (uintptr_t)r->resume - (uintptr_t)r->base;
	}
	if (!is_sound(r))
		return false;
	flick_in_order();
	change_addresses(r);
	r->rested = fl_public_is_aside(r, r->hot.ptr) ? r->resume : r->hot.ptr;
	r->hot.limit = NULL;
	r->hot.word_limit = NULL;
	r->hot.guard = 0;
	r->hot.ahead = fl_arch_read_ahead();
	r->aside_left = 0;
	store_relaxed(&r->deferred_n, 0);		/* first: words may have been moved */
	store_relaxed(&r->deferred_moved, 0);
	r->deferred_flush = 0;
	return true;
}

int flick_channel_produce(struct flick_channel *c)
{
	struct fl_public *r = fl_public_of(c);
	int err;

	fl_obj_stay();
	err = fl_public_lock(&r->producer);
	if (err)
		return err;
	fl_arch_rseq_open();
	/* (R) pairs with (Q) in public-take.c */
	if (load_acquire(&r->state) == FL_PUBLIC_OPEN)
		err = -EBUSY;
	else if (!fl_public_is_valid(r, r->bytes) || !move_in(r))
		err = -EINVAL;
	if (err)
		pthread_mutex_unlock(&r->producer);
	else
		/* (K) pairs with (L) in public-take.c */
		store_release(&r->state, FL_PUBLIC_OPEN);
	return err;
}

/* ---- counting ------------------------------------------------------------ */

/* Words that went aside for `why`, including those of the lap that has not ended. */
static uint64_t left_aside(const struct fl_public *r, enum fl_aside why)
{
	uint64_t bytes = load_relaxed(&r->laps[why]) * FL_HALF_BYTES;
	uint64_t in = fl_public_in_half(r, load_relaxed(&r->hot.ptr));

	if (load_relaxed(&r->aside_kind) == why && in <= FL_HALF_BYTES)
		bytes += in;
	return bytes / r->word_bytes;
}

int flick_channel_stats(const struct flick_channel *c, struct flick_channel_stats *out)
{
	const struct fl_public *r = fl_public_of(c);
	uint64_t direct = load_relaxed(&r->deferred_delivered);
	uint64_t consumed, left_out, overwritten;

	if (out->size != sizeof(*out) || !fl_public_is_valid(r, r->bytes))
		return FLE_OPTION;
	consumed = load_relaxed(&r->consumed);
	left_out = load_relaxed(&r->left_out);
	overwritten = load_relaxed(&r->overwritten);
	*out = (struct flick_channel_stats){
		.size = sizeof(*out),
		.produced = fl_public_total(r) + fl_public_deferred(r) + direct +
			    load_relaxed(&r->deferred_lost),
		.delivered = consumed - left_out - overwritten + direct,
		.filtered = left_out + left_aside(r, FL_ASIDE_RATE),
		.lost_consumer = left_aside(r, FL_ASIDE_DEAD),
		.lost_full = left_aside(r, FL_ASIDE_FULL),
		.lost_overwritten = overwritten,
		.lost_nested = load_relaxed(&r->deferred_lost),
		.held = fl_public_position(r) - consumed + fl_public_deferred(r),
		.rate_one_in = load_relaxed(&r->skip) + 1,
		.ended = load_relaxed(&r->state) == FL_PUBLIC_DRAINED,
	};
	return 0;
}

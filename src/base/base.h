/*
 * base.h - plain C that knows no probe, no system call and no CPU.
 *
 * Every other folder may use it: ordered memory accesses under short names, the
 * list of errors, rounding, name patterns, and arrays. All but arrays is GUEST
 * code: it allocates nothing and calls no library.
 */
#ifndef FL_BASE_H
#define FL_BASE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The symbol is reached without a table of addresses, and no other module's takes its place. */
#define FL_HIDDEN __attribute__((visibility("hidden")))

/* Errors: 0 or a count is success, -1..-4095 is -errno, the rest is here. */
enum fl_err {
#define FLICK_ERR(name, value, text) FLE_##name = value,
#include "../../include/flick/errors.def"
#undef FLICK_ERR
};

/* The sentence for an error, for a user; NULL when `err` is not ours. */
const char *fl_err_text(int err);

/* Ordered accesses. Every use names its mate: tools/check-pairs. */
#define load_relaxed(p)     __atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* FL_POINT: a named place where a test may stop a protocol. FL_MUST: a condition that must
 * hold. Both are nothing in a release. In the test build (-DFL_POINTS) a point calls
 * fl_point_hit(), which tests/ defines, and a condition that does not hold ends the process. */
#ifdef FL_POINTS
void fl_point_hit(const char *name);
#define FL_POINT(name) fl_point_hit(name)
#define FL_MUST(x) ((x) ? (void)0 : __builtin_trap())
#else
#define FL_POINT(name) ((void)0)
#define FL_MUST(x) ((void)(0 && (x)))
#endif

static inline uint64_t fl_round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static inline uint64_t fl_round_down(uint64_t v, uint64_t to)
{
	return v / to * to;
}

/* The nanoseconds of a struct timespec. */
static inline uint64_t fl_ns(int64_t seconds, int64_t ns)
{
	return (uint64_t)seconds * 1000000000 + (uint64_t)ns;
}

/* The random number that follows `x` (Marsaglia, xorshift64); `x` is not 0. */
static inline uint64_t fl_random_next(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

/* How many of `n` rows begin at or below `at`: the last of these is the row that may hold
 * `at`. Rows have `bytes` each and ascend by their first word, where they begin. */
static inline size_t fl_rows_from(const void *rows, size_t n, size_t bytes, uint64_t at)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (*(const uint64_t *)((const char *)rows + mid * bytes) <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Arrays of the reader's that grow; `array` points to the pointer to the first element, and
 * elements have `size` bytes. 0, or -ENOMEM and the array is as it was. */
/* Make room for one more element behind `n`. Only this function may have grown the array. */
int fl_array_room(void *array, size_t n, size_t size);
/* Grow from *n to `want` elements, if there are fewer; new ones are zero. */
int fl_array_extend(void *array, uint32_t *n, uint32_t want, size_t size);
/* Sort `n` elements, the first at `array` itself, by their first word: rows for
 * fl_rows_from(). */
void fl_rows_sort(void *array, size_t n, size_t size);

/*
 * A hash table that finds the items of an array. The array's owner makes the hashes and
 * compares the items. All 0: the table is empty.
 *
 *	for (uint32_t at = h, i; (i = fl_hash_next(&table, h, &at));)
 *		if (items[i - 1] is what is looked for)
 *			return i;
 *	fl_hash_put(&table, h, n + 1)
 *
 * INVARIANT	n * 2 <= room, a power of two or 0.
 */
struct fl_hash {
	struct fl_hashed {
		uint32_t hash, item;	/* item: 1 + its index; 0: none */
	} *of;				/* an item stands at its hash, or behind it */
	uint32_t n, room;
};

/* The next item with `hash`, from *at on; *at must be the hash at first. 0: no more. */
static inline uint32_t fl_hash_next(const struct fl_hash *t, uint32_t hash, uint32_t *at)
{
	while (t->room) {
		const struct fl_hashed *h = &t->of[(*at)++ & (t->room - 1)];

		if (!h->item || h->hash == hash)
			return h->item;
	}
	return 0;
}

int fl_hash_put(struct fl_hash *, uint32_t hash, uint32_t item);
void fl_hash_free(struct fl_hash *);

/* The hash of a number, or of a text; `before` is the hash of what stands before it, or 0. */
static inline uint32_t fl_hash_of(uint64_t before, uint64_t number)
{
	uint64_t h = (before ^ number) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h ^ h >> 32);
}
uint32_t fl_hash_text(uint32_t before, const char *text);

/*
 * Name patterns, `[MODULE!]FUNCTION` or `MODULE!0xOFFSET`. FUNCTION and MODULE
 * are globs (`*`, `?`, `[a-z]`); MODULE is matched against the file's base
 * name; without MODULE every module matches.
 */
struct fl_pattern {
	const char *module;		/* NULL: any; not NUL-terminated */
	size_t module_len;
	const char *function;		/* NUL-terminated glob; NULL with offset */
	uint64_t offset;		/* valid when function == NULL */
};

/* Split `text`, which must outlive `p`. 0 or FLE_PATTERN. */
int fl_pattern_parse(struct fl_pattern *p, const char *text);
/* Does the pattern take function `name`, `offset` bytes into module `path`? */
bool fl_pattern_takes(const struct fl_pattern *p, const char *path,
		      const char *name, uint64_t offset);
bool fl_glob(const char *glob, size_t glob_len, const char *text);
/* The part of a path behind the last '/'. */
const char *fl_base_name(const char *path);

#endif

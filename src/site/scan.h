/*
 * scan.h - what the providers share; private to this folder.
 */
#ifndef FL_SITE_SCAN_H
#define FL_SITE_SCAN_H

#include "arch/arch.h"
#include "os/os.h"
#include "site/site.h"

extern const struct fl_provider fl_provider_cyg, fl_provider_patchable,
	fl_provider_xray, fl_provider_body, fl_provider_plt, fl_provider_point;

/* Scratch memory: mapped, committed as it is touched, gone at the end. */
void *fl_scratch_open(size_t n_bytes);	/* NULL: none left */
/* The same for what will be used to the end: one fault for all of it. */
void *fl_scratch_full(size_t n_bytes);
void fl_scratch_close(void *, size_t n_bytes);

/* Where functions begin and end: ascending, not overlapping. */
struct fl_ranges {
	struct fl_range {
		uintptr_t start, end;
		uintptr_t lsda, fde;	/* its landing pads, see fl_obj_frames() */
		uint32_t is_gap;	/* 1: code that no table knows */
		uint32_t is_frame;	/* 1: the unwinder knows where it ends */
	} *r;
	size_t n, n_bytes;		/* of the scratch memory */
};
/* By .eh_frame_hdr; what that leaves out by symbols, else as gaps. 0 or -ENOMEM. */
int fl_ranges_open(struct fl_ranges *, const struct fl_module *);
void fl_ranges_close(struct fl_ranges *);
/* Index of the first range that ends behind `a`; n when none does. */
size_t fl_ranges_find(const struct fl_ranges *, uintptr_t a);

/* Which sites lie between exclusives (between.c). open: 0 or -ENOMEM. Then, for each site: 0,
 * FLE_EXCLUSIVE and which pair it is, or -ENOMEM. */
struct fl_between {
	struct fl_ranges ranges;	/* n = 0: the module has none */
	size_t range, bytes;		/* that was looked at last; of `held` */
	void *held;			/* NULL: none in that range */
};
int fl_between_open(struct fl_between *, const struct fl_module *);
void fl_between_close(struct fl_between *);
int fl_between(struct fl_between *, uintptr_t at, uint64_t *pair);

/* Code of one executable segment, as far as it goes from `a` on; 0: none. */
size_t fl_text_bytes(const struct fl_module *, uintptr_t a);
/* `a` as an address of the module's text, 0 when it is none. A file that was
 * laid out may name its absolute addresses. */
uintptr_t fl_text_address(const struct fl_module *, uintptr_t a);

/* Maps of a bit a byte of text. */
static inline bool fl_bit(const uint64_t *map, size_t i)
{
	return map[i / 64] >> i % 64 & 1;
}

static inline void fl_set_bit(uint64_t *map, size_t i)
{
	map[i / 64] |= 1ull << i % 64;
}

static inline void fl_clear_bit(uint64_t *map, size_t i)
{
	map[i / 64] &= ~(1ull << i % 64);
}

/* Bits from `i` on, 57 at least; maps have a word more than they need. */
static inline uint64_t fl_bits_from(const uint64_t *map, size_t i)
{
	uint64_t bits;

	__builtin_memcpy(&bits, (const char *)map + i / 8, sizeof bits);
	return bits >> i % 8;
}

/* Is no bit of [from, end) set? */
static inline bool fl_no_bit(const uint64_t *map, size_t from, size_t end)
{
	for (; from < end; from = (from | 63) + 1) {
		uint64_t w = map[from / 64] >> from % 64;

		if (w && (end - from >= 64 || w << (64 - (end - from))))
			return false;
	}
	return true;
}

/* Sites of a provider whose table has no order: gather, then tell ascending. */
struct fl_gather {
	struct fl_site *sites;
	size_t n, room;
};
int fl_gather_open(struct fl_gather *, size_t room);
void fl_gather_add(struct fl_gather *, const struct fl_site *);
int fl_gather_tell(struct fl_gather *, fl_site_each *, void *arg);	/* and close */

/* Does a module in which the compiler left `n` sites get second bodies (wants.c)? */
bool fl_site_wants_bodies(const struct fl_module *, int n_sites);
/* ... and sites at its stubs of the linkage table? */
bool fl_site_wants_stubs(const struct fl_module *);
/* 0, or why a module can never have bodies; then its stubs are left alone, too. */
int fl_site_never_bodies(const struct fl_module *);
/* Each point that the rules name in the module, by its offset in the file, as long as `each`
 * says true. */
bool fl_site_each_point(const struct fl_module *, bool (*each)(void *arg, uint64_t offset),
			void *arg);
/* The addresses of these points, ascending: how many. */
uint32_t fl_site_points(const struct fl_module *, uintptr_t at[FL_POINTS_MOST]);

#endif

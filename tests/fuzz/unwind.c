/*
 * fuzz/unwind - a function's tables for unwinding, as a damaged file may have them: what
 * a body's are made of.
 *
 *	2 bytes: where the FDE is | rows | their distance | 2 bytes: room | kind | 0 | memory
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>

#include "fuzz.h"
#include "copy/copy.h"
#include "copy/unwind.h"

enum { HEAD = 8, ROWS = 256 };

static void write_piece(const struct fl_module *m, const uint8_t *head, uintptr_t fde)
{
	static struct fl_unwind_row rows[ROWS];
	static struct fl_shape_step steps[ROWS];	/* landings have these, and no rows */
	size_t room = head[4] | head[5] << 8;
	unsigned char *to = malloc(room + 1);	/* exactly: what is written behind it is seen */
	struct fl_out o = { .p = to, .end = to + room };
	struct fl_unwind_piece p = { .fde = fde, .rows = rows, .steps = steps,
				     .kind = (enum fl_piece_kind)(head[6] % 3) };
	struct fl_unwind_body body = { .m = m, .pieces = &p, .n = 1 };
	struct fl_fde f = { 0 };

	if (!fl_fde_read(&f, m, fde))
		goto out;
	for (uint32_t i = 0; i < head[2] && i * head[3] / 2 < f.end - f.start; i++) {
		steps[p.n].at = f.start + i * head[3] / 2;
		rows[p.n++] = (struct fl_unwind_row){ f.start + i * head[3] / 2, i * 3,
						      i % 7 == 3 ? 136 : 0,
						      i % 5 == 2 ? 9 : 0 };
	}
	p.start = (uintptr_t)to + 4096;
	p.end = p.start + p.n * (p.kind == FL_PIECE_LANDINGS ? FL_ARCH_LANDED_BYTES : 3u);
	fl_cie_write(&o, &f);
	fl_fde_write(&o, &f, &body, &p, to);
	if (o.p > o.end || o.end != to + room)
		abort();
out:
	free(to);
}

/* The same bytes behind a table of one entry, as a reader has copied them from a process: where
 * in its function a place of a body is. */
static void read_origin(const uint8_t *data, size_t n)
{
	struct table {
		uint8_t how[4];
		int32_t frames;
		uint32_t count;
		int32_t start, fde;
		unsigned char bytes[];
	} *t = malloc(sizeof(*t) + n - HEAD);	/* exactly */

	*t = (struct table){ .count = data[7] ? data[7] * 1000000u : 1, .start = INT32_MIN,
			     .fde = (int32_t)sizeof(*t) + (data[0] | data[1] << 8) };
	memcpy(t->bytes, data + HEAD, n - HEAD);
	for (size_t away = 0; away < n; away += 1 + n / 16)
		fl_unwind_origin_by(t, sizeof(*t) + n - HEAD, (uintptr_t)t + away);
	free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Elf64_Phdr all = { .p_type = PT_LOAD, .p_flags = PF_R };
	struct fl_module m = { .ph = &all, .n_ph = 1, .path = "" };
	unsigned char *memory;

	if (n <= HEAD)
		return 0;
	all.p_memsz = n - HEAD;
	memory = malloc(n - HEAD);		/* exactly: what is read behind it is seen */
	memcpy(memory, data + HEAD, n - HEAD);
	m.bias = m.lo = (uintptr_t)memory;
	m.hi = m.lo + all.p_memsz;
	write_piece(&m, data, m.bias + (data[0] | data[1] << 8));
	free(memory);
	read_origin(data, n);
	return 0;
}

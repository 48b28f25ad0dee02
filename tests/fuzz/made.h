/*
 * made.h - a module that somebody made: for fuzz/shape and fuzz/body.
 *
 * The input is functions, one behind the other: a byte of how its frame begins, two of its
 * length, one of how many bytes of its table of exceptions lead; then code. Each gets an
 * entry in .eh_frame, so that nearly every input is read as far as code goes.
 */
#ifndef MADE_H
#define MADE_H

#include "obj/look.h"
#include "site/site.h"
#include "fuzz.h"

enum { FUNCTIONS = 64, TEXT = 4096, TEXT_MAX = 8192, ROOM = 2 * TEXT_MAX };
enum { PHDRS = 2, FDE = 32, CIE = 24 };

struct made {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[PHDRS];
	unsigned char pad[TEXT - sizeof(Elf64_Ehdr) - PHDRS * sizeof(Elf64_Phdr)];
	unsigned char text[TEXT_MAX];
	struct {
		unsigned char version, how, count_how, table_how;
		int32_t frames;
		uint32_t n;
		int32_t table[FUNCTIONS][2];
	} hdr;
	unsigned char cie[CIE];
	unsigned char fde[FUNCTIONS][FDE];
	unsigned char end[8];
};

static struct made made __attribute__((aligned(4096)));
static struct fl_shape_step steps[ROOM];

static int32_t distance(const void *to, const void *from)
{
	return (int32_t)((const char *)to - (const char *)from);
}

static void put(unsigned char *at, const void *value, size_t n)
{
	memcpy(at, value, n);
}

static void put32(unsigned char *at, int32_t v)
{
	put(at, &v, sizeof v);
}

/* zLR, the CFA 8 above the stack pointer. */
static void make_cie(void)
{
	static const unsigned char body[] = {
		1, 'z', 'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b, 0x0c, 7, 8, 0x90, 1,
	};

	put32(made.cie, CIE - 4);
	put(made.cie + 8, body, sizeof body);
}

static void add_function(size_t i, size_t at, size_t n, uint8_t how, uint8_t lsda)
{
	unsigned char *fde = made.fde[i];

	put32(fde, FDE - 4);
	put32(fde + 4, distance(fde + 4, made.cie));
	put32(fde + 8, distance(made.text + at, fde + 8));
	put32(fde + 12, (int32_t)n);
	fde[16] = 4;
	put32(fde + 17, lsda ? distance(made.text + lsda, fde + 17) : 0);
	if (how & 1) {			/* a part */
		fde[21] = 0x0e;
		fde[22] = 16 + (how & 0x38);
	} else {
		fde[21] = how & 2 ? how : 0;
	}
	made.hdr.table[i][0] = distance(made.text + at, &made.hdr);
	made.hdr.table[i][1] = distance(fde, &made.hdr);
}

static void make_headers(size_t n)
{
	memcpy(made.eh.e_ident, ELFMAG "\2\1\1", 7);
	made.eh.e_type = ET_DYN;
	made.eh.e_machine = FL_ARCH_ELF_MACHINE;
	made.eh.e_phoff = offsetof(struct made, ph);
	made.eh.e_phentsize = sizeof made.ph[0];
	made.eh.e_phnum = PHDRS;
	made.ph[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
				   .p_filesz = sizeof made, .p_memsz = sizeof made };
	made.ph[1] = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME, .p_flags = PF_R,
		.p_vaddr = offsetof(struct made, hdr),
		.p_offset = offsetof(struct made, hdr), .p_filesz = sizeof made.hdr,
		.p_memsz = sizeof made.hdr,
	};
	made.hdr.version = 1;
	made.hdr.how = 0x1b;
	made.hdr.count_how = 0x03;
	made.hdr.table_how = 0x3b;
	made.hdr.n = (uint32_t)n;
}

static size_t make_functions(const uint8_t *data, size_t n)
{
	size_t at = 0, count = 0;

	while (n > 4 && count < FUNCTIONS) {
		size_t bytes = 1 + (data[1] | data[2] << 8) % 1024;
		uint8_t how = data[0], lsda = data[3];

		data += 4;
		n -= 4;
		bytes = bytes < n ? bytes : n;
		if (at + bytes + 16 > TEXT_MAX)
			break;
		memcpy(made.text + at, data, bytes);
		add_function(count++, at, bytes, how, lsda);
		data += bytes;
		n -= bytes;
		at = how & 0x80 ? at + bytes : (at + bytes + 15) / 16 * 16;
	}
	return count;
}

#define MUST(x) ((x) ? (void)0 : abort())

/* The module of an input, where it stands, and its outline. False: it has none. */
static bool open_made(struct fl_module *m, struct fl_outline *o, const uint8_t *data, size_t n)
{
	*m = (struct fl_module){
		.bias = (uintptr_t)&made, .lo = (uintptr_t)&made, .hi = (uintptr_t)(&made + 1),
		.ph = made.ph, .n_ph = PHDRS, .path = "made", .laid_out = true,
		.file = { .bytes = (const void *)&made, .n_bytes = sizeof made,
			  .eh = &made.eh },
	};
	memset(&made, 0, sizeof made);
	make_cie();
	make_headers(make_functions(data, n));
	if (fl_obj_check(&m->file))
		abort();
	return !fl_outline_open(o, m);
}

#endif

/*
 * jit.c - gdb is told of second bodies, by its interface for code that is made at run time.
 *
 * Hides an ELF file in memory: each block of bodies has one, which lies in the block's own
 * data. The file names bodies after their functions, as far as there is room for names, and
 * says where the tables for unwinders are. gdb reads the file when gdb attaches, or at once if
 * it is there already. A body is NAME.flick, as compilers call their clones: so a breakpoint
 * at NAME stays a single one.
 *
 *	data:	head | data of bodies | symbols ->   <- names | tables for unwinders
 *
 * gdb looks for the two names below that begin with __jit in each file of the program. Ours are
 * local, so that references in other files do not lead to them.
 */
#include <elf.h>
#include <string.h>

#include "copy/build.h"

/* ---- gdb's interface ------------------------------------------------------------------- */

struct entry {				/* struct jit_code_entry */
	struct entry *next, *before;
	const void *file;
	uint64_t bytes;
};

static struct {				/* struct jit_descriptor */
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor __attribute__((used)) = { .version = 1 };

/* gdb stops here. */
__attribute__((noinline, used)) static void __jit_debug_register_code(void)
{
	__asm__ volatile("" : : "r"(&__jit_debug_descriptor) : "memory");
}

/* A gdb that attaches in between finds a list that is whole. */
static void tell_gdb(struct entry *e)
{
	enum { REGISTER = 1 };

	e->next = __jit_debug_descriptor.first;
	if (e->next)
		e->next->before = e;
	store_release(&__jit_debug_descriptor.first, e);	/* ordering: none other */
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = REGISTER;
	__jit_debug_register_code();
}

/* ---- a file ------------------------------------------------------------------------------ */

enum { NONE, TEXT, FRAMES, SYMBOLS, NAMES, TITLES, N_SECTIONS };

static const char titles[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab";

struct head {
	Elf64_Ehdr file;
	Elf64_Shdr sections[N_SECTIONS];
	char titles[sizeof titles];
	struct entry entry;
};
_Static_assert(sizeof(struct head) <= FL_JIT_BYTES, "the head has its room");

static Elf64_Sym *symbols_of(const struct fl_ground_block *b)
{
	return (Elf64_Sym *)(b->near.data + fl_round_up(b->data_used, 8));
}

/* Names grow towards symbols. */
static char *names_of(const struct fl_ground_block *b)
{
	return (char *)b->near.data + b->near.data_bytes / 2 - b->name_bytes;
}

void fl_jit_name(struct fl_ground_block *b, const struct fl_copy *c, const char *name)
{
	static const char suffix[] = ".flick";
	size_t n = strlen(name), bytes = n + sizeof suffix;
	Elf64_Sym *s = symbols_of(b) + 1 + b->n_names;	/* the first one is the null symbol */

	if ((char *)(s + 1) > names_of(b) ||
	    bytes >= (size_t)(names_of(b) - (char *)(s + 1)))
		return;
	b->name_bytes += (uint32_t)bytes;
	b->n_names++;
	memcpy(names_of(b), name, n);
	memcpy(names_of(b) + n, suffix, sizeof suffix);
	*s = (Elf64_Sym){
		.st_name = b->name_bytes, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		.st_shndx = TEXT, .st_value = c->on, .st_size = c->code + c->n_code - c->on,
	};
}

static void put_section(struct head *h, int i, uint32_t type, const void *at, size_t n)
{
	static const uint8_t title[] = { 0, 1, 7, 17, 25, 33 };
	bool is_loaded = i == TEXT || i == FRAMES;

	h->sections[i] = (Elf64_Shdr){
		.sh_name = title[i], .sh_type = type, .sh_size = n,
		.sh_flags = is_loaded ? SHF_ALLOC | (i == TEXT ? SHF_EXECINSTR : 0) : 0,
		.sh_addr = is_loaded ? (uintptr_t)at : 0, .sh_addralign = 1,
		.sh_offset = type == SHT_NOBITS ? 0 : (uintptr_t)at - (uintptr_t)h,
	};
}

/* The name that was put first stands last. Each symbol has noted its name's distance from the
 * end, which becomes an offset now. */
static void put_symbols(struct head *h, struct fl_ground_block *b)
{
	Elf64_Sym *s = symbols_of(b);
	uint32_t n = b->n_names + 1;

	b->name_bytes++;
	*names_of(b) = '\0';
	*s = (Elf64_Sym){ 0 };
	for (uint32_t i = 1; i < n; i++)
		s[i].st_name = b->name_bytes - s[i].st_name;
	put_section(h, SYMBOLS, SHT_SYMTAB, s, n * sizeof *s);
	put_section(h, NAMES, SHT_STRTAB, names_of(b), b->name_bytes);
	h->sections[SYMBOLS].sh_link = NAMES;
	h->sections[SYMBOLS].sh_info = n;	/* all of them are local */
	h->sections[SYMBOLS].sh_entsize = sizeof *s;
}

/* The block takes no more bodies: complete its file, and tell gdb. */
void fl_jit_tell(struct fl_ground_block *b)
{
	struct head *h = (struct head *)b->near.data;
	const unsigned char *frames;
	size_t n;

	if (!b->used || b->near.data_bytes / 2 - b->data_used < 2 * sizeof(Elf64_Sym))
		return;
	frames = fl_unwind_frames(&b->unwind, &n);
	h->file = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = FL_ARCH_ELF_MACHINE, .e_version = EV_CURRENT,
		.e_shoff = offsetof(struct head, sections), .e_ehsize = sizeof h->file,
		.e_shentsize = sizeof *h->sections, .e_shnum = N_SECTIONS,
		.e_shstrndx = TITLES,
	};
	memcpy(h->titles, titles, sizeof titles);
	put_section(h, TEXT, SHT_NOBITS, b->near.code, b->used);
	put_section(h, FRAMES, SHT_PROGBITS, frames, n);
	put_symbols(h, b);
	put_section(h, TITLES, SHT_STRTAB, h->titles, sizeof titles);
	h->entry = (struct entry){ .file = h, .bytes = b->near.data_bytes };
	tell_gdb(&h->entry);
}

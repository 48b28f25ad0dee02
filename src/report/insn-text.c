/*
 * insn-text.c - instructions of files as assemblers write them, in AT&T's syntax on x86.
 *
 * Hides libcapstone, and that it is loaded by who asks for an instruction alone: a recorder,
 * which never does, would start later by its relocations.
 */
#include <capstone/capstone.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "obj/obj.h"
#include "report/table.h"

/* Its structures are those of the headers in this version alone. */
#define TEXT_OF(number) #number
#define LIBRARY_OF(major) "libcapstone.so." TEXT_OF(major)
#define LIBRARY LIBRARY_OF(CS_API_MAJOR)

struct fl_insn_texts {
	void *library;			/* NULL: there is none */
	typeof(cs_open) *open;
	typeof(cs_option) *option;
	typeof(cs_disasm) *disassemble;
	typeof(cs_free) *free;
	typeof(cs_close) *close;
	unsigned machine;		/* that `handle` is for; EM_NONE: for none yet */
	csh handle;			/* 0: that processor is not known */
	char *path;			/* of the file that was asked for last; NULL: of none */
	int fd;				/* -1: it is no ELF file */
	struct fl_headers headers;
};

struct fl_insn_texts *fl_insn_texts_open(void)
{
	struct fl_insn_texts *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = -1;
	t->library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	if (!t->library)
		return t;
	t->open = (typeof(t->open))dlsym(t->library, "cs_open");
	t->option = (typeof(t->option))dlsym(t->library, "cs_option");
	t->disassemble = (typeof(t->disassemble))dlsym(t->library, "cs_disasm");
	t->free = (typeof(t->free))dlsym(t->library, "cs_free");
	t->close = (typeof(t->close))dlsym(t->library, "cs_close");
	return t;
}

static void leave_machine(struct fl_insn_texts *t)
{
	if (t->handle)
		t->close(&t->handle);
	t->handle = 0;
}

static void leave_file(struct fl_insn_texts *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	free(t->path);
	t->path = NULL;
}

void fl_insn_texts_close(struct fl_insn_texts *t)
{
	if (!t)
		return;
	leave_file(t);
	leave_machine(t);
	if (t->library)
		dlclose(t->library);
	free(t);
}

static void use_machine(struct fl_insn_texts *t, unsigned machine)
{
	const bool is_x86 = machine == EM_X86_64;

	if (t->machine == machine)
		return;
	leave_machine(t);
	t->machine = machine;
	if ((!is_x86 && machine != EM_AARCH64) ||
	    t->open(is_x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, is_x86 ? CS_MODE_64 : CS_MODE_ARM,
		    &t->handle))
		t->handle = 0;
	else if (is_x86)
		t->option(t->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
}

char *fl_insn_text(struct fl_insn_texts *t, unsigned machine, const unsigned char *bytes,
		   size_t n, uint64_t at)
{
	cs_insn *insn;
	char *text = NULL;

	if (!t->library)
		return strdup("");
	use_machine(t, machine);
	if (!t->handle || !t->disassemble(t->handle, bytes, n, at, 1, &insn))
		return strdup("");
	if (asprintf(&text, "%s%s%s", insn->mnemonic, *insn->op_str ? " " : "",
		     insn->op_str) < 0)
		text = NULL;
	t->free(insn, 1);
	return text;
}

/* 0 or -ENOMEM. */
static int use_file(struct fl_insn_texts *t, const char *path)
{
	if (t->path && !strcmp(t->path, path))
		return 0;
	leave_file(t);
	t->path = strdup(path);
	if (!t->path)
		return -ENOMEM;
	t->fd = fl_headers_open(&t->headers, path);
	return 0;
}

char *fl_insn_text_in(struct fl_insn_texts *t, const char *path, uint64_t at)
{
	unsigned char bytes[16];	/* as long as any */
	uint64_t offset, left;

	if (use_file(t, path))
		return NULL;
	if (t->fd < 0 || !fl_headers_offset(&t->headers, at, &offset, &left))
		return strdup("");
	left = left < sizeof(bytes) ? left : sizeof(bytes);
	if (!fl_headers_read(t->fd, bytes, offset, left))
		return strdup("");
	return fl_insn_text(t, t->headers.eh.e_machine, bytes, left, at);
}

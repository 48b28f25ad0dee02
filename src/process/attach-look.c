/*
 * attach-look.c - what a running process looks like from outside: mappings,
 * functions.
 *
 * Hides /proc/PID and the C library's tables, which are read in the process's
 * memory: its file may have been replaced since. Hides, too, that a process may have several
 * C libraries, of which one is the program's own.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/os.h"
#include "process/attach.h"

/* ---- memory ----------------------------------------------------------------------- */

bool fl_attach_read(const struct fl_attached *a, uintptr_t at, void *to, size_t n)
{
	return pread(a->mem, to, n, (off_t)at) == (ssize_t)n;
}

/* The memory that was opened is of one program: it goes with that, or when all has ended. A
 * process that ends has no memory for some time before it is a zombie. */
bool fl_attach_is_another(const struct fl_attached *a)
{
	struct fl_process_status s;
	char byte;

	return a->call && !fl_attach_read(a, a->call, &byte, 1) &&
	       !fl_os_process_status(a->pid, &s) && !s.ends;
}

/* An exec ends the thread that flick borrowed or that came in, or denies it another one
 * (EAGAIN), some time before there is another program: so long its first thread is a zombie. */
bool fl_attach_becomes_another(const struct fl_attached *a)
{
	enum { PATIENCE_US = 100000, PAUSE_US = 1000 };

	for (uint32_t us = 0; us < PATIENCE_US && !kill(a->pid, 0); us += PAUSE_US) {
		if (fl_attach_is_another(a))
			return true;
		fl_os_sleep_us(PAUSE_US);
	}
	return false;
}

static int take_own_name(void *arg, const struct fl_mapping *m)
{
	struct fl_attach_map *to = arg;
	char *path = m->lo == to->lo ? strdup(m->path) : NULL;

	if (!path)
		return 0;
	free(to->path);
	to->path = path;
	return 1;
}

static int take_map(struct fl_attached *a, const char *line)
{
	unsigned long lo, hi, offset, inode;
	unsigned int major, minor;
	struct fl_attach_map m;
	char prot[8];
	int path = 0;

	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &lo, &hi, prot, &offset, &major,
		   &minor, &inode, &path) < 7)
		return 0;
	m = (struct fl_attach_map){
		.lo = lo,
		.hi = hi,
		.offset = offset,
		.inode = inode,
		.device = makedev(major, minor),
		.path = strdup(line + path),
		.prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
			(prot[2] == 'x' ? PROT_EXEC : 0),
	};
	if (!m.path || fl_array_room(&a->maps, a->n_maps, sizeof(m)))
		return -ENOMEM;
	m.path[strcspn(m.path, "\n")] = '\0';
	if (strstr(m.path, "\\012"))	/* a newline, or what is written like one */
		fl_os_mappings_of(a->pid, take_own_name, &m);
	a->maps[a->n_maps++] = m;
	return 0;
}

int fl_attach_read_maps(struct fl_attached *a)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", a->pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && getline(&line, &room, f) > 0)
		err = take_map(a, line);
	free(line);
	fclose(f);
	return err;
}

const struct fl_attach_map *fl_attach_map_at(const struct fl_attached *a, uintptr_t at)
{
	for (size_t i = 0; i < a->n_maps; i++)
		if (at - a->maps[i].lo < a->maps[i].hi - a->maps[i].lo)
			return &a->maps[i];
	return NULL;
}

/* ---- a library's functions -------------------------------------------------------- */

struct library {
	uintptr_t base;
	Elf64_Sym *symbols;
	char *strings;
	size_t n, strings_bytes;
};

static bool read_header(const struct fl_attached *a, uintptr_t at, Elf64_Ehdr *eh)
{
	return fl_attach_read(a, at, eh, sizeof(*eh)) &&
	       !memcmp(eh->e_ident, ELFMAG, SELFMAG) &&
	       eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_phnum < 64;
}

/* In memory the loader has made the addresses of tables absolute, or has left them as in the
 * file. */
static void note_table(struct library *l, const Elf64_Dyn *d, uintptr_t *symbols,
		       uintptr_t *strings)
{
	uintptr_t at = d->d_un.d_ptr < l->base ? l->base + d->d_un.d_ptr : d->d_un.d_ptr;

	if (d->d_tag == DT_SYMTAB)
		*symbols = at;
	else if (d->d_tag == DT_STRTAB)
		*strings = at;
	else if (d->d_tag == DT_STRSZ)
		l->strings_bytes = d->d_un.d_val;
}

/* Linkers put the strings behind the symbols. */
static bool read_dynamic(const struct fl_attached *a, struct library *l, uintptr_t at)
{
	enum { MOST = 1 << 24 };
	uintptr_t symbols = 0, strings = 0;
	Elf64_Dyn d = { .d_tag = DT_DEBUG };

	for (; d.d_tag != DT_NULL && fl_attach_read(a, at, &d, sizeof(d)); at += sizeof(d))
		note_table(l, &d, &symbols, &strings);
	if (!symbols || strings <= symbols || strings - symbols > MOST ||
	    l->strings_bytes > MOST)
		return false;
	l->n = (strings - symbols) / sizeof(*l->symbols);
	l->symbols = malloc((l->n + 1) * sizeof(*l->symbols));
	l->strings = malloc(l->strings_bytes + 1);
	if (!l->symbols || !l->strings ||
	    !fl_attach_read(a, symbols, l->symbols, l->n * sizeof(*l->symbols)) ||
	    !fl_attach_read(a, strings, l->strings, l->strings_bytes))
		return false;
	l->strings[l->strings_bytes] = '\0';
	return true;
}

static bool read_library(const struct fl_attached *a, struct library *l, uintptr_t base)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	*l = (struct library){ .base = base };
	if (!read_header(a, base, &eh))
		return false;
	for (size_t i = 0; i < eh.e_phnum; i++)
		if (fl_attach_read(a, base + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)) &&
		    ph.p_type == PT_DYNAMIC)
			return read_dynamic(a, l, base + ph.p_vaddr);
	return false;
}

static uintptr_t symbol_at_name(const struct library *l, const char *name, unsigned type)
{
	for (size_t i = 0; i < l->n; i++) {
		const Elf64_Sym *s = &l->symbols[i];

		if (s->st_shndx != SHN_UNDEF && s->st_name < l->strings_bytes &&
		    ELF64_ST_TYPE(s->st_info) == type &&
		    !strcmp(l->strings + s->st_name, name))
			return l->base + s->st_value;
	}
	return 0;
}

static uintptr_t find_function(const struct library *l, const char *name)
{
	return symbol_at_name(l, name, STT_FUNC);
}

static void free_library(struct library *l)
{
	free(l->symbols);
	free(l->strings);
}

/* ---- the program's own modules ------------------------------------------------------ */

static bool is_file_of(const struct fl_attach_map *m, const char *start)
{
	return m->inode && !strncmp(fl_base_name(m->path), start, strlen(start));
}

/* The list changes meanwhile; what is read is whole if each entry names the one before. */
static bool read_list(struct fl_attached *a, uintptr_t at)
{
	enum { MOST = 1 << 16 };
	uintptr_t before = 0;
	struct link_map m;

	for (a->n_own = 0; at && a->n_own < MOST; at = (uintptr_t)m.l_next) {
		if (!fl_attach_read(a, at, &m, sizeof(m)) || (uintptr_t)m.l_prev != before ||
		    fl_array_room(&a->own, a->n_own, sizeof(*a->own)))
			return false;
		a->own[a->n_own++] = (struct fl_attach_module){ m.l_addr,
								(uintptr_t)m.l_name };
		before = at;
	}
	return !at;
}

/* The loader's own variables, of which its locks are some. */
static void find_variables(struct fl_attached *a, const struct library *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const Elf64_Sym *s = &l->symbols[i];

		if (s->st_name < l->strings_bytes && s->st_shndx != SHN_UNDEF &&
		    !strcmp(l->strings + s->st_name, "_rtld_global")) {
			a->loader = l->base + s->st_value;
			a->loader_bytes = s->st_size;
		}
	}
}

/* Read the list by what the loader at `base` tells debuggers. */
static bool read_own_of(struct fl_attached *a, uintptr_t base)
{
	enum { TRIES = 1000 };
	struct r_debug debug;
	struct library l;
	uintptr_t at = 0;
	bool is_whole = false;

	if (read_library(a, &l, base)) {
		at = symbol_at_name(&l, "_r_debug", STT_OBJECT);
		find_variables(a, &l);
	}
	free_library(&l);
	for (int i = 0; at && !is_whole && i < TRIES; i++)
		is_whole = fl_attach_read(a, at, &debug, sizeof(debug)) &&
			   read_list(a, (uintptr_t)debug.r_map) && a->n_own;
	return is_whole;
}

/* Read the loader's first list. dlmopen() and LD_AUDIT make others, each with a C library of
 * its own, which is not the one that the program's threads are of. And a program may have
 * mapped the files only to read them, as flick does for a scan. */
static void read_own(struct fl_attached *a)
{
	for (size_t i = 0; i < a->n_maps; i++)
		if (is_file_of(&a->maps[i], "ld-") && !a->maps[i].offset &&
		    read_own_of(a, a->maps[i].lo))
			return;
	a->n_own = 0;
}

/* A recursive mutex as the C library has it. */
struct mutex_there {
	int32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t users;
	int32_t kind;			/* 1: recursive */
};

/* The next one in a copy of the loader's variables that a thread holds; NULL: none. */
static const struct mutex_there *next_held(const char *bytes, size_t n, size_t *at,
					   struct mutex_there *m)
{
	enum { RECURSIVE = 1 };

	for (; *at + sizeof(*m) <= n; *at += 8) {
		memcpy(m, bytes + *at, sizeof(*m));
		if (m->lock && m->count && m->users == 1 && m->kind == RECURSIVE) {
			*at += 8;
			return m;
		}
	}
	return NULL;
}

/* NULL: there is none, or no memory. */
static char *read_variables(const struct fl_attached *a, size_t *n)
{
	enum { MOST = 1 << 15 };
	char *bytes;

	*n = a->loader_bytes < MOST ? a->loader_bytes : MOST;
	bytes = malloc(*n + 1);
	if (bytes && fl_attach_read(a, a->loader, bytes, *n))
		return bytes;
	free(bytes);
	return NULL;
}

bool fl_attach_is_loading(const struct fl_attached *a, int tid)
{
	size_t n, at = 0, held = 0;
	char *bytes = read_variables(a, &n);
	struct mutex_there m;

	while (bytes && next_held(bytes, n, &at, &m))
		held += m.owner == tid;
	free(bytes);
	return held > 1;
}

int fl_attach_loads(const struct fl_attached *a)
{
	size_t n, at = 0;
	char *bytes = read_variables(a, &n);
	struct fl_thread_status s;
	struct mutex_there m;
	int holder = 0;

	while (bytes && !holder && next_held(bytes, n, &at, &m))
		holder = m.owner > 0 && !fl_os_thread_status(a->pid, m.owner, &s) ?
			 m.owner : 0;
	free(bytes);
	return holder;
}

/* A text there of `n` bytes at most; it may end where what is mapped does. "": it is longer, or
 * not to be read. */
static void read_text(const struct fl_attached *a, uintptr_t at, char *to, size_t n)
{
	size_t have = 0, piece;

	do {
		piece = FL_PAGE - (at + have) % FL_PAGE;
		piece = piece < n - have ? piece : n - have;
		if (!piece || !fl_attach_read(a, at + have, to + have, piece)) {
			*to = '\0';
			return;
		}
		have += piece;
	} while (!memchr(to + have - piece, '\0', piece));
}

/* The program's own module at `base`; NULL: it is none. */
static const struct fl_attach_module *own_at(const struct fl_attached *a, uintptr_t base)
{
	size_t i = 0;

	while (i < a->n_own && a->own[i].base != base)
		i++;
	return i < a->n_own ? &a->own[i] : NULL;
}

/* Where the module begins whose file is mapped there; 0: there is none. */
static uintptr_t first_of(const struct fl_attached *a, const struct fl_attach_map *m)
{
	const uint64_t inode = m->inode;

	while (m > a->maps && (m->offset || m->inode != inode))
		m--;
	return inode && m->inode == inode && !m->offset ? m->lo : 0;
}

/* ---- the C library ---------------------------------------------------------------- */

static void find_functions(struct fl_attached *a, uintptr_t base)
{
	const struct {
		const char *name;
		uint64_t *to;
	} wanted[] = {
		{ "pthread_create", &a->with.pthread_create },
		{ "pthread_self", &a->with.pthread_self },
		{ "pthread_detach", &a->with.pthread_detach },
		{ "dlopen", &a->with.dlopen },
		{ "dlsym", &a->with.dlsym },
		{ "dlerror", &a->with.dlerror },
		{ "_dl_allocate_tls_init", &a->with.tls_init },
	};
	struct library l;

	if (read_library(a, &l, base))
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
			if (!*wanted[i].to)
				*wanted[i].to = find_function(&l, wanted[i].name);
	free_library(&l);
}

/* Find a system call, and sigreturn, in a mapping of the C library's code. */
static void find_call_places(struct fl_attached *a, const struct fl_attach_map *m)
{
	size_t n = m->hi - m->lo, call, sigreturn;
	unsigned char *text = malloc(n);

	if (text && fl_attach_read(a, m->lo, text, n)) {
		call = fl_arch_find_call(text, n);
		sigreturn = fl_arch_find_sigreturn(text, n);
		a->call = call ? m->lo + call - 1 : a->call;
		a->sigreturn = sigreturn ? m->lo + sigreturn - 1 : a->sigreturn;
	}
	free(text);
}

static bool has_function(const struct fl_attached *a, uintptr_t base, const char *name)
{
	struct library l = { .base = base };
	bool has = base && read_library(a, &l, base) && find_function(&l, name);

	free_library(&l);
	return has;
}

bool fl_attach_allocates(const struct fl_attached *a, const struct fl_attach_map *m)
{
	return has_function(a, first_of(a, m), "malloc");
}

bool fl_attach_exports(const struct fl_attached *a, const char *name)
{
	for (size_t i = 0; i < a->n_maps; i++) {
		const struct fl_attach_map *m = &a->maps[i];

		if (!m->offset && own_at(a, m->lo) && has_function(a, m->lo, name))
			return true;
	}
	return false;
}

static bool is_single(struct fl_attached *a, uintptr_t base)
{
	struct library l;
	uintptr_t at = 0;
	char is = 1;

	if (read_library(a, &l, base))
		at = symbol_at_name(&l, "__libc_single_threaded", STT_OBJECT);
	free_library(&l);
	return !at || !fl_attach_read(a, at, &is, 1) || is;
}

static bool has_all(const struct fl_attached *a)
{
	const struct fl_inject *w = &a->with;

	return a->c_library && a->call && a->sigreturn && (w->tls_init || a->data) &&
	       w->pthread_create && w->pthread_self && w->pthread_detach && w->dlopen &&
	       w->dlsym && w->dlerror;
}

/* Where a recorder's reader was killed, and nobody has noticed yet, the recorder's end is
 * awaited. */
static void count_recorders(struct fl_attached *a, uintptr_t recorders, uintptr_t region)
{
	enum { PAUSE_US = 2000, TRIES = 500 };
	struct fl_region *m = calloc(1, sizeof(*m));
	uintptr_t at = 0;

	a->recorders = FL_RECORDERS_NONE;
	for (int i = 0; m && recorders && i < TRIES; i++) {
		fl_attach_read(a, recorders, &a->recorders, sizeof(a->recorders));
		if (!a->recorders || !region || !fl_attach_read(a, region, &at, sizeof(at)) ||
		    !fl_attach_read(a, at, m, sizeof(*m)) || fl_shm_reader_lives(m))
			break;
		fl_os_sleep_us(PAUSE_US);
	}
	free(m);
}

/* Was the libflick.so that is there made with a flick that had the same region? One that has no
 * such symbol is older than the symbol. */
static bool is_speaking(const struct fl_attached *a, uintptr_t speaks)
{
	const uint32_t own[2] = { FL_SHM_VERSION, sizeof(struct fl_region) };
	uint32_t its[2];

	return speaks && fl_attach_read(a, speaks, its, sizeof(its)) &&
	       !memcmp(its, own, sizeof(own));
}

/* Is libflick.so mapped there? The loader's name for it tells, whatever has become of its file,
 * which may have another name by now, or be replaced by an upgrade. */
static bool is_there_before(struct fl_attached *a, const struct fl_attach_map *m)
{
	static const char start[] = "libflick.so";
	const struct fl_attach_module *own = m->offset || !m->inode ? NULL : own_at(a, m->lo);
	char *name = a->loaded_name;

	*name = '\0';
	if (own)
		read_text(a, own->name, name, sizeof(a->loaded_name));
	return !strncmp(fl_base_name(name), start, sizeof(start) - 1);
}

/* What an earlier attach has left there, if its library speaks as this one does. */
static void find_left(struct fl_attached *a, const struct fl_attach_map *m)
{
	struct fl_inject was = { .code = 0 };
	struct library l;
	uintptr_t at = 0, with = 0, recorders = 0, region = 0, speaks = 0;
	uintptr_t nobody = 0;

	if (read_library(a, &l, m->lo)) {
		at = symbol_at_name(&l, "flick_attached", STT_OBJECT);
		recorders = symbol_at_name(&l, "flick_recorders", STT_OBJECT);
		region = symbol_at_name(&l, "flick_region", STT_OBJECT);
		speaks = symbol_at_name(&l, "flick_speaks", STT_OBJECT);
		nobody = symbol_at_name(&l, "flick_nobody", STT_OBJECT);
	}
	free_library(&l);
	a->library = m;
	a->is_foreign = !is_speaking(a, speaks);
	if (a->is_foreign)
		return;
	count_recorders(a, recorders, region);
	if (nobody)
		fl_attach_read(a, nobody, a->nobody, sizeof(a->nobody));
	if (at && fl_attach_read(a, at, &with, sizeof(with)) && with &&
	    fl_attach_read(a, with, &was, sizeof(was))) {
		a->code = was.code;
		a->data = was.data;
		a->with.tls_init = 0;
	}
}

static void look_at(struct fl_attached *a, const struct fl_attach_map *m)
{
	bool is_c = is_file_of(m, "libc.so.6") || is_file_of(m, "libc-2.");

	if (is_c && !m->offset)
		a->c_library = m->lo;
	if (!m->offset && (is_c || is_file_of(m, "libpthread") || is_file_of(m, "libdl") ||
			   is_file_of(m, "ld-")))
		find_functions(a, m->lo);
	if (is_c && m->prot & PROT_EXEC)
		find_call_places(a, m);
}

int fl_attach_look(struct fl_attached *a)
{
	int err = fl_attach_read_maps(a);

	if (err)
		return err;
	read_own(a);
	for (size_t i = 0; i < a->n_maps; i++)
		if (own_at(a, first_of(a, &a->maps[i])))
			look_at(a, &a->maps[i]);
	for (size_t i = 0; i < a->n_maps && !a->library; i++)
		if (is_there_before(a, &a->maps[i]))
			find_left(a, &a->maps[i]);
	if (!a->library)
		fl_attach_find_failed(a);
	if (a->c_library)
		a->is_alone = is_single(a, a->c_library);
	return has_all(a) ? 0 : -ENOTSUP;
}

int fl_attach_look_anew(struct fl_attached *a)
{
	fl_attach_forget(a);
	a->library = NULL;
	return fl_attach_look(a);
}

int fl_attach_look_again(struct fl_attached *a)
{
	for (size_t i = 0; i < a->n_maps; i++)
		free(a->maps[i].path);
	a->n_maps = 0;
	a->library = NULL;
	return fl_attach_read_maps(a);
}

void fl_attach_forget(struct fl_attached *a)
{
	for (size_t i = 0; i < a->n_maps; i++)
		free(a->maps[i].path);
	free(a->maps);
	free(a->own);
	a->maps = NULL;
	a->own = NULL;
	a->n_maps = a->n_own = 0;
}

/*
 * symbol.c - which function stands at an ELF address, and on which line.
 *
 * Hides where names come from: the file's .symtab or .dynsym or, if nobody else may write the
 * file, a separate debug file or .gnu_debugdata (source.c). Each file is read once, into a
 * row sorted by address; of several names for one address the best is shown, and the others
 * are kept, too. Where a function has no name the tables for unwinding still say where it
 * begins. A stub of the linkage table is named after the function that it leads to,
 * NAME@plt. Frames and stubs are read when an address without a symbol is met. The function
 * that the loader chose for a name (memcpy, by IFUNC) has that name, too.
 */
#include <dlfcn.h>
#include <libiberty/demangle.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "obj/obj.h"
#include "report/linkage.h"
#include "report/schema.h"
#include "report/source.h"

#define LONGEST (16u << 10)		/* bytes of a name */

struct entry {
	uint64_t address, size;
	const char *linkage;		/* owned by obj, names or `cut` */
	char *name;			/* demangled at first use; NULL: not yet */
	uint32_t len;			/* of linkage */
	uint32_t rank;			/* lower is better */
};

/* A function, by the tables for unwinding. */
struct frame {
	uint64_t lo, hi;
};

struct file {
	char *path;
	struct fl_obj obj;		/* has the names, or ... */
	struct fl_source names;
	bool has_names;			/* ... `names` has them */
	struct lines *lines;		/* NULL: not asked for yet */
	bool asked_frames;
	struct frame *frames;		/* ascending; filled by ask_frames() */
	size_t n_frames;
	struct entry *stubs;		/* ascending by address; likewise */
	size_t n_stubs;
	struct entry *entries;		/* ascending by address */
	size_t n;
	struct entry *others;		/* names that are not the best one of their address */
	size_t n_others;
	char **cut;			/* names without their versions, and of stubs */
	size_t n_cut;
};

/* A file's table of lines, which is as large as all the rest of the file. */
struct lines {
	pthread_mutex_t lock;		/* of this struct and of libdw's data for it */
	bool is_read;			/* the table was looked for; is_there: found, ... */
	bool is_there, is_own;		/* ... in the file itself, whole */
	struct fl_source source;	/* open when is_there */
};

struct fl_symbols {
	pthread_mutex_t lock;		/* of files, entries */
	struct file *files;
	size_t n;
	size_t last;			/* that was asked for last */
};

/* ---- reading a file ------------------------------------------------------- */

/* Entries of one address are in the order global, weak, local, chosen by the loader. */
enum { WORST = 3 };

static uint32_t rank_of(unsigned char info)
{
	switch (ELF64_ST_BIND(info)) {
	case STB_GLOBAL: return 0;
	case STB_WEAK:	 return 1;
	default:	 return 2;
	}
}

static int compare_entries(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->linkage == b->linkage ? 0 : strcmp(a->linkage, b->linkage);
}

/* Keep the best entry of each address in `entries`, and move others to `others`, as far as
 * there is memory for them. */
static void keep_best(struct file *f)
{
	struct entry *e = f->entries;
	size_t n = f->n;

	f->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!f->n || e[f->n - 1].address != e[i].address)
			e[f->n++] = e[i];
		else if (strcmp(e[f->n - 1].linkage, e[i].linkage) &&
			 !fl_array_room(&f->others, f->n_others, sizeof(*f->others)))
			f->others[f->n_others++] = e[i];
}

static bool is_function(unsigned char info, unsigned section)
{
	int type = ELF64_ST_TYPE(info);

	return section != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* `memcpy@@GLIBC_2.14` is memcpy: the version behind it is the linker's. NULL: no memory. */
static const char *cut_version(struct file *f, const char *name, size_t *len)
{
	const char *mark = memchr(name, '@', *len);

	if (!mark || mark == name)
		return name;
	if (fl_array_room(&f->cut, f->n_cut, sizeof(*f->cut)))
		return NULL;
	*len = (size_t)(mark - name);
	f->cut[f->n_cut] = strndup(name, *len);
	return f->cut[f->n_cut] ? f->cut[f->n_cut++] : NULL;
}

/* The address of the function that is chosen for an IFUNC's name on this machine. The loader
 * tells it for a file that it has loaded for this process, too. 0: it is not known. */
static uint64_t chosen_for(const struct file *f, const char *name)
{
	void *library = dlopen(f->path, RTLD_LAZY | RTLD_NOLOAD);
	void *at = library ? dlsym(library, name) : NULL;
	struct link_map *of = NULL;
	Dl_info info;
	uint64_t offset = 0;

	if (at && dladdr1(at, &info, (void **)&of, RTLD_DL_LINKMAP) && of == library)
		offset = (uintptr_t)at - of->l_addr;
	if (library)
		dlclose(library);
	return offset;
}

static const struct frame *frame_around(struct file *f, uint64_t at);

static int put_entry(struct file *f, const struct entry *e)
{
	if (fl_array_room(&f->entries, f->n, sizeof(*f->entries)))
		return -ENOMEM;
	f->entries[f->n++] = *e;
	return 0;
}

/* Add a function, unless its name is longer than anybody reads. 0 or -ENOMEM. */
static int add_entry(struct file *f, const char *name, uint64_t at, uint64_t size,
		     unsigned char info)
{
	struct entry e = { .address = at, .size = size, .rank = rank_of(info) };
	size_t len = name ? strnlen(name, LONGEST + 1) : 0;
	const struct frame *frame;
	int err;

	if (!len || len > LONGEST)
		return 0;
	e.linkage = cut_version(f, name, &len);
	e.len = (uint32_t)len;
	err = e.linkage ? put_entry(f, &e) : -ENOMEM;
	if (err || ELF64_ST_TYPE(info) != STT_GNU_IFUNC)
		return err;
	e.address = chosen_for(f, e.linkage);
	frame = e.address ? frame_around(f, e.address) : NULL;
	e.size = frame && frame->lo == e.address ? frame->hi - frame->lo : 0;
	e.rank = WORST;
	return e.address ? put_entry(f, &e) : 0;
}

static int take_symbol(void *file, const char *name, const Elf64_Sym *s)
{
	return is_function(s->st_info, s->st_shndx) ?
	       add_entry(file, name, s->st_value, s->st_size, s->st_info) : 0;
}

static bool has_symtab(const struct fl_obj *o)
{
	for (size_t i = 1; o->sh && i < o->n_sh; i++)
		if (o->sh[i].sh_type == SHT_SYMTAB)
			return true;
	return false;
}

/* Take the symbols that libdwfl knows for one's own file: it looks into other files, too. */
static void take_known(struct file *f)
{
	int n = dwfl_module_getsymtab(f->names.module);

	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name = dwfl_module_getsym_info(f->names.module, i, &sym, &at,
							   NULL, NULL, NULL);

		if (is_function(sym.st_info, sym.st_shndx) &&
		    add_entry(f, name, at - f->names.bias, sym.st_size, sym.st_info))
			break;
	}
}

static void read_file(struct file *f)
{
	struct fl_module m;

	if (fl_obj_copy(&m, f->path, FL_OBJ_SYMBOLS))
		return;
	f->obj = m.file;
	f->has_names = !has_symtab(&f->obj) && !fl_source_open(&f->names, f->path);
	if (f->has_names) {
		take_known(f);
		fl_source_rest(&f->names);
	} else {
		fl_obj_symbols(&f->obj, take_symbol, f);
	}
	if (f->n)
		qsort(f->entries, f->n, sizeof(*f->entries), compare_entries);
	keep_best(f);
}

static struct file *file_of(struct fl_symbols *s, const char *path)
{
	struct file *f;

	/* most are asked of the file that was asked for last */
	if (s->last < s->n && !strcmp(s->files[s->last].path, path))
		return &s->files[s->last];
	for (s->last = 0; s->last < s->n; s->last++)
		if (!strcmp(s->files[s->last].path, path))
			return &s->files[s->last];
	if (fl_array_room(&s->files, s->n, sizeof(*s->files)))
		return NULL;
	f = &s->files[s->n];
	*f = (struct file){ .path = strdup(path) };
	if (!f->path)
		return NULL;
	read_file(f);
	s->n++;
	return f;
}

/* ---- names as people write them --------------------------------------------- */

/* A short mangled name may stand for one that would fill all memory: put_plain() breaks off
 * the demangler when the text gets too long. */
struct plain {
	jmp_buf too_long;
	size_t n;
	char text[LONGEST];
};

static void put_plain(const char *text, size_t n, void *arg)
{
	struct plain *p = arg;

	if (n >= sizeof(p->text) - p->n)
		longjmp(p->too_long, 1);
	if (n)
		memcpy(p->text + p->n, text, n);
	p->n += n;
}

/* Older names of Rust are mangled as C++ names that end with a hash. */
static bool may_be_rust(const char *linkage)
{
	return linkage[1] == 'R' || strstr(linkage, "17h");
}

static bool fill_plain(struct plain *p, const char *linkage, int options)
{
	p->n = 0;
	if (setjmp(p->too_long))
		return false;
	if (may_be_rust(linkage) && rust_demangle_callback(linkage, options, put_plain, p))
		return true;
	p->n = 0;
	return cplus_demangle_v3_callback(linkage, options, put_plain, p);
}

/* Names of C need not be given to a demangler. */
static bool may_be_mangled(const char *linkage)
{
	return *linkage == '_' && (linkage[1] == 'Z' || linkage[1] == 'R' ||
				   !strncmp(linkage, "_GLOBAL_", 8));
}

bool fl_symbols_is_plain(const char *linkage)
{
	return !may_be_mangled(linkage);
}

/* The demangled name; a stub's name is demangled up to its @plt. NULL: it is no name of C++ or
 * Rust, or too long. */
static char *demangle(const char *linkage, int options)
{
	struct plain *p = may_be_mangled(linkage) ? malloc(sizeof(*p)) : NULL;
	const char *mark = strchrnul(linkage, '@');
	char *mangled = p ? strndup(linkage, (size_t)(mark - linkage)) : NULL;
	char *name = NULL;

	if (mangled && fill_plain(p, mangled, options) &&
	    asprintf(&name, "%.*s%s", (int)p->n, p->text, mark) < 0)
		name = NULL;
	free(mangled);
	free(p);
	return name;
}

char *fl_symbols_plain(const char *linkage)
{
	return demangle(linkage, DMGL_AUTO);
}

char *fl_symbols_full(const char *linkage)
{
	char *name = demangle(linkage, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);

	return name ? name : strdup(linkage);
}

static const char *name_of(struct entry *e)
{
	if (!e->name)
		e->name = fl_symbols_full(e->linkage);
	return e->name ? e->name : e->linkage;
}

/* ---- looking up ------------------------------------------------------------ */

/* A function of assembly may have no size: it counts as 1. */
static uint64_t size_of(const struct entry *e)
{
	return e->size ? e->size : 1;
}

static int take_frame(void *arg, const struct fl_obj_frame *frame)
{
	struct file *f = arg;

	if (fl_array_room(&f->frames, f->n_frames, sizeof(*f->frames)))
		return -ENOMEM;
	f->frames[f->n_frames++] = (struct frame){ frame->start, frame->end };
	return 0;
}

static int take_stub(void *arg, const char *function, uint64_t at, uint64_t size)
{
	struct file *f = arg;
	char *name;

	if (fl_array_room(&f->cut, f->n_cut, sizeof(*f->cut)) ||
	    fl_array_room(&f->stubs, f->n_stubs, sizeof(*f->stubs)) ||
	    asprintf(&name, "%.*s@plt", (int)LONGEST, function) < 0)
		return -ENOMEM;
	f->cut[f->n_cut++] = name;
	f->stubs[f->n_stubs++] = (struct entry){ .address = at, .size = size, .linkage = name };
	return 0;
}

/* Read a file's frames and stubs, once; a file that cannot be read has none. */
static void ask_frames(struct file *f)
{
	struct fl_module m;

	f->asked_frames = true;
	if (fl_obj_copy(&m, f->path, FL_OBJ_TABLES))
		return;
	fl_obj_frames(&m, take_frame, f);
	for (size_t i = 0; i < f->n_frames; i++) {
		f->frames[i].lo -= m.bias;
		f->frames[i].hi -= m.bias;
	}
	fl_linkage_stubs(&m, take_stub, f);
	if (f->n_stubs)
		qsort(f->stubs, f->n_stubs, sizeof(*f->stubs), compare_entries);
	fl_obj_unlay(&m);
}

bool fl_symbols_build_id(struct fl_symbols *s, const char *path, char text[FL_BUILD_ID_TEXT])
{
	uint8_t id[FL_OBJ_ID];
	bool has_id = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; !has_id && i < s->n; i++)
		has_id = s->files[i].obj.eh && !strcmp(s->files[i].path, path) &&
			 fl_obj_file_id(&s->files[i].obj, id);
	pthread_mutex_unlock(&s->lock);
	if (has_id)
		fl_build_id_text(id, text);
	return has_id;
}

/* Nearly all functions of a stripped program are found by frames, so these are read, too. */
void fl_symbols_load(struct fl_symbols *s, const char *path)
{
	struct file *f = file_of(s, path);

	if (f && !has_symtab(&f->obj))
		ask_frames(f);
}

static const struct frame *frame_around(struct file *f, uint64_t at)
{
	size_t n;

	if (!f->asked_frames)
		ask_frames(f);
	n = fl_rows_from(f->frames, f->n_frames, sizeof(*f->frames), at);
	return n && at < f->frames[n - 1].hi ? &f->frames[n - 1] : NULL;
}

static struct entry *entry_in(struct entry *entries, size_t n, uint64_t at)
{
	struct entry *e = entries;

	n = fl_rows_from(entries, n, sizeof(*entries), at);
	if (!n)
		return NULL;
	e += n - 1;
	return at - e->address < size_of(e) ? e : NULL;
}

static struct entry *entry_around(struct fl_symbols *s, const char *path, uint64_t at)
{
	struct file *f = file_of(s, path);
	struct entry *e = f ? entry_in(f->entries, f->n, at) : NULL;

	if (!f || e)
		return e;
	if (!f->asked_frames)
		ask_frames(f);
	return entry_in(f->stubs, f->n_stubs, at);
}

static bool find_range(struct fl_symbols *s, const char *path, uint64_t at, uint64_t *lo,
		       uint64_t *hi)
{
	const struct entry *e = entry_around(s, path, at);
	struct file *f = file_of(s, path);
	const struct frame *frame;

	if (e) {
		*lo = e->address;
		*hi = e->address + size_of(e);
		return true;
	}
	frame = f ? frame_around(f, at) : NULL;
	if (frame) {
		*lo = frame->lo;
		*hi = frame->hi;
	}
	return frame;
}

bool fl_symbols_range(struct fl_symbols *s, const char *path, uint64_t at, uint64_t *lo,
		      uint64_t *hi)
{
	bool is_known;

	pthread_mutex_lock(&s->lock);
	is_known = find_range(s, path, at, lo, hi);
	pthread_mutex_unlock(&s->lock);
	return is_known;
}

char *fl_symbols_unnamed(const char *path, uint64_t at)
{
	char *name;

	return asprintf(&name, "%s!0x%llx", *path ? fl_base_name(path) : "?",
			(unsigned long long)at) < 0 ? NULL : name;
}

size_t fl_symbols_others(struct fl_symbols *s, const char *path, uint64_t at,
			 const char **names, size_t most)
{
	const struct file *f;
	size_t i, n = 0;

	pthread_mutex_lock(&s->lock);
	f = file_of(s, path);
	i = f && at ? fl_rows_from(f->others, f->n_others, sizeof(*f->others), at - 1) : 0;
	for (; f && i < f->n_others && f->others[i].address == at && n < most; i++)
		names[n++] = f->others[i].linkage;
	pthread_mutex_unlock(&s->lock);
	return n;
}

bool fl_symbols_find(struct fl_symbols *s, const char *path, uint64_t at,
		     struct fl_symbol *out)
{
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = entry_around(s, path, at);
	if (e)
		*out = (struct fl_symbol){ name_of(e), e->linkage, e->address, e->size };
	pthread_mutex_unlock(&s->lock);
	return e;
}

const char *fl_symbols_linkage(struct fl_symbols *s, const char *path, uint64_t at)
{
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = entry_around(s, path, at);
	pthread_mutex_unlock(&s->lock);
	return e ? e->linkage : NULL;
}

/* Read the tables of lines, and close the file's descriptor. */
static void read_lines(struct lines *l, const char *path)
{
	l->is_read = true;
	if (fl_source_open(&l->source, path))
		return;
	l->is_there = fl_source_has_lines(&l->source);
	l->is_own = l->is_there && fl_source_is_whole(&l->source);
	if (l->is_there)
		fl_source_rest(&l->source);
	else
		fl_source_close(&l->source);
}

static struct lines *make_lines(void)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l && !pthread_mutex_init(&l->lock, NULL))
		return l;
	free(l);
	return NULL;
}

/* The lines of a file, locked; they are read at the first call. NULL: no memory. */
static struct lines *lock_lines(struct fl_symbols *s, const char *path)
{
	struct lines *l = NULL;
	struct file *f;

	pthread_mutex_lock(&s->lock);
	f = file_of(s, path);
	if (f && !f->lines)
		f->lines = make_lines();
	l = f ? f->lines : NULL;
	pthread_mutex_unlock(&s->lock);
	if (!l)
		return NULL;
	pthread_mutex_lock(&l->lock);
	if (!l->is_read)
		read_lines(l, path);
	return l;
}

static void close_lines(struct lines *l)
{
	if (!l)
		return;
	if (l->is_there)
		fl_source_close(&l->source);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* libdw keeps the name of a source file until the source is closed, so no copy is made. */
const char *fl_symbols_line(struct fl_symbols *s, const char *path, uint64_t at,
			    int *line)
{
	struct lines *of = lock_lines(s, path);
	const char *file;

	if (!of)
		return NULL;
	file = of->is_there ? fl_source_line(&of->source, at, line) : NULL;
	pthread_mutex_unlock(&of->lock);
	return file;
}

bool fl_symbols_lines_are_own(struct fl_symbols *s, const char *path)
{
	struct lines *of = lock_lines(s, path);
	bool are_own = of && of->is_own;

	if (of)
		pthread_mutex_unlock(&of->lock);
	return are_own;
}

int fl_symbols_open(struct fl_symbols **s)
{
	*s = calloc(1, sizeof(**s));
	return *s ? -pthread_mutex_init(&(*s)->lock, NULL) : -ENOMEM;
}

static void close_file(struct file *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->entries[i].name);
	free(f->entries);
	free(f->others);
	for (size_t i = 0; i < f->n_stubs; i++)
		free(f->stubs[i].name);
	free(f->stubs);
	for (size_t i = 0; i < f->n_cut; i++)
		free(f->cut[i]);
	free(f->cut);
	free(f->frames);
	if (f->has_names)
		fl_source_close(&f->names);
	close_lines(f->lines);
	fl_obj_close(&f->obj);
	free(f->path);
}

void fl_symbols_close(struct fl_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		close_file(&s->files[i]);
	free(s->files);
	free(s);
}

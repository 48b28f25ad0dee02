/*
 * find.c - _dl_find_object(), which stands before the C library's: by it unwinders find
 * what they need for a program counter.
 *
 * Hides that bodies are in no file that the loader knows. For a body the answer is our table
 * (copy/unwind.c), for all else the C library's own. Exceptions, the end of a cancelled thread
 * and backtraces come through here, frame by frame, in any thread and in handlers: no lock is
 * taken, and what is looked at is constant.
 *
 * Unwinders that ask dl_iterate_phdr() come to listed.c. Where the C library has no such
 * function (before glibc 2.35) libgcc's asks otherwise, and where another one of that name
 * stands before ours they do not come here: then bodies are not found, which fl_find_open()
 * says. In a static program ours, being weak, gives way.
 *
 * Nor do unwinders come here that are loaded for a module which looks at its own libraries
 * first (RTLD_DEEPBIND): so in an unwinder that is being loaded, the relocation is made one
 * that asks us what it is to be.
 *
 * In a program that ran before, no unwinder comes here by that name. So where an unwinder keeps
 * the address of the C library's function, of either name, ours is put, for good: a thread
 * may be in a body for as long as it likes. attach.c sees to it before that an unwinder is
 * there. Who asks where calls return to (asked.c) comes to ours in the same way.
 */
#include <sys/mman.h>

#include "agent.h"
#include "copy/copy.h"
#include "obj/obj.h"
#include "patch/patch.h"

/* struct dl_find_object, which older systems do not have. */
struct found_object {
	unsigned long long flags;
	void *start, *end;
	void *map;			/* a struct link_map */
	const void *table;		/* as .eh_frame_hdr is */
	unsigned long long reserved[7];
};
typedef int find_function(void *pc, struct found_object *);

static find_function *next;		/* the C library's; W once, the first time */
static void *own_map;			/* a body's module, for whoever asks: libflick's */
uintptr_t fl_find_listed;		/* W listed.c's constructor */
uintptr_t (*fl_find_asked)(const struct fl_module *, const char *, uintptr_t);	/* asked.c's */

/* Also before our first constructor has run: then an exception of a library's is in its own
 * code. */
static find_function *find_next(void)
{
	struct found_object own;
	find_function *f = load_relaxed(&next);	/* always the same: no ordering */

	if (f)
		return f;
	f = (find_function *)fl_obj_c_function("_dl_find_object");
	if (f && !f((void *)find_next, &own))
		store_relaxed(&own_map, own.map);
	store_relaxed(&next, f);
	return f;
}

static int find(void *pc, struct found_object *to)
{
	struct fl_unwind_found body;
	find_function *f;

	if (fl_unwind_find((uintptr_t)pc, &body)) {
		*to = (struct found_object){ .start = (void *)body.lo, .end = (void *)body.hi,
			.map = load_relaxed(&own_map), .table = body.table };
		return 0;
	}
	f = find_next();
	return f ? f(pc, to) : -1;
}

__attribute__((weak, alias("find"), visibility("default"))) find_function find_object
	__asm__("_dl_find_object");

void fl_find_open(void)
{
	if (find_next() && find_object == find)
		fl_unwind_serve();
}

/* ---- who asks is led here ---------------------------------------------------------------- */

/* The word may be in memory that is only read once it is relocated. */
static int store_word(uint64_t *word, uint64_t value)
{
	int prot = fl_text_prot((uintptr_t)word), err = prot < 0 ? prot : 0;
	void *page = (void *)fl_round_down((uintptr_t)word, FL_PAGE);
	bool is_closed = !(prot & PROT_WRITE);

	if (!err && is_closed)
		err = fl_os_protect(page, FL_PAGE, prot | PROT_WRITE);
	if (err)
		return err;
	store_relaxed(word, value);
	return is_closed ? fl_os_protect(page, FL_PAGE, prot) : 0;
}

/* ---- in a module that is being loaded ---------------------------------------------------- */

static find_function *choose(void)
{
	return find;
}

/* Both words are stored to, or none. */
static void redirect_relocation(const struct fl_module *m, Elf64_Rela *r)
{
	uint64_t *addend = (uint64_t *)&r->r_addend, was = *addend;

	if (!store_word(addend, (uintptr_t)choose - m->bias) &&
	    store_word(&r->r_info, ELF64_R_INFO(0, FL_ARCH_R_CHOOSE)))
		store_word(addend, was);
}

/* Is the word filled by that name, and not from the module itself? */
static bool is_of_another(const char *name, uintptr_t value)
{
	return !value && !__builtin_strcmp(name, "_dl_find_object");
}

static int note_word(void *arg, uintptr_t at, uint32_t type, const char *name, uintptr_t value)
{
	uintptr_t *word = arg;

	(void)type;
	if (is_of_another(name, value))
		*word = at;
	return 0;
}

/* The relocation, in one table of the module's, that fills the word; NULL: it is not there. */
static Elf64_Rela *relocation_of(const struct fl_module *m, int64_t tag, int64_t size_tag,
				 uintptr_t word)
{
	uint64_t at, n;
	Elf64_Rela *r;

	if (!fl_obj_dynamic(m, tag, &at) || !fl_obj_dynamic(m, size_tag, &n))
		return NULL;
	at += at < m->lo || at >= m->hi ? m->bias : 0;
	r = (Elf64_Rela *)fl_obj_bytes(m, at, n);
	for (n /= sizeof *r; r && n--; r++)
		if (m->bias + r->r_offset == word)
			return r;
	return NULL;
}

/* A word that the loader is still to fill holds an address as in the file, or 0. A word that is
 * filled has ours: the program was started so, and we come before the C library. */
static void redirect_unfilled(const struct fl_module *m, uintptr_t word)
{
	size_t n = m->hi - m->lo;
	Elf64_Rela *r = relocation_of(m, DT_JMPREL, DT_PLTRELSZ, word);

	if (!r)
		r = relocation_of(m, DT_RELA, DT_RELASZ, word);
	if (r && m->bias >= n && *(const uintptr_t *)word < n)
		redirect_relocation(m, r);
}

void fl_find_loaded(uintptr_t at)
{
	static uintptr_t last;		/* with the loader's lock, as path */
	static char path[4096];
	struct fl_module m;
	uintptr_t word = 0;

	if (at == last || find_object != find || !find_next())
		return;
	last = at;
	if (!at || fl_obj_around(&m, at, path, sizeof path))
		return;
	fl_obj_relocs(&m, note_word, &word);
	if (word && fl_obj_bytes(&m, word, sizeof word))
		redirect_unfilled(&m, word);
	fl_obj_close(&m.file);
}

/* ---- in a program that ran before ------------------------------------------------------ */

/* Who comes there leads on to the C library's, so another's is left alone. */
static bool leads_to_c(const struct fl_module *m, uintptr_t value)
{
	return value == (uintptr_t)fl_obj_c_function("dl_iterate_phdr") ||
	       (value >= m->lo && value < m->hi);	/* as yet the loader binds it */
}

static int redirect_word(void *arg, uintptr_t at, uint32_t type, const char *name,
		     uintptr_t value)
{
	uintptr_t *word = (uintptr_t *)at, to = 0;

	(void)type;
	if (fl_find_asked && !value)
		to = fl_find_asked(arg, name, load_relaxed(word));
	if (to) {
		store_word(word, to);	/* or who asks hears of bodies: no more than that */
		return 0;
	}
	if (is_of_another(name, value) && load_relaxed(word) != (uintptr_t)find)
		return store_word(word, (uintptr_t)find);
	if (fl_find_listed && !value && !__builtin_strcmp(name, "dl_iterate_phdr") &&
	    leads_to_c(arg, load_relaxed(word)))
		return store_word(word, fl_find_listed);
	return 0;
}

static int redirect_module(void *arg, struct fl_module *m)
{
	(void)arg;
	return fl_obj_relocs(m, redirect_word, m);
}

/* Nobody tells us yet when a module goes, so the loader keeps all. */
void fl_find_open_late(void)
{
	if (find_next() && !fl_obj_each_kept(redirect_module, NULL))
		fl_unwind_serve();
}

/*
 * module.c - a module in memory: loaded by the system, or laid out by us.
 *
 * Hides where segments lie and what may be read. Every address a table of the
 * module names goes through fl_obj_bytes(), so a damaged file that was laid
 * out can only make entries disappear.
 */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "obj/look.h"
#include "os/os.h"

static bool segment_holds(const struct fl_module *m, const Elf64_Phdr *p,
			  uintptr_t a, size_t n)
{
	uintptr_t offset = a - (m->bias + p->p_vaddr);

	return offset < p->p_memsz && n <= p->p_memsz - offset;
}

/* The loaded segment that holds all of [a, a + n) and has `flags`. */
static const Elf64_Phdr *find_segment(const struct fl_module *m, uintptr_t a,
				      size_t n, uint32_t flags)
{
	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_LOAD && (m->ph[i].p_flags & flags) == flags &&
		    segment_holds(m, &m->ph[i], a, n))
			return &m->ph[i];
	return NULL;
}

const unsigned char *fl_obj_bytes(const struct fl_module *m, uintptr_t a, size_t n)
{
	return find_segment(m, a, n, PF_R) ? (const unsigned char *)a : NULL;
}

size_t fl_obj_left(const struct fl_module *m, uintptr_t a)
{
	const Elf64_Phdr *p = find_segment(m, a, 1, PF_R);

	return p ? m->bias + p->p_vaddr + p->p_memsz - a : 0;
}

bool fl_obj_is_text(const struct fl_module *m, uintptr_t a, size_t n)
{
	return find_segment(m, a, n, PF_X);
}

bool fl_obj_is_constant(const struct fl_module *m, uintptr_t a, size_t n)
{
	const Elf64_Phdr *s = find_segment(m, a, n, PF_R);

	if (!s || !(s->p_flags & PF_W))
		return s;
	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_GNU_RELRO && segment_holds(m, &m->ph[i], a, n))
			return true;
	return false;
}

/* ---- the build id ------------------------------------------------------------ */

bool fl_obj_find_id(const unsigned char *p, size_t n, uint8_t id[FL_OBJ_ID])
{
	Elf64_Nhdr note;

	for (size_t at = 0; n - at >= sizeof note;) {
		size_t name, bytes;

		memcpy(&note, p + at, sizeof note);
		at += sizeof note;
		name = fl_round_up(note.n_namesz, 4);
		bytes = fl_round_up(note.n_descsz, 4);
		if (name > n - at || bytes > n - at - name)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(p + at, "GNU", 4) && note.n_descsz && note.n_descsz <= FL_OBJ_ID) {
			memset(id, 0, FL_OBJ_ID);
			memcpy(id, p + at + name, note.n_descsz);
			return true;
		}
		at += name + bytes;
	}
	return false;
}

bool fl_obj_build_id(const struct fl_module *m, uint8_t id[FL_OBJ_ID])
{
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *p = &m->ph[i];
		const unsigned char *note = p->p_type == PT_NOTE ?
			fl_obj_bytes(m, m->bias + p->p_vaddr, p->p_memsz) : NULL;

		if (note && fl_obj_find_id(note, p->p_memsz, id))
			return true;
	}
	return false;
}

bool fl_obj_file_id(const struct fl_obj *o, uint8_t id[FL_OBJ_ID])
{
	for (size_t i = 0; i < o->eh->e_phnum; i++) {
		const Elf64_Phdr *p = &o->ph[i];

		if (p->p_type == PT_NOTE && p->p_offset <= o->n_bytes &&
		    p->p_filesz <= o->n_bytes - p->p_offset &&
		    fl_obj_find_id(o->bytes + p->p_offset, p->p_filesz, id))
			return true;
	}
	return false;
}

static uint64_t hash_words(uint64_t hash, const void *from, size_t n)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	uint64_t word;

	for (size_t at = 0; at + sizeof word <= n; at += sizeof word) {
		memcpy(&word, (const char *)from + at, sizeof word);
		hash = (hash ^ word) * odd;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Is it loaded to be read alone? */
static bool is_read_alone(const Elf64_Phdr *p)
{
	return p->p_type == PT_LOAD && !(p->p_flags & PF_W);
}

static bool lies_within(const Elf64_Phdr *p, uint64_t bytes)
{
	return p->p_offset <= bytes && p->p_filesz <= bytes - p->p_offset;
}

/* As the file has it: in memory entries may be jumps already. */
static uint64_t hash_of_code(const struct fl_module *m)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < m->n_ph; i++)
		if (is_read_alone(&m->ph[i]) && lies_within(&m->ph[i], m->file.n_bytes))
			hash = hash_words(hash, m->file.bytes + m->ph[i].p_offset,
					  m->ph[i].p_filesz);
	return hash;
}

bool fl_obj_hash_loaded(const struct fl_module *m, uint64_t bytes, uint64_t *hash)
{
	*hash = 0;
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *p = &m->ph[i];

		if (!is_read_alone(p))
			continue;
		if (!(p->p_flags & PF_R) || !lies_within(p, bytes))
			return false;
		*hash = hash_words(*hash, (const void *)(m->bias + p->p_vaddr), p->p_filesz);
	}
	return true;
}

/* Linkers give no build id by themselves: then the code is told by a hash. */
bool fl_obj_identify(const struct fl_module *m, uint8_t id[FL_OBJ_ID])
{
	uint64_t hash;

	if (fl_obj_build_id(m, id))
		return true;
	if (!m->file.bytes)
		return false;
	hash = hash_of_code(m);
	__builtin_memset(id, 0, FL_OBJ_ID);
	__builtin_memcpy(id, &hash, sizeof hash);
	return true;
}

/* ---- the dynamic section --------------------------------------------------- */

bool fl_obj_dynamic(const struct fl_module *m, int64_t tag, uint64_t *value)
{
	const Elf64_Dyn *d = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_DYNAMIC) {
			n = m->ph[i].p_memsz / sizeof *d;
			d = (const void *)fl_obj_bytes(m, m->bias + m->ph[i].p_vaddr,
						       n * sizeof *d);
		}
	if (!d || (uintptr_t)d % _Alignof(Elf64_Dyn))
		return false;
	for (; n-- && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag) {
			*value = d->d_un.d_val;
			return true;
		}
	return false;
}

/* A table that the dynamic section names. The C library may have replaced the
 * ELF address by the address in memory. */
static const void *table(const struct fl_module *m, int64_t tag, size_t n_bytes)
{
	uint64_t v;

	if (!fl_obj_dynamic(m, tag, &v))
		return NULL;
	if (v < m->lo || v >= m->hi)
		v += m->bias;
	return v % 8 ? NULL : fl_obj_bytes(m, v, n_bytes);
}

/* ---- relocations ----------------------------------------------------------- */

struct symbols {
	const struct fl_module *m;
	uintptr_t at;			/* of symbol 0 */
	const char *names;
	uint64_t n_names;		/* names[n_names - 1] is NUL; 0: none */
};

static void open_symbols(struct symbols *s, const struct fl_module *m)
{
	uint64_t v;

	*s = (struct symbols){ .m = m, .names = "" };
	s->at = (uintptr_t)table(m, DT_SYMTAB, sizeof(Elf64_Sym));
	if (!fl_obj_dynamic(m, DT_STRSZ, &s->n_names) || !s->n_names ||
	    !fl_obj_dynamic(m, DT_STRTAB, &v))
		s->n_names = 0;
	if (!s->n_names)
		return;
	if (v < m->lo || v >= m->hi)
		v += m->bias;
	s->names = (const char *)fl_obj_bytes(m, v, s->n_names);
	if (!s->names || s->names[s->n_names - 1])
		s->n_names = 0;
}

static const char *symbol_name(const struct symbols *s, const Elf64_Sym *y)
{
	return y->st_name < s->n_names ? s->names + y->st_name : "";
}

typedef int reloc_each(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		       uintptr_t value);

static int tell_rela(const struct symbols *s, const Elf64_Rela *r, reloc_each *each,
		     void *arg)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);
	uintptr_t pointer = s->m->bias + r->r_offset, value = 0;
	uint64_t i = ELF64_R_SYM(r->r_info);
	const Elf64_Sym *y;

	if (type == FL_ARCH_R_RELATIVE || type == FL_ARCH_R_CHOOSE)
		return each(arg, pointer, type, "", s->m->bias + (uintptr_t)r->r_addend);
	y = !i || !s->at ? NULL :
		(const void *)fl_obj_bytes(s->m, s->at + i * sizeof *y, sizeof *y);
	if (!y || !symbol_name(s, y)[0])
		return 0;
	if (y->st_shndx != SHN_UNDEF && y->st_shndx != SHN_ABS &&
	    ELF64_ST_TYPE(y->st_info) != STT_GNU_IFUNC &&
	    ELF64_ST_TYPE(y->st_info) != STT_TLS)
		value = s->m->bias + y->st_value +
			(type == FL_ARCH_R_WORD ? (uintptr_t)r->r_addend : 0);
	return each(arg, pointer, type, symbol_name(s, y), value);
}

static int tell_relas(const struct symbols *s, int64_t tag, int64_t size_tag,
		      reloc_each *each, void *arg)
{
	const Elf64_Rela *r;
	uint64_t n;

	if (!fl_obj_dynamic(s->m, size_tag, &n))
		return 0;
	r = table(s->m, tag, n);
	for (n /= sizeof *r; r && n--; r++) {
		int err = tell_rela(s, r, each, arg);

		if (err)
			return err;
	}
	return 0;
}

/* Packed relative relocations: an address, then bit maps of the 63 words that
 * follow. A word that they fill holds its own addend. */
static int tell_relr(const struct fl_module *m, reloc_each *each, void *arg)
{
	enum { RELR_BYTES = 35, RELR = 36 };
	const uint64_t *r;
	uintptr_t at = 0;
	uint64_t n;
	int err = 0;

	if (!fl_obj_dynamic(m, RELR_BYTES, &n))
		return 0;
	r = table(m, RELR, n);
	for (n /= sizeof *r; r && n-- && !err; r++) {
		if (!(*r & 1)) {
			at = m->bias + *r + 8;
			err = each(arg, at - 8, FL_ARCH_R_RELATIVE, "", 0);
			continue;
		}
		for (unsigned int k = 1; k < 64 && !err; k++)
			if (*r >> k & 1)
				err = each(arg, at + (k - 1) * 8,
					   FL_ARCH_R_RELATIVE, "", 0);
		at += 63 * 8;
	}
	return err;
}

/* A packed relocation's value stands in the word it fills. */
struct unpack {
	const struct fl_module *m;
	reloc_each *each;
	void *arg;
};

static int tell_unpacked(void *arg, uintptr_t pointer, uint32_t type, const char *name,
			 uintptr_t value)
{
	struct unpack *u = arg;

	if (!fl_obj_bytes(u->m, pointer, sizeof value))
		return 0;
	memcpy(&value, (const void *)pointer, sizeof value);
	return u->each(u->arg, pointer, type, name, value);
}

int fl_obj_relocs(const struct fl_module *m, reloc_each *each, void *arg)
{
	struct unpack u = { m, each, arg };
	struct symbols s;
	int err;

	open_symbols(&s, m);
	err = tell_relas(&s, DT_RELA, DT_RELASZ, each, arg);
	if (!err)
		err = tell_relas(&s, DT_JMPREL, DT_PLTRELSZ, each, arg);
	return err ? err : tell_relr(m, tell_unpacked, &u);
}

/* ---- a file laid out -------------------------------------------------------- */

/* The pages that the segments span; 0 when there are none. */
static size_t span(const Elf64_Phdr *ph, size_t n, uint64_t *lo)
{
	uint64_t hi = 0;

	*lo = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (ph[i].p_vaddr < *lo)
			*lo = fl_round_down(ph[i].p_vaddr, FL_PAGE);
		if (ph[i].p_vaddr + ph[i].p_memsz > hi)
			hi = ph[i].p_vaddr + ph[i].p_memsz;
	}
	return hi > *lo ? hi - *lo : 0;
}

static int fill_pointer(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		     uintptr_t value)
{
	struct fl_module *m = arg;

	(void)name;
	if (value && type != FL_ARCH_R_CHOOSE && fl_obj_bytes(m, pointer, sizeof value))
		memcpy((void *)pointer, &value, sizeof value);
	return 0;
}

static int add_bias(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		    uintptr_t value)
{
	struct fl_module *m = arg;

	if (!fl_obj_bytes(m, pointer, sizeof value))
		return 0;
	memcpy(&value, (const void *)pointer, sizeof value);
	return fill_pointer(m, pointer, type, name, value + m->bias);
}

/* Tables are read while pointers are filled: in a damaged file they may overlap. Then
 * nonsense is filled in, but only into the module's own memory. */
void fl_obj_relocate(struct fl_module *m)
{
	struct symbols s;

	tell_relr(m, add_bias, m);
	open_symbols(&s, m);
	tell_relas(&s, DT_RELA, DT_RELASZ, fill_pointer, m);
	open_symbols(&s, m);
	tell_relas(&s, DT_JMPREL, DT_PLTRELSZ, fill_pointer, m);
}

enum { LAY_OUT_MAX_GIB = 64 };

int fl_obj_make_room(struct fl_module *out, const struct fl_obj *file, const char *path)
{
	uint64_t lo, n = file->ph ? span(file->ph, file->eh->e_phnum, &lo) : 0;
	char *base;

	if (!n || n >> 30 >= LAY_OUT_MAX_GIB)
		return FLE_TRUNCATED;
	base = fl_os_map(NULL, n, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(base))
		return (int)(intptr_t)base;
	*out = (struct fl_module){
		.bias = (uintptr_t)base - lo, .lo = (uintptr_t)base,
		.hi = (uintptr_t)base + n, .ph = file->ph,
		.n_ph = file->eh->e_phnum, .path = path, .file = *file,
		.laid_out = true,
	};
	return 0;
}

int fl_obj_lay_out(struct fl_module *out, const struct fl_obj *file, const char *path)
{
	int err = fl_obj_make_room(out, file, path);

	if (err)
		return err;
	for (size_t i = 0; i < out->n_ph; i++)
		if (file->ph[i].p_type == PT_LOAD)
			memcpy((void *)(out->bias + file->ph[i].p_vaddr),
			       file->bytes + file->ph[i].p_offset,
			       file->ph[i].p_filesz);
	fl_obj_relocate(out);
	return 0;
}

void fl_obj_unlay(struct fl_module *m)
{
	if (m->lo)
		fl_os_unmap((void *)m->lo, m->hi - m->lo);
	if (m->is_copy)
		fl_obj_close(&m->file);
	*m = (struct fl_module){ 0 };
}

/* ---- modules of this process ------------------------------------------------- */

/* What the loader says of a module, until the module is looked at. */
struct listed {
	uintptr_t bias, lo, hi;		/* lo == hi: nothing of it is loaded */
	const Elf64_Phdr *ph;		/* in the module's own memory */
	size_t n_ph, bytes;		/* of this and the name, a multiple of 8 */
	char name[];
};

enum { FIRST_BYTES = 64 * 1024 };

/* A list's first memory, once nobody has it: a list is made at each dlopen(). */
static void *spare;			/* NULL: none; W any */

static void *map_bytes(size_t room)
{
	void *p = NULL;

	if (room == FIRST_BYTES)
		/* ordering: none other, its last user has done with it before */
		p = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
	return p ? p : fl_os_map(NULL, room, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void unmap_bytes(void *p, size_t room)
{
	if (room == FIRST_BYTES)
		/* ordering: none other, as in map_bytes() */
		p = __atomic_exchange_n(&spare, p, __ATOMIC_ACQ_REL);
	if (p)
		fl_os_unmap(p, room);
}

static bool grow(struct fl_modules *l)
{
	size_t room = l->room ? 2 * l->room : FIRST_BYTES;
	void *p = map_bytes(room);

	if (fl_is_err(p))
		return false;
	if (l->room) {
		memcpy(p, l->bytes, l->n);
		unmap_bytes(l->bytes, l->room);
	}
	l->bytes = p;
	l->room = room;
	return true;
}

/* lo == hi: nothing of it is loaded. */
static void find_extent(struct fl_module *m)
{
	uint64_t lo;
	size_t n = span(m->ph, m->n_ph, &lo);

	m->lo = m->hi = n ? m->bias + lo : 0;
	m->hi += n;
}

static struct fl_module told_module(const struct dl_phdr_info *info)
{
	struct fl_module m = { .bias = info->dlpi_addr, .ph = info->dlpi_phdr,
			       .n_ph = info->dlpi_phnum };

	find_extent(&m);
	return m;
}

/* Only take notes: the loader's lock is held, and others wait for it. */
static int note(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	size_t bytes = fl_round_up(sizeof(struct listed) + strlen(name) + 1, 8);
	struct fl_modules *l = arg;
	struct fl_module of = told_module(info);
	struct listed *m;

	(void)size;
	while (l->room - l->n < bytes)
		if (!grow(l))
			return -ENOMEM;
	m = (void *)(l->bytes + l->n);
	*m = (struct listed){ .bias = of.bias, .lo = of.lo, .hi = of.hi, .ph = of.ph,
			      .n_ph = of.n_ph, .bytes = bytes };
	memcpy(m->name, name, strlen(name) + 1);
	l->n += bytes;
	return 0;
}

/* First called in the first constructor, or by flick_open(). In a static program the C
 * library's is not found by its name, but is the only one. */
static int ask_loader(int (*each)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	static int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	if (!iterate)
		iterate = fl_obj_c_function("dl_iterate_phdr");
	if (!iterate)
		iterate = dl_iterate_phdr;
	return iterate(each, arg);
}

int fl_obj_list(struct fl_modules *l)
{
	int err;

	FL_MUST(!fl_os_holds_locks());
	*l = (struct fl_modules){ 0 };
	err = ask_loader(note, l);
	if (err)
		fl_obj_unlist(l);
	return err;
}

void fl_obj_unlist(struct fl_modules *l)
{
	if (l->room)
		unmap_bytes(l->bytes, l->room);
	*l = (struct fl_modules){ 0 };
}

/* The first module is the program, which stays anyway. */
void fl_obj_keep(struct fl_modules *l)
{
	size_t kept = 0, bytes;

	FL_MUST(!fl_os_holds_locks());
	for (size_t at = 0; at < l->n; at += bytes) {
		const struct listed *m = (const void *)(l->bytes + at);

		bytes = m->bytes;
		if (at && !fl_obj_stays(m->name, m->bias))
			continue;
		memmove(l->bytes + kept, m, bytes);
		kept += bytes;
	}
	l->n = kept;
}

/* The absolute path of a module that the loader calls `name`. */
static const char *find_path(const struct fl_module *m, const char *name, char *to,
			     size_t room)
{
	long n;

	if (m->is_program)
		return fl_os_readlink("/proc/self/exe", to, room) > 0 ? to : "";
	if (name[0] == '/')
		return name;
	n = fl_os_readlink("/proc/self/cwd", to, room);
	if (n < 0 || (size_t)n + 1 + strlen(name) >= room)
		return name;
	to[n] = '/';
	memcpy(to + n + 1, name, strlen(name) + 1);
	return to;
}

int fl_obj_open_module(struct fl_module *m)
{
	int err = fl_obj_open(&m->file, m->is_program ? "/proc/self/exe" : m->path);

	if (err)
		m->file = (struct fl_obj){ 0 };
	else if (!m->file.ph || m->file.eh->e_phnum != m->n_ph ||
		 memcmp(m->file.ph, m->ph, m->n_ph * sizeof *m->ph))
		fl_obj_close(&m->file);		/* another file is in its place */
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ? err : 0;
}

/* What the loader calls by no name, and the kernel's, are in no file. */
static bool is_of_file(const struct fl_module *m, const char *name)
{
	return m->lo != m->hi &&
	       (m->is_program || (name[0] && strncmp(name, "linux-vdso", 10)));
}

static int visit(struct fl_module *m, const char *name,
		 int (*each)(void *arg, struct fl_module *), void *arg)
{
	char path[PATH_MAX];
	int err;

	m->path = find_path(m, name, path, sizeof path);
	err = each(arg, m);
	fl_obj_close(&m->file);
	return err;
}

/* The first module is the program. */
int fl_obj_each(const struct fl_modules *l,
		bool (*passes)(void *arg, const struct fl_module *),
		int (*each)(void *arg, struct fl_module *), void *arg)
{
	int err = 0;

	for (size_t at = 0; at < l->n && !err;) {
		const struct listed *m = (const void *)(l->bytes + at);
		struct fl_module of = { .bias = m->bias, .lo = m->lo, .hi = m->hi,
					.ph = m->ph, .n_ph = m->n_ph, .is_program = !at };

		if (is_of_file(&of, m->name) && !(passes && passes(arg, &of)))
			err = visit(&of, m->name, each, arg);
		at += m->bytes;
	}
	return err;
}

struct kept {
	int (*each)(void *arg, struct fl_module *);
	void *arg;
	bool had_program;
};

static int visit_kept(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct kept *k = arg;
	struct fl_module m = told_module(info);
	const char *name = info->dlpi_name ? info->dlpi_name : "";

	(void)size;
	m.is_program = !k->had_program;
	k->had_program = true;
	return is_of_file(&m, name) ? visit(&m, name, k->each, k->arg) : 0;
}

int fl_obj_each_kept(int (*each)(void *arg, struct fl_module *), void *arg)
{
	FL_MUST(!fl_os_holds_locks());
	return ask_loader(visit_kept, &(struct kept){ .each = each, .arg = arg });
}

/* ---- without the loader ------------------------------------------------------- */

struct around {
	uintptr_t at, offset;		/* an address; its offset in its file */
	char *path;
	size_t room;
};

static int find_file(void *arg, const struct fl_mapping *m)
{
	struct around *a = arg;

	if (a->at < m->lo || a->at >= m->hi || strlen(m->path) >= a->room)
		return 0;
	a->offset = a->at - m->lo + m->offset;
	memcpy(a->path, m->path, strlen(m->path) + 1);
	return m->inode != 0;
}

/* The segment that loads the file's byte at a->offset says where the file is. */
static bool find_bias(struct fl_module *m, const struct around *a)
{
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *p = &m->ph[i];

		if (p->p_type != PT_LOAD || a->offset - p->p_offset >= p->p_filesz)
			continue;
		m->bias = a->at - (a->offset - p->p_offset + p->p_vaddr);
		return true;
	}
	return false;
}

int fl_obj_around(struct fl_module *m, uintptr_t at, char *path, size_t room)
{
	struct around a = { .at = at, .path = path, .room = room };
	int err = fl_os_mappings(find_file, &a) == 1 ? 0 : -ENOENT;

	*m = (struct fl_module){ .path = path };
	if (!err)
		err = fl_obj_open(&m->file, path);
	if (err)
		return err;
	m->ph = m->file.ph;
	m->n_ph = m->file.eh->e_phnum;
	if (!find_bias(m, &a)) {
		fl_obj_close(&m->file);
		return -ENOENT;
	}
	find_extent(m);
	return 0;
}

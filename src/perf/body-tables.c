/*
 * body-tables.c - the tables by which second bodies are unwound, of whichever process.
 *
 * Second bodies have tables of their own (copy/unwind.c), in their process's memory. That is
 * read when the first sample of a block of bodies comes. A process that has ended meanwhile has
 * no memory. But bodies of one function that have as many bytes are alike in each process that
 * runs its program, and rules have no address in them: so what was read of one process tells of
 * all. Of a hundred short processes of one program, one must be read while it lives, or while
 * the process lives that it was forked from.
 *
 * What the target writes is read as it stands: tables may lie.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "copy/copy.h"
#include "perf/body-tables.h"

/* Bytes of one block; and of all that are read, where each body that is looked at is a byte,
 * too: a program that tells of ever new blocks shall not keep the reader busy. */
enum { MOST_TABLE = 1 << 26, MOST_TABLES = 1 << 28 };

/* ---- out of a process's memory ----------------------------------------------------------- */

static bool read_memory(int32_t pid, void *to, uint64_t at, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)at, n };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

enum copied { GONE, PARTLY, WHOLE };

/* Copy the table's entries, and what these lead to: between both is room that nobody uses. */
static enum copied copy_table(int32_t pid, char *to, const struct fl_glue_range *r)
{
	struct {
		uint8_t how[4];
		int32_t frames;		/* from here on */
		uint32_t n;
	} head;
	uint64_t entries, frames;

	if (r->table_bytes < sizeof(head) || !read_memory(pid, &head, r->table, sizeof(head)))
		return GONE;
	entries = sizeof(head) + head.n * 8ull;
	frames = (uint64_t)head.frames + sizeof(head.how);
	return entries <= frames && frames < r->table_bytes &&
	       read_memory(pid, to, r->table, entries) &&
	       read_memory(pid, to + frames, r->table + frames, r->table_bytes - frames) ?
	       WHOLE : PARTLY;
}

/* A child of fork() has what its parent had: so the copy may be of either, while one lives. */
static enum copied copy_from_any(const struct fl_originals *b, int32_t pid, char *to,
				 const struct fl_glue_range *r)
{
	enum { PARENTS = 64 };
	enum copied got = GONE;

	for (int i = 0; pid && got == GONE && i < PARENTS; i++) {
		got = copy_table(pid, to, r);
		pid = pid == r->pid ? 0 : fl_originals_parent(b, pid);
	}
	return got;
}

/* A file of two headers, behind which the table stands as in the process: it leads to its
 * entries by how far away they are. */
struct head {
	Elf64_Ehdr file;
	Elf64_Phdr table;
};

static struct fl_cfi *open_bodies(char *bytes, const struct fl_glue_range *r,
				  struct fl_cfi_memory *memory)
{
	struct head *head = (struct head *)bytes;

	head->file = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = FL_ARCH_ELF_MACHINE, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(head->file), .e_phoff = sizeof(head->file),
		.e_phentsize = sizeof(head->table), .e_phnum = 1,
	};
	head->table = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME, .p_offset = sizeof(*head), .p_vaddr = r->table,
		.p_filesz = r->table_bytes, .p_memsz = r->table_bytes,
	};
	return fl_cfi_open_bytes(bytes, sizeof(*head) + r->table_bytes, memory);
}

/* ---- what is kept ------------------------------------------------------------------------ */

/* False: the function is of no file, so no other process has it. */
static bool name_body_by_file(const struct fl_body_place *p, const struct fl_told_body *body,
		      struct fl_known_body *key)
{
	struct fl_stack_code code = { .path = NULL };

	p->where(p->arg, body->function, &code);
	if (!code.path || *code.path != '/')
		return false;
	*key = (struct fl_known_body){ .path = code.path, .bytes = body->bytes,
				       .function = body->function - code.lo + code.offset,
				       .by = *body };
	return true;
}

static uint32_t hash_known(const struct fl_known_body *key)
{
	return fl_hash_of(fl_hash_of((uintptr_t)key->path, key->function), key->bytes);
}

static const struct fl_known_body *find_known(const struct fl_body_tables *t,
					      const struct fl_known_body *key)
{
	uint32_t hash = hash_known(key);

	for (uint32_t at = hash, i; (i = fl_hash_next(&t->by_function, hash, &at));) {
		const struct fl_known_body *k = &t->bodies[i - 1];

		if (k->path == key->path && k->function == key->function &&
		    k->bytes == key->bytes)
			return k;
	}
	return NULL;
}

static void keep_body(struct fl_body_tables *t, const struct fl_known_body *body)
{
	if (find_known(t, body) || fl_array_room(&t->bodies, t->n_bodies, sizeof(*t->bodies)) ||
	    fl_hash_put(&t->by_function, hash_known(body), t->n_bodies + 1))
		return;
	t->bodies[t->n_bodies++] = *body;
}

struct keeping {
	struct fl_body_tables *t;
	const struct fl_body_place *place;
	const struct fl_glue_range *block;
	uint32_t table;
};

static void keep_if_inside(void *arg, const struct fl_told_body *body)
{
	const struct keeping *k = arg;
	struct fl_known_body key;

	k->t->taken++;
	if (body->lo < k->block->lo || body->lo >= k->block->hi ||
	    !name_body_by_file(k->place, body, &key))
		return;
	key.table = k->table;
	keep_body(k->t, &key);
}

static struct fl_body_table *find_table(const struct fl_body_tables *t, uint32_t block)
{
	for (uint32_t i = t->n_tables; i-- > 0;)
		if (t->tables[i].block == block)
			return &t->tables[i];
	return NULL;
}

/* The block's table from a process's memory; NULL: no process has it any more, or no memory. */
static char *copy_block(struct fl_body_tables *t, const struct fl_body_place *p,
			const struct fl_glue_range *r)
{
	uint64_t n = sizeof(struct head) + r->table_bytes;
	char *bytes = r->table_bytes <= MOST_TABLE && t->taken + n <= MOST_TABLES &&
		      fl_cfi_has_room(&t->memory, n) ? calloc(1, n) : NULL;
	enum copied got = bytes ? copy_from_any(t->originals, p->pid,
						bytes + sizeof(struct head), r) : GONE;

	t->taken += got == GONE ? 0 : n;
	if (got == WHOLE)
		return bytes;
	free(bytes);
	return NULL;
}

/* Open the block's table. From then on the bodies in the block are known. */
static const struct fl_body_table *take_block(struct fl_body_tables *t,
					      const struct fl_body_place *p, uint32_t block,
					      const struct fl_glue_range *r)
{
	char *bytes = fl_array_room(&t->tables, t->n_tables, sizeof(*t->tables)) ? NULL :
		      copy_block(t, p, r);
	struct keeping keep = { t, p, r, t->n_tables };
	struct fl_body_table *table;

	if (!bytes)
		return NULL;
	table = &t->tables[t->n_tables++];
	*table = (struct fl_body_table){
		.block = block, .cfi = open_bodies(bytes, r, &t->memory),
		.bytes = bytes + sizeof(struct head), .at = r->table, .n = r->table_bytes,
	};
	if (table->cfi)
		fl_originals_each(t->originals, r->pid, keep_if_inside, &keep);
	return table;
}

/* The table of a place, and the body that it is by that table; NULL: there is none. */
static const struct fl_body_table *table_at(struct fl_body_tables *t,
					    const struct fl_body_place *p,
					    struct fl_told_body *by)
{
	struct fl_known_body key;
	bool is_named = name_body_by_file(p, p->body, &key);
	const struct fl_known_body *known = is_named ? find_known(t, &key) : NULL;
	const struct fl_body_table *table;
	struct fl_glue_range r;
	uint32_t block;

	*by = known ? known->by : *p->body;
	if (known)
		return &t->tables[known->table];
	block = fl_originals_block(t->originals, p->pid, p->at, &r);
	table = block ? find_table(t, block) : NULL;
	table = table || !block ? table : take_block(t, p, block, &r);
	if (!table || !table->cfi)
		return NULL;
	key.table = (uint32_t)(table - t->tables);
	if (is_named)
		keep_body(t, &key);
	return table;
}

const struct fl_cfi_row *fl_body_tables_row(struct fl_body_tables *t,
					    const struct fl_body_place *p)
{
	struct fl_told_body by;
	const struct fl_body_table *table = table_at(t, p, &by);

	return table ? fl_cfi_row(table->cfi, by.lo + p->at - p->body->lo) : NULL;
}

bool fl_body_tables_origin(struct fl_body_tables *t, const struct fl_body_place *p, int64_t *to)
{
	struct fl_told_body by;
	const struct fl_body_table *table = table_at(t, p, &by);
	uintptr_t bytes = table ? (uintptr_t)table->bytes : 0, at, origin;

	if (!table)
		return false;
	at = bytes + by.lo + (p->at - p->body->lo) - table->at;
	origin = fl_unwind_origin_by(table->bytes, table->n, at);
	*to = (int64_t)(origin - bytes + table->at - by.function);
	return origin != at;
}

void fl_body_tables_close(struct fl_body_tables *t)
{
	for (uint32_t i = 0; i < t->n_tables; i++)
		fl_cfi_close(t->tables[i].cfi);
	free(t->tables);
	free(t->bodies);
	fl_hash_free(&t->by_function);
}

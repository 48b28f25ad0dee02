/*
 * judge.c - a plugin of qemu-user that watches an AArch64 program, and what flick does in it.
 *
 *	judge: pid 71, 1204 pairs, 96 stores to text, 96 sequences | wrong 0
 *
 * It fails on three things that an emulator lets pass and a processor need not:
 *	access	memory was accessed between a load-exclusive and its store-exclusive, and not by
 *		code within theirs=LO-HI, which is as its compiler made it
 *	pair	a word of text was stored, while two threads lived, whose old and new
 *		instruction may not be exchanged (HW2)
 *	order	text was stored, and not DC CVAU, DSB, IC IVAU, DSB, ISB in this order before
 *		the thread stored to text again, called the kernel, or ended
 * Text is what was translated once. Which address was maintained a plugin cannot see, nor
 * that memory was unmapped and is data now: programs that do so it does not judge.
 *
 * qemu installs no header of its plugins: what is used of version 1 is declared here.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t plugin_id;
typedef void on_exec(unsigned int cpu, void *arg);
typedef void on_access(unsigned int cpu, uint32_t info, uint64_t at, void *arg);
enum { NO_REGS = 0, LOADS_AND_STORES = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id,
							       struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_init_cb(plugin_id, void (*)(plugin_id, unsigned int cpu));
void qemu_plugin_register_vcpu_exit_cb(plugin_id, void (*)(plugin_id, unsigned int cpu));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, on_exec *, int flags,
					    void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, on_access *, int flags,
				      int which, void *arg);
bool qemu_plugin_mem_is_store(uint32_t info);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum kind { OTHER, LOADX, STOREX, CLREX, SVC, DC, DSB, IC, ISB };

struct insn {
	uint64_t at;
	enum kind kind;
};

/* ---- verdicts -------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *out_path = "/dev/stderr";
static uint64_t theirs_lo, theirs_hi;
static unsigned long n_pairs, n_stores, n_sequences, n_wrong;

static void blame(const char *what, uint64_t at, uint64_t other)
{
	FILE *f;

	if (n_wrong++ >= 20)
		return;
	f = fopen(out_path, "a");
	if (!f)
		return;
	fprintf(f, "wrong %s: %#" PRIx64 ", %#" PRIx64 "\n", what, at, other);
	fclose(f);
}

static void tell(plugin_id id, void *arg)
{
	FILE *f = fopen(out_path, "a");

	(void)id;
	(void)arg;
	if (!f)
		return;
	fprintf(f, "judge: pid %d, %lu pairs, %lu stores to text, %lu sequences | wrong %lu\n",
		(int)getpid(), n_pairs, n_stores, n_sequences, n_wrong);
	fclose(f);
}

/* ---- threads ---------------------------------------------------------------------- */

enum { CPUS = 4096 };
enum step { DONE, STORED, CLEANED, SEEN, DROPPED, AGREED };

static struct cpu {
	uint64_t load, access;		/* of the pair that is open, and within it; 0: none */
	enum step step;
	uint64_t store;
} cpus[CPUS];
static unsigned int n_alive;

static void begin_cpu(plugin_id id, unsigned int cpu)
{
	(void)id;
	pthread_mutex_lock(&lock);
	n_alive++;
	cpus[cpu % CPUS] = (struct cpu){ 0 };
	pthread_mutex_unlock(&lock);
}

static void expect_done(struct cpu *c, uint64_t at)
{
	if (c->step != DONE)
		blame("order", c->store, at);
	c->step = DONE;
}

static void end_cpu(plugin_id id, unsigned int cpu)
{
	(void)id;
	pthread_mutex_lock(&lock);
	n_alive--;
	expect_done(&cpus[cpu % CPUS], 0);
	pthread_mutex_unlock(&lock);
}

/* ---- text ------------------------------------------------------------------------- */

enum { PAGE = 4096, WORDS = PAGE / 4, BUCKETS = 1 << 14 };

static struct text {
	struct text *next;
	uint64_t page;
	uint32_t word[WORDS];
	bool is_known[WORDS];
} *texts[BUCKETS];
static uintptr_t base;			/* of the program's memory in qemu's */

static struct text *text_at(uint64_t at)
{
	struct text *t = texts[at / PAGE % BUCKETS];

	while (t && t->page != at / PAGE)
		t = t->next;
	return t;
}

static void note_text(uint64_t at, uint32_t word)
{
	struct text *t = text_at(at);

	if (!t) {
		t = calloc(1, sizeof *t);
		t->page = at / PAGE;
		t->next = texts[t->page % BUCKETS];
		texts[t->page % BUCKETS] = t;
	}
	t->word[at % PAGE / 4] = word;
	t->is_known[at % PAGE / 4] = true;
}

static bool may_exchange(uint32_t w)
{
	return (w & 0x7c000000) == 0x14000000 || w == 0xd503201f ||
	       (w & 0xffe0001f) == 0xd4200000 || (w & 0xfffff0ff) == 0xd50330df ||
	       ((w & 0xffe0001c) == 0xd4000000 && (w & 3));
}

static void store_text(struct cpu *c, const struct insn *i, uint64_t at, struct text *t)
{
	uint32_t *old = &t->word[at % PAGE / 4], new;

	memcpy(&new, (const void *)(base + (at & ~3ull)), sizeof new);
	n_stores++;
	if (c->step != STORED)		/* several bytes are stored, and maintained, as one */
		expect_done(c, i->at);
	c->step = STORED;
	c->store = i->at;
	if (new != *old && n_alive > 1 && !(may_exchange(new) && may_exchange(*old)))
		blame("pair", i->at, (uint64_t)*old << 32 | new);
	*old = new;
}

/* ---- what is watched ---------------------------------------------------------------- */

static void see_access(unsigned int cpu, uint32_t info, uint64_t at, void *arg)
{
	const struct insn *i = arg;
	struct cpu *c = &cpus[cpu % CPUS];
	struct text *t;

	if (c->load && i->kind == OTHER && !c->access &&
	    !(i->at >= theirs_lo && i->at < theirs_hi))
		c->access = i->at;
	if (!qemu_plugin_mem_is_store(info) || !(t = text_at(at)) ||
	    !t->is_known[at % PAGE / 4])
		return;
	pthread_mutex_lock(&lock);
	store_text(c, i, at, t);
	pthread_mutex_unlock(&lock);
}

static void see_pair(struct cpu *c, const struct insn *i)
{
	if (i->kind == STOREX && c->load) {
		n_pairs++;
		if (c->access)
			blame("access", c->access, i->at);
	}
	c->load = i->kind == LOADX ? i->at : 0;
	c->access = 0;
}

/* What follows what; a step that was not expected leaves it as it was, and is seen at the
 * next one that must find it done. */
static void see_step(struct cpu *c, const struct insn *i)
{
	static const struct { enum step from; enum kind kind; enum step to; } steps[] = {
		{ STORED, DC, CLEANED }, { CLEANED, DC, CLEANED }, { CLEANED, DSB, SEEN },
		{ SEEN, IC, DROPPED }, { DROPPED, IC, DROPPED }, { DROPPED, DSB, AGREED },
		{ AGREED, ISB, DONE },
	};

	for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++)
		if (c->step == steps[k].from && i->kind == steps[k].kind) {
			c->step = steps[k].to;
			n_sequences += c->step == DONE;
			return;
		}
	if (i->kind == SVC || i->kind == IC || i->kind == ISB)
		expect_done(c, i->at);
}

static void see_exec(unsigned int cpu, void *arg)
{
	const struct insn *i = arg;
	struct cpu *c = &cpus[cpu % CPUS];

	pthread_mutex_lock(&lock);
	if (i->kind <= SVC)
		see_pair(c, i);
	if (c->step != DONE)
		see_step(c, i);
	pthread_mutex_unlock(&lock);
}

static enum kind kind_of(uint32_t w)
{
	if ((w & 0x3f808000) == 0x08000000 || (w & 0x3f808000) == 0x08008000) {
		if ((w & 0xbfa00000) == 0x08200000 && (w & 0x7c00) == 0x7c00)
			return OTHER;			/* casp */
		return w >> 22 & 1 ? LOADX : STOREX;
	}
	if ((w & 0xffe0001f) == 0xd4000001)
		return SVC;
	if ((w & 0xfffff0ff) == 0xd503305f)
		return CLREX;
	if ((w & 0xffffffe0) == 0xd50b7b20)
		return DC;
	if ((w & 0xffffffe0) == 0xd50b7520)
		return IC;
	if (w == 0xd5033b9f)
		return DSB;
	return (w & 0xfffff0ff) == 0xd50330df ? ISB : OTHER;
}

static void translate(plugin_id id, struct qemu_plugin_tb *tb)
{
	(void)id;
	pthread_mutex_lock(&lock);
	for (size_t k = 0; k < qemu_plugin_tb_n_insns(tb); k++) {
		struct qemu_plugin_insn *q = qemu_plugin_tb_get_insn(tb, k);
		struct insn *i = calloc(1, sizeof *i);
		uint32_t word;

		memcpy(&word, qemu_plugin_insn_data(q), sizeof word);
		i->at = qemu_plugin_insn_vaddr(q);
		i->kind = kind_of(word);
		base = (uintptr_t)qemu_plugin_insn_haddr(q) - i->at;
		note_text(i->at, word);
		if (i->kind != OTHER)
			qemu_plugin_register_vcpu_insn_exec_cb(q, see_exec, NO_REGS, i);
		qemu_plugin_register_vcpu_mem_cb(q, see_access, NO_REGS, LOADS_AND_STORES, i);
	}
	pthread_mutex_unlock(&lock);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int k = 0; k < argc; k++)
		if (!strncmp(argv[k], "out=", 4))
			out_path = strdup(argv[k] + 4);
		else if (sscanf(argv[k], "theirs=%" SCNx64 "-%" SCNx64, &theirs_lo,
				&theirs_hi) != 2)
			return -1;
	qemu_plugin_register_vcpu_init_cb(id, begin_cpu);
	qemu_plugin_register_vcpu_exit_cb(id, end_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, tell, NULL);
	return 0;
}

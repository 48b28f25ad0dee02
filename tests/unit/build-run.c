/*
 * build-run.c - functions and their bodies run in Unicorn, from random states: registers,
 * flags, vector registers, the stack and the 128 bytes below it are the same behind both. A
 * jump that may go on in the original does, while it is off.
 *
 *	build-run: 25 functions, 5100 runs | wrong 0
 */
#include "site-rig.h"

#include "copy/build.h"
#include "copy/copy.h"
#include "emulated.h"

enum { ROOM = 1 << 18, RUNS = 100, STACK = 0x10000000, RETURN = 0x20000000, RED_ZONE = 128,
       DEEPEST = PAGE, SWITCH_ON = 0xeb, SWITCH_OFF = 0x0f };

static struct fl_shape_step steps[ROOM];
static uc_engine *uc;
static uint64_t seed = 88172645463325252u;

/* Table jumps by every kind of operand. Flags, the red zone, %rax and %rcx are live across
 * the jump; one entry of the table leads out of the function. */
static const char text[] =
	".macro BEGIN name\n.p2align 4\n.type \\name,@function\n"
	"\\name:\n.cfi_startproc\n.endm\n"
	".macro END name\n.cfi_endproc\n.size \\name,.-\\name\n.endm\n"
	".macro TABLE name, jump\n"
	"BEGIN \\name\n endbr64\n and $3,%edi\n lea .Lt\\@(%rip),%rdx\n"
	" movslq (%rdx,%rdi,4),%r11\n add %rdx,%r11\n mov %r8,-8(%rsp)\n mov %r9,-120(%rsp)\n"
	" \\jump\n"
	".Lc0\\@: adc %r8,%r9\n seto %bl\n ret\n"
	".Lc1\\@: mov -8(%rsp),%rdi\n setc %bl\n sets %dl\n setp %r10b\n ret\n"
	".Lc2\\@: mov -120(%rsp),%rsi\n cmovo %r8,%r9\n lea 1(%rax,%rcx),%r12\n rep ret\n"
	"END \\name\n"
	".pushsection .rodata\n.p2align 2\n"
	".Lt\\@: .long .Lc0\\@-.Lt\\@,.Lc1\\@-.Lt\\@,.Lc2\\@-.Lt\\@,outside-.Lt\\@\n"
	".popsection\n.endm\n"
	".text\n"
	"BEGIN outside\n adc %rsi,%r9\n setc %bl\n seto %dl\n mov -8(%rsp),%r12\n ret\n"
	"END outside\n"
	"TABLE by_rax, \"mov %r11,%rax; cmp %rsi,%r15; notrack jmp *%rax\"\n"
	"TABLE by_rcx, \"mov %r11,%rcx; cmp %rsi,%r15; jmp *%rcx\"\n"
	"TABLE by_rdx, \"mov %r11,%rdx; add %rsi,%r15; bnd jmp *%rdx\"\n"
	"TABLE by_r8, \"mov %r11,%r8; sub %rsi,%r15; jmp *%r8\"\n"
	"TABLE by_r11, \"sub %r15,%rsi; jmp *%r11\"\n"
	"TABLE by_rbp, \"mov %r11,%rbp; add %r15,%rsi; jmp *%rbp\"\n"
	"TABLE by_red_zone, \"mov %r11,-16(%rsp); cmp %r15,%rsi; jmp *-16(%rsp)\"\n"
	"TABLE by_far_zone, \"mov %r11,-128(%rsp); neg %rsi; jmp *-128(%rsp)\"\n"
	"TABLE by_rax_at, \"mov %r11,-24(%rsp); lea -24(%rsp),%rax; cmp %r15,%rsi; "
	"jmp *(%rax)\"\n"
	"TABLE by_rcx_at, \"mov %r11,-24(%rsp); lea -32(%rsp),%rcx; dec %esi; "
	"jmp *8(%rcx)\"\n"
	"TABLE by_index, \"mov %r11,-24(%rsp); mov $-3,%rcx; cmp %r15,%rsi; "
	"jmp *(%rsp,%rcx,8)\"\n"
	"TABLE by_rax_index, \"mov %r11,-24(%rsp); mov $-3,%rax; inc %esi;"
	" jmp *(%rsp,%rax,8)\"\n"
	"TABLE by_both, \"mov %r11,-24(%rsp); lea -40(%rsp),%rax; mov $1,%ecx; cmp %r15,%rsi;"
	" jmp *8(%rax,%rcx,8)\"\n"
	"TABLE by_r12, \"mov %r11,-24(%rsp); lea -24(%rsp),%r12; cmp %r15,%rsi; "
	"jmp *(%r12)\"\n"
	"TABLE by_r13, \"mov %r11,-24(%rsp); lea -24(%rsp),%r13; cmp %r15,%rsi; "
	"jmp *0(%r13)\"\n"
	"TABLE by_disp32, \"mov %r11,-24(%rsp); lea -1024(%rsp),%r9; cmp %r15,%rsi;"
	" jmp *1000(%r9)\"\n"
	"TABLE by_address32, \"mov %r11,-24(%rsp); lea -24(%rsp),%eax; cmp %r15,%rsi;"
	" jmp *(%eax)\"\n"
	/* loops, near in the original, far with places between */
	"BEGIN loops\n mov $5,%ecx\n1: add %rsi,%rdi\n"
	".rept 9\n cmp %rdi,%r8\n je outside\n.endr\n loop 1b\n"
	" mov $7,%ecx\n2: add %rcx,%rdi\n loopne 2b\n mov $4,%ecx\n3: cmp %ecx,%ecx\n"
	" loope 3b\n"
	" ret\nEND loops\n"
	"BEGIN asks_rcx\n nop\n and $1,%ecx\n jrcxz 1f\n add %rsi,%rdi\n"
	".rept 9\n cmp %rdi,%r8\n je outside\n.endr\n"
	"1: lea -1(%rcx),%ecx\n jecxz 2f\n ret\n2: xor %eax,%eax\n ret\nEND asks_rcx\n"
	/* a conditional tail of each kind */
	"BEGIN near\n nop\n nop\n nop\n adc %rax,%rbx\n ret\nEND near\n"
	"BEGIN tails\n cmp %rsi,%rdi\n ja outside\n jo outside\n and $1,%ecx\n jrcxz near\n"
	" cmp %r8,%r9\n jp outside\n jmp outside\nEND tails\n"
	"BEGIN calls\n sub $8,%rsp\n call outside\n lea outside(%rip),%rax\n call *%rax\n"
	" add $8,%rsp\n movq $0,-16(%rsp)\n jmp *.Lpointer(%rip)\nEND calls\n"
	".pushsection .data\n.Lpointer: .quad 0\n.popsection\n"
	"BEGIN backwards\n jmp 2f\n1: dec %ecx\n jne 1b\n ret\n.rept 40\n"
	" mov %rsi,%rdi\n.endr\n"
	"2: and $3,%ecx\n inc %ecx\n jmp 1b\nEND backwards\n"
	/* a part elsewhere, reached by the table and by a branch; the last one of a file is
	 * in no outline */
	"BEGIN split\n push %rbx\n.cfi_def_cfa_offset 16\n and $1,%edi\n"
	" lea .Lts(%rip),%rdx\n"
	" movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n cmp %rsi,%r15\n jo split.cold\n"
	" jmp *%rax\n"
	".Lback: pop %rbx\n ret\nEND split\n.section .text.cold,\"ax\"\n"
	".type split.cold,@function\nsplit.cold:\n.cfi_startproc\n.cfi_def_cfa_offset 16\n"
	" adc %rsi,%r9\n.Lcold: setc %dl\n jmp .Lback\n.cfi_endproc\n"
	".size split.cold,.-split.cold\n"
	/* no place of its window has the stack as high as its jump */
	"BEGIN deep\n push %rbx\n.cfi_def_cfa_offset 16\n push %r12\n"
	".cfi_def_cfa_offset 24\n push %r13\n.cfi_def_cfa_offset 32\n sub $16,%rsp\n"
	".cfi_def_cfa_offset 48\n and $1,%edi\n lea .Ltd(%rip),%rdx\n"
	" movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n cmp %rsi,%r15\n jmp *%rax\n"
	".Ld0: adc %rsi,%r9\n.Ld1: setc %dl\n add $16,%rsp\n pop %r13\n pop %r12\n"
	" pop %rbx\n ret\nEND deep\n"
	/* more landings than 16 bits can number */
	"BEGIN wide\n and $1,%edi\n lea .Ltw(%rip),%rdx\n movslq (%rdx,%rdi,4),%rax\n"
	" add %rdx,%rax\n cmp %rsi,%r15\n jmp *%rax\n"
	".Lw0: adc %rsi,%r9\n ret\n.rept 66000\n nop\n.endr\n.Lw1: setc %dl\n ret\n"
	"END wide\n"
	"BEGIN last\n nop\n nop\n nop\n nop\n nop\n ret\nEND last\n"
	".pushsection .rodata\n.p2align 2\n.Lts: .long .Lback-.Lts,.Lcold-.Lts\n"
	".Ltd: .long .Ld0-.Ltd,.Ld1-.Ltd\n.Ltw: .long .Lw0-.Ltw,.Lw1-.Ltw\n.popsection\n"
	".section .note.GNU-stack,\"\",@progbits\n";

struct opened {
	struct fl_obj o;
	struct fl_module m;
	struct fl_outline outline;
	struct fl_copies copies;
	size_t functions, runs, wrong, switched;
};

static void assemble(struct opened *f)
{
	char path[128];
	FILE *s;

	snprintf(path, sizeof path, "%s/made.s", dir);
	s = fopen(path, "w");
	assert_non_null(s);
	fputs(text, s);
	fclose(s);
	assert_true(run("gcc -shared -nostdlib -o %s/made.so %s 2>&1", dir, path));
	snprintf(path, sizeof path, "%s/made.so", dir);
	assert_int_equal(fl_obj_open(&f->o, path), 0);
	assert_int_equal(fl_obj_lay_out(&f->m, &f->o, path), 0);
	assert_int_equal(fl_outline_open(&f->outline, &f->m), 0);
	fl_copies_begin(&f->copies, f->m.lo, f->m.hi);
}

static void map_there(uintptr_t lo, uintptr_t hi)
{
	lo = fl_round_down(lo, PAGE);
	NEED(uc_mem_map_ptr(uc, lo, fl_round_up(hi - lo, PAGE), UC_PROT_ALL, (void *)lo));
}

/* Who runs a body runs nothing of its function. */
static struct {
	uintptr_t lo, hi;
	size_t met;
} watched;

static void note_met(uc_engine *e, uint64_t pc, uint32_t n, void *arg)
{
	(void)e, (void)n, (void)arg;
	watched.met += pc - watched.lo < watched.hi - watched.lo;
}

struct result {
	struct state s;
	unsigned char stack[PAGE];	/* from the red zone on */
};

/* From `at` to where a return address leads; what is below the red zone is nobody's. */
static bool run_from(uint64_t at, const struct state *from, const uint64_t *words,
		     struct result *r)
{
	uint64_t low;
	uc_err err;

	memset(r, 0, sizeof *r);
	NEED(uc_mem_write(uc, STACK, words, 2 * PAGE));
	load_state(uc, from);
	err = uc_emu_start(uc, at, RETURN, 0, 10000);
	store_state(uc, &r->s);
	low = r->s.reg[SP] - RED_ZONE;
	if (err != UC_ERR_OK || low < STACK || low >= STACK + 2 * PAGE)
		return false;
	NEED(uc_mem_read(uc, low, r->stack, STACK + 2 * PAGE - low < PAGE ?
			 STACK + 2 * PAGE - low : PAGE));
	return true;
}

static bool is_same(const struct result *a, const struct result *b)
{
	return !memcmp(a, b, sizeof *a) && a->s.pc == RETURN;
}

/* True: there are such. */
static bool switch_all(const struct fl_copy *c, unsigned char to)
{
	bool any = false;

	for (uint32_t k = 0; k < c->n_places; k++)
		if (c->places[k].form == FL_FORM_BODY_SWITCH) {
			uint64_t at = c->code + c->places[k].offset;

			NEED(uc_mem_write(uc, at, &to, 1));
			NEED(uc_ctl_remove_cache(uc, c->code, c->code + c->n_code));
			any = true;
		}
	return any;
}

static void compare_once(struct opened *f, const struct fl_copy *c)
{
	static struct result original, body;
	uint64_t words[2 * PAGE / 8];
	struct state from;
	bool right;

	watched.lo = c->function;
	watched.hi = fl_outline_find(&f->outline, c->function) < f->outline.n ?
		f->outline.extents[fl_outline_find(&f->outline, c->function)].end : 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = next_random(&seed);
	fill_state(&from, STACK + PAGE + 512, &seed);
	words[(PAGE + 512) / 8] = RETURN;
	switch_all(c, SWITCH_ON);
	right = run_from(c->entry, &from, words, &original);
	watched.met = 0;
	right = right && run_from(c->off, &from, words, &body) && !watched.met;
	f->runs += 2;
	if (switch_all(c, SWITCH_OFF)) {
		right = right && is_same(&original, &body);
		watched.met = 0;
		right = right && run_from(c->off, &from, words, &body) &&
			watched.met;
		f->runs++;
		f->switched++;
	}
	f->wrong += !right || !is_same(&original, &body);
}

static uintptr_t pointer_at(const struct fl_shape *s)
{
	for (uint32_t k = 0; k < s->n_steps; k++)
		if (s->steps[k].kind == FL_SHAPE_TAIL_POINTER)
			return s->steps[k].target;
	return 0;
}

static void build_all(struct opened *f, struct fl_copy *copies, uintptr_t outside)
{
	for (size_t k = 0; k < f->outline.n; k++) {
		const struct fl_extent *e = &f->outline.extents[k];
		struct fl_shape s = { .steps = steps, .room = ROOM };
		uint64_t datum = 0;

		if (e->kind != FL_EXTENT_FUNCTION || e->refusal)
			continue;
		assert_int_equal(fl_shape_of(&s, &f->outline, e->start, &datum), 0);
		if (pointer_at(&s))
			*(uintptr_t *)pointer_at(&s) = outside;
		assert_int_equal(fl_copy_build(&f->copies, &s, &copies[f->functions++], &datum),
				 0);
	}
}

static int find_outside(void *arg, const char *name, const Elf64_Sym *s)
{
	if (!strcmp(name, "outside"))
		*(uintptr_t *)arg = s->st_value;
	return 0;
}

static void bodies_do_what_functions_do(void **state)
{
	static struct fl_copy copies[64];
	struct opened f = { .runs = 0 };
	uintptr_t outside = 0;
	size_t wrong;

	(void)state;
	assemble(&f);
	fl_obj_symbols(&f.o, find_outside, &outside);
	build_all(&f, copies, f.m.bias + outside);
	map_there(f.m.lo, f.m.hi);
	for (uint32_t k = 0; k < f.copies.n; k++) {
		const struct fl_near *near = &f.copies.blocks[k].near;

		map_there((uintptr_t)near->code, (uintptr_t)near->code + near->code_bytes +
			  near->data_bytes);
	}
	for (size_t k = 0; k < f.functions; k++) {
		wrong = f.wrong;
		for (int i = 0; i < RUNS; i++)
			compare_once(&f, &copies[k]);
		if (f.wrong > wrong)
			printf("wrong: the function at %lx, %zu of %d\n",
			       copies[k].function - f.m.bias, f.wrong - wrong, RUNS);
	}
	printf("build-run: %zu functions, %zu runs | wrong %zu\n", f.functions, f.runs,
	       f.wrong);
	assert_true(f.functions >= 20);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(f.switched, RUNS);	/* of `deep` alone */
	assert_true(run("rm -rf %s", dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_do_what_functions_do),
	};
	uc_hook hook;

	assert_non_null(mkdtemp(dir));
	fl_text_choose("mprotect");
	fl_unwind_serve();
	NEED(uc_open(UC_ARCH_X86, UC_MODE_64, &uc));
	NEED(uc_hook_add(uc, &hook, UC_HOOK_CODE, (void *)note_met, NULL, 1, 0));
	NEED(uc_mem_map(uc, STACK, 2 * PAGE, UC_PROT_READ | UC_PROT_WRITE));
	NEED(uc_mem_map(uc, RETURN, PAGE, UC_PROT_ALL));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

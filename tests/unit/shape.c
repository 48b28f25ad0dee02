/*
 * shape.c - which functions can have a second body, and what they are made of: functions
 * written for each reason to refuse one, and all of some large installed files, against
 * Zydis.
 *
 *	shape: 1058316 steps of 13027 functions of 5 files, 157 refused | length 0 kind 0
 *	target 0 row 0 left 0 window 0
 *
 * Counts right of the bar must be zero.
 */
#include "site-rig.h"

#include <Zydis/Zydis.h>

enum { ROOM = 1 << 20, WANTED = 300000, SHOWN = 20 };

static struct fl_shape_step steps[ROOM];

/* ---- functions written for it -------------------------------------------- */

struct opened {
	struct fl_obj o;
	struct fl_module m;
	struct fl_outline outline;
};

static void open_file(struct opened *f, const char *path)
{
	assert_int_equal(fl_obj_open(&f->o, path), 0);
	assert_int_equal(fl_obj_lay_out(&f->m, &f->o, path), 0);
	assert_int_equal(fl_outline_open(&f->outline, &f->m), 0);
}

static void close_file(struct opened *f)
{
	fl_outline_close(&f->outline);
	fl_obj_unlay(&f->m);
	fl_obj_close(&f->o);
}

struct wanted {
	const char *name;
	uintptr_t at;
};

static int find_symbol(void *arg, const char *name, const Elf64_Sym *s)
{
	struct wanted *w = arg;

	if (!strcmp(name, w->name))
		w->at = s->st_value;
	return 0;
}

static uintptr_t address_of(const struct opened *f, const char *name)
{
	struct wanted w = { name, 0 };

	fl_obj_symbols(&f->o, find_symbol, &w);
	if (!w.at)
		printf("no symbol %s\n", name);
	assert_true(w.at);
	return f->m.bias + w.at;
}

static int shape_of(const struct opened *f, struct fl_shape *s, uintptr_t at)
{
	uint64_t datum;

	*s = (struct fl_shape){ .steps = steps, .room = ROOM };
	return fl_shape_of(s, &f->outline, at, &datum);
}

static void expect(const struct opened *f, const char *name, int err)
{
	struct fl_shape s;
	int is = shape_of(f, &s, address_of(f, name));

	if (is != err)
		printf("%s: %d (%s), expected %d (%s)\n", name, is, fl_err_text(is), err,
		       fl_err_text(err));
	assert_int_equal(is, err);
}

/* A file of functions; each is `name: body` with rows for unwinding, but for BARE. */
static void assemble(struct opened *f, const char *text)
{
	char path[128];
	FILE *s;

	snprintf(path, sizeof path, "%s/made.s", dir);
	s = fopen(path, "w");
	assert_non_null(s);
	fprintf(s, ".macro BEGIN name\n.p2align 4\n.type \\name,@function\n"
		"\\name:\n.cfi_startproc\n.endm\n"
		".macro END name\n.cfi_endproc\n.size \\name,.-\\name\n.endm\n"
		".macro BARE name\n.p2align 4\n.type \\name,@function\n\\name:\n.endm\n"
		".macro REBA name\n.size \\name,.-\\name\n.endm\n"
		".macro FILL\n.rept 8\nnop\n.endr\n.endm\n.text\n%s\n"
		".section .note.GNU-stack,\"\",@progbits\n", text);
	fclose(s);
	assert_true(run("gcc -shared -nostdlib -o %s/made.so %s 2>&1", dir, path));
	snprintf(path, sizeof path, "%s/made.so", dir);
	open_file(f, path);
}

/* Each function of the text, and what becomes of it. */
static const struct {
	const char *name;
	int err;
	const char *text;
} refused[] = {
	{ "plain", 0, "BEGIN plain\nFILL\nret\nEND plain" },
	{ "tiny", FLE_NOSPACE, "BEGIN tiny\nret\nEND tiny\n"
	  ".type behind_tiny,@function\nbehind_tiny:\n.cfi_startproc\nFILL\nret\n"
	  "END behind_tiny" },
	{ "before_nops", FLE_NOSPACE, "BEGIN before_nops\nmov $1,%al\nret\nEND before_nops\n"
	  ".Lnops:nop\nnop\nret\nBEGIN goes_to_nops\nlea .Lnops(%rip),%rax\njmp *%rax\n"
	  "END goes_to_nops" },
	{ "padded", 0, "BEGIN padded\nxor %eax,%eax\nret\nEND padded" },
	{ "chooser", FLE_IFUNC, "BEGIN chooser\n.type chooser,@gnu_indirect_function\n"
	  "lea plain(%rip),%rax\nret\nEND chooser" },
	{ "restarts", FLE_RSEQ, "BEGIN restarts\nFILL\n.Lrs:FILL\n.Lpc:ret\n.Lab:ret\n"
	  "END restarts\n.section __rseq_cs,\"aw\"\n.balign 32\n.long 0,0\n"
	  ".quad .Lrs,.Lpc-.Lrs,.Lab\n.text" },
	{ "finder", FLE_CALLER, "BEGIN finder\npush %rax\ncall dlsym@PLT\npop %rcx\nret\n"
	  "END finder" },
	{ "loads_finder", FLE_CALLER, "BEGIN loads_finder\nmov dlopen@GOTPCREL(%rip),%rax\n"
	  "FILL\nret\nEND loads_finder" },
	{ "calls_pointer", FLE_CALLER, "BEGIN calls_pointer\n"
	  "call *dlvsym@GOTPCREL(%rip)\nFILL\nret\nEND calls_pointer" },
	{ "ends_in_finder", FLE_CALLER, "BEGIN ends_in_finder\nxor %eax,%eax\n"
	  "jmp dl_iterate_phdr@PLT\nEND ends_in_finder" },
	{ "calls_ending", FLE_CALLER, "BEGIN calls_ending\nFILL\n"
	  "call ends_in_finder\nret\nEND calls_ending" },
	{ "begins", FLE_START, "BEGIN begins\n.cfi_undefined rip\nFILL\nud2\nEND begins" },
	{ "trampoline", FLE_SIGNAL, "BEGIN trampoline\n.cfi_signal_frame\nmov $15,%eax\n"
	  "syscall\nud2\nEND trampoline" },
	{ "inside", FLE_NOENTRY, "BEGIN inside\n.cfi_def_cfa_offset 16\nFILL\nret\n"
	  "END inside" },
	{ "shares_1", FLE_SHARED, "BEGIN shares_1\nFILL\njmp shared\nEND shares_1" },
	{ "shares_2", FLE_SHARED, "BEGIN shares_2\nFILL\njmp shared\nEND shares_2\n"
	  "BEGIN shared\n.cfi_def_cfa_offset 32\nFILL\nret\nEND shared" },
	{ "to_middle", FLE_MIDDLE, "BEGIN to_middle\nFILL\njmp .Lmiddle\nEND to_middle\n"
	  "BEGIN has_middle\nFILL\n.Lmiddle:FILL\nret\nEND has_middle" },
	{ "has_middle", 0, "" },
	{ "to_filler", 0, "BEGIN to_filler\nFILL\ncall plain@PLT\njmp .Lfiller\n"
	  "END to_filler\n.Lfiller:\nBEGIN behind_filler\nFILL\nret\nEND behind_filler" },
	{ "to_code", FLE_MIDDLE, "BEGIN to_code\nFILL\ncall plain@PLT\njmp .Lcode\n"
	  "END to_code\n.Lcode:cmc\nBEGIN behind_code\nFILL\nret\nEND behind_code" },
	{ "fills", FLE_NOSPACE, "BEGIN fills\njmp .Lfills\nEND fills\n"
	  ".Lfills:\nBEGIN behind_fills\nFILL\nret\nEND behind_fills" },
	{ "to_carry", FLE_MIDDLE, "BEGIN to_carry\nFILL\ncall plain@PLT\njmp .Lto_carry\n"
	  "END to_carry\n.Lto_carry:\nBEGIN has_carry\nadc $0,%rax\nFILL\nret\n"
	  "END has_carry" },
	{ "entered", FLE_INTO, "BEGIN entered\nnop\n.Lentered:FILL\nret\nEND entered\n"
	  "BEGIN enters\nFILL\ncall .Lentered\nret\nEND enters" },
	{ "enters", 0, "" },
	{ "loops_entered", FLE_INTO, "BEGIN loops_entered\nnop\n.Lback:FILL\n.Lfront:\n"
	  "dec %eax\njne .Lback\nret\nEND loops_entered\n"
	  "BEGIN enters_loop\nFILL\ncall .Lfront\nret\nEND enters_loop" },
	{ "splits", FLE_SPLIT, "BEGIN splits\ncmp %fs:0x70,%rsp\njb 1f\nFILL\nret\n"
	  "1:call plain@PLT\nret\nEND splits" },
	{ "splits_more", FLE_SPLIT, "BEGIN splits_more\nendbr64\nlea -2008(%rsp),%r11\n"
	  "cmp %fs:0x70,%r11\njb 1f\nFILL\nret\n1:call plain@PLT\nret\nEND splits_more" },
	{ "takes_carry", FLE_FLAGS, "BEGIN takes_carry\nadc $0,%rax\nFILL\nret\n"
	  "END takes_carry" },
	{ "takes_zero", FLE_FLAGS, "BEGIN takes_zero\nmov %rdi,%rax\npush %rbx\n"
	  "cmove %rsi,%rax\npop %rbx\nret\nEND takes_zero" },
	{ "sets_carry", FLE_FLAGS, "BEGIN sets_carry\ncmp %rsi,%rdi\nFILL\nret\n"
	  "END sets_carry\nBEGIN reads_carry\nFILL\ncall sets_carry\nsbb %rax,%rax\nret\n"
	  "END reads_carry" },
	{ "reads_carry", 0, "" },
	{ "keeps_carry", FLE_FLAGS, "BEGIN keeps_carry\ncmp %rsi,%rdi\nFILL\nret\n"
	  "END keeps_carry\nBEGIN frees_first\nFILL\ncall keeps_carry\nlea 8(%rsp),%rsp\n"
	  "mov %rdi,%rax\npop %rbx\njb 1f\nFILL\n1:ret\nEND frees_first" },
	{ "frees_first", 0, "" },
	{ "jumps_with_carry", FLE_FLAGS, "BEGIN jumps_with_carry\nFILL\ncmp %rsi,%rdi\n"
	  "jmp .Lcarry\n.set .Lcarry,takes_carry\nEND jumps_with_carry" },
	{ "branches_with_zero", FLE_FLAGS, "BEGIN branches_with_zero\nFILL\n"
	  "cmp %rsi,%rdi\njne .Lzero\n.set .Lzero,takes_zero\nret\nEND branches_with_zero" },
	{ "is_named_inside", FLE_INSIDE, "BEGIN is_named_inside\nFILL\n.Lnamed:FILL\nret\n"
	  "END is_named_inside\nBEGIN names_inside\nFILL\nlea .Lnamed(%rip),%rax\nret\n"
	  "END names_inside" },
	{ "names_inside", 0, "" },
	{ "asks_itself", FLE_INSIDE, "BEGIN asks_itself\nFILL\ncall 1f\n1:pop %rax\nret\n"
	  "END asks_itself" },
	{ "calls_itself", 0, "BEGIN calls_itself\nFILL\ncall .Lself\nret\n"
	  ".set .Lself,calls_itself\nEND calls_itself" },
	{ "reads_itself", FLE_OWNBYTES, "BEGIN reads_itself\nFILL\n"
	  ".set .Lreads,reads_itself\ncmpb $0x90,.Lreads+2(%rip)\nret\nEND reads_itself" },
	{ "gives_label", FLE_INSIDE, "BEGIN gives_label\nFILL\nlea 1f(%rip),%rax\nret\n1:ret\n"
	  "END gives_label" },
	{ "goes_to_labels", 0, "BEGIN goes_to_labels\nFILL\nlea 1f(%rip),%rax\njmp *%rax\n"
	  "1:ret\nEND goes_to_labels" },
	{ "to_nowhere", FLE_MIDDLE, "BEGIN to_nowhere\nFILL\njmp .+0x10000000\n"
	  "END to_nowhere" },
	{ "names_itself", 0, "BEGIN names_itself\nFILL\n.set .Lnames,names_itself\n"
	  "lea .Lnames(%rip),%rax\nret\nEND names_itself" },
	{ "data", FLE_DATA, "BEGIN data\nFILL\n.byte 6,6,6\nret\nEND data" },
	{ "data_behind_jump", 0, "BEGIN data_behind_jump\nFILL\njmp 1f\n.byte 6,6,6\n1:ret\n"
	  "END data_behind_jump" },
	{ "data_and_switch", FLE_DATA, "BEGIN data_and_switch\nFILL\njmp *%rax\n.byte 6,6\n"
	  "1:ret\nEND data_and_switch" },
	{ "torn", FLE_TORN, "BEGIN torn\ntest %eax,%eax\nFILL\njne 1f+1\n"
	  "1:mov $0x90909090,%eax\nret\nEND torn" },
	{ "torn_unreached", 0, "BEGIN torn_unreached\nFILL\njmp 2f\n1:jmp 2f+1\n"
	  "2:mov $0x90909090,%eax\nret\nEND torn_unreached" },
	{ "runs_on", FLE_RUNSON, "BEGIN runs_on\nFILL\nmov $1,%eax\nEND runs_on" },
	{ "runs_into", 0, "BEGIN runs_into\ncmp %rsi,%rdi\njb plain@PLT\nnopl 8(%rax)\n"
	  "END runs_into\nBEGIN is_run_into\nFILL\nret\nEND is_run_into" },
	{ "is_run_into", 0, "" },
	{ "runs_far", 0, "BEGIN runs_far\ncmp %rsi,%rdi\njb plain@PLT\nEND runs_far\n"
	  "FILL\nFILL\nFILL\nFILL\nBEGIN is_far\nFILL\nret\nEND is_far" },
	{ "runs_into_data", FLE_RUNSON, "BEGIN runs_into_data\ntest %eax,%eax\nFILL\n"
	  "jb plain@PLT\nEND runs_into_data\n.byte 0x90,0\nBEGIN behind_data\nFILL\nret\n"
	  "END behind_data" },
	{ "runs_into_flags", FLE_FLAGS, "BEGIN runs_into_flags\ntest %eax,%eax\nFILL\n"
	  "jb plain@PLT\nEND runs_into_flags\n"
	  "BEGIN takes_more\nadc $0,%rax\nFILL\nret\nEND takes_more" },
	{ "runs_shortly", FLE_RUNSON, "BEGIN runs_shortly\ntest %edi,%edi\njb .Lshort\n"
	  "END runs_shortly\n.set .Lshort,behind_short\n"
	  "BEGIN behind_short\nFILL\nret\nEND behind_short" },
	{ "ends_in_call", 0, "BEGIN ends_in_call\nFILL\ncall plain@PLT\nEND ends_in_call" },
	{ "rowless", FLE_ROWS, "BARE rowless\nFILL\npush %rax\ncall plain@PLT\npop %rax\nret\n"
	  "REBA rowless\nBARE beside_rowless\nFILL\nret\nREBA beside_rowless" },
	{ "beside_rowless", FLE_ROWS, "" },
	{ "calls_rowless", 0, "BEGIN calls_rowless\nFILL\ncall .Lrowless\nret\n"
	  ".set .Lrowless,rowless\nEND calls_rowless" },
	{ "rowless_leaf", 0, "BARE rowless_leaf\nFILL\nret\nREBA rowless_leaf" },
	{ "rowless_pointer", FLE_ROWS, "BEGIN between\nFILL\nret\nEND between\n"
	  "BARE rowless_pointer\nFILL\npush %rax\ncall *.Lword(%rip)\n"
	  "pop %rax\nret\n"
	  "REBA rowless_pointer\n.data\n.Lword:.quad 0\n.text\n"
	  "BEGIN behind_rowless\nFILL\nret\nEND behind_rowless" },
	{ "bad_pads", FLE_UNWIND, "BEGIN bad_pads\n.cfi_lsda 0x1b,.Llsda\nFILL\nret\n"
	  "END bad_pads\n.section .gcc_except_table,\"a\"\n.Llsda:.byte 0x00,0x00,0x00\n"
	  ".byte 0xff,0xff,0xff,0xff,0xff,0xff\n.text" },
	{ "pads_entered", FLE_INTO, "BEGIN pads_entered\n.cfi_lsda 0x1b,.Lpads\nnop\n"
	  ".Lpad:FILL\n.Lpads_in:call plain@PLT\n.Lpads_to:ret\nEND pads_entered\n"
	  "BEGIN enters_pads\nFILL\ncall .Lpads_in\nret\nEND enters_pads\n"
	  ".section .gcc_except_table,\"a\"\n.Lpads:.byte 0xff,0xff,0x01,4\n"
	  ".uleb128 .Lpads_in-pads_entered,.Lpads_to-.Lpads_in,.Lpad-pads_entered,0\n.text" },
	{ "in_table", FLE_INTO, "BEGIN in_table\nnop\n.Lin_table:FILL\nret\nEND in_table\n"
	  ".data\n.quad .Lin_table\n.text" },
	{ "calls_far", 0, "BEGIN calls_far\nlcall *.Lfar(%rip)\nFILL\nret\nEND calls_far\n"
	  ".data\n.type far_pointer,@object\nfar_pointer:.Lfar:.quad 0\n.text" },
	{ "pads_alone", 0, "BEGIN pads_alone\n.cfi_lsda 0x1b,.Llone\nnop\n.Llone_pad:FILL\n"
	  ".Llone_in:call plain@PLT\n.Llone_to:ret\nEND pads_alone\n"
	  ".section .gcc_except_table,\"a\"\n.Llone:.byte 0xff,0xff,0x01,4\n"
	  ".uleb128 .Llone_in-pads_alone,.Llone_to-.Llone_in,.Llone_pad-pads_alone,0\n"
	  ".text" },
	{ "odd_frame", FLE_UNWIND, "BEGIN odd_frame\n.cfi_escape 0x1d,0,0,0,0,0,0,0,0\nFILL\n"
	  "ret\nEND odd_frame" },
	{ "many_parts", FLE_PARTS, "BEGIN many_parts\ntest %eax,%eax\n"
	  ".irp k,1,2,3,4,5,6,7,8\njne .Lpart\\k\n"
	  ".endr\nret\nEND many_parts\n.irp k,1,2,3,4,5,6,7,8\nBEGIN part\\k\n.Lpart\\k:\n"
	  ".cfi_def_cfa_offset 32\nFILL\nud2\nEND part\\k\n.endr" },
	{ "few_parts", 0, "BEGIN few_parts\ntest %eax,%eax\n.irp k,a,b\njne .Lpart\\k\n"
	  ".endr\n.Lcome_back:\nret\nEND few_parts\n.irp k,a,b\nBEGIN part\\k\n.Lpart\\k:\n"
	  ".cfi_def_cfa_offset 32\nFILL\njmp .Lcome_back\nEND part\\k\n.endr" },
};

/* Others lead to what stands behind the first instruction of `led`, or go on in the middle of
 * another one. FILL and a return leave seven bytes before what is behind, a NOP; AFTER, as many
 * as it says. */
#define AFTER(name, bytes) "BEGIN " name "\n.rept " bytes " - 1\nnop\n.endr\nret\n" \
	"END " name "\n"
#define LED(name) "BEGIN " name "\nmov %rdi,%rax\n.L" name ":cmp %rsi,%rdi\nFILL\nret\n" \
	"END " name "\n"
#define LEADS(name) "BEGIN leads_" name "\nmov %rdi,%rax\njmp .L" name "\nEND leads_" name "\n"
static const struct {
	const char *name;
	uint8_t before;
	int err;
	const char *text;
} led[] = {
	{ "led", 7, 0, AFTER("a_led", "9") LED("led") LEADS("led") },
	{ "leads_led", 0, 0, "" },
	{ "led_far", 11, 0, AFTER("a_far", "5") LED("led_far") LEADS("led_far") },
	{ "led_pad", 11, 0, AFTER("a_pad", "9") "BEGIN led_pad\nendbr64\nmov %rdi,%rax\n"
	  ".Lled_pad:cmp %rsi,%rdi\nFILL\nret\nEND led_pad\n" LEADS("led_pad") },
	{ "led_by_nops", 6, 0, "BEGIN runs_by\ncmp %rsi,%rdi\njb plain@PLT\nnop\n"
	  "END runs_by\n" LED("led_by_nops") LEADS("led_by_nops") },
	{ "led_shortly", 0, FLE_INTO, AFTER("a_short", "12") LED("led_shortly")
	  LEADS("led_shortly") },
	{ "led_push", 0, FLE_INTO, AFTER("a_push", "9") "BEGIN led_push\npush %rbx\n"
	  ".Lled_push:cmp %rsi,%rdi\nFILL\npop %rbx\nret\nEND led_push\n"
	  LEADS("led_push") },
	{ "led_nop", 0, FLE_INTO, AFTER("a_nop", "9") ".Lin_nop:\n" LED("led_nop")
	  LEADS("led_nop") "BEGIN to_nop\njmp .Lin_nop + 2\nEND to_nop\n" },
	{ "led_read", 0, FLE_INTO, AFTER("a_read", "9") ".Lin_read:\n" LED("led_read")
	  LEADS("led_read") "BEGIN reads\nmov .Lin_read + 2(%rip),%rax\nFILL\nret\n"
	  "END reads\n" },
	{ "led_start", 0, FLE_INTO, AFTER("a_start", "9") ".Lstart:\n" LED("led_start")
	  LEADS("led_start") "BEGIN starts\nlea .Lstart(%rip),%rax\nFILL\nret\n"
	  "END starts\n" },
	{ "led_torn", 0, FLE_INTO, AFTER("a_torn", "8") ".byte 0xb8\n" LED("led_torn")
	  LEADS("led_torn") },
	{ "led_small", 0, FLE_INTO, "BEGIN a_row\n.rept 7\nnop\n.endr\nret\nEND a_row\n"
	  ".type a_small,@function\na_small:\n.cfi_startproc\nret\nEND a_small\n"
	  LED("led_small") LEADS("led_small") },
	{ "led_odd", 0, FLE_INTO, AFTER("a_odd", "16") "nopl 0x100(%rax)\n"
	  ".type led_odd,@function\nled_odd:\n.cfi_startproc\nmov %rdi,%rax\n"
	  ".Lled_odd:cmp %rsi,%rdi\nFILL\nret\nEND led_odd\n" LEADS("led_odd") },
	{ "led_back", 0, FLE_INTO, AFTER("a_back", "9") "BEGIN led_back\n.Lto_back:"
	  "mov %rdi,%rax\n.Lled_back:cmp %rsi,%rdi\njne .Lto_back\nFILL\nret\n"
	  "END led_back\n" LEADS("led_back") },
	{ "led_first", 0, FLE_INTO, AFTER("a_first", "9") "BEGIN led_first\n"
	  "mov $0x90909090,%eax\nFILL\nret\n.set .Lled_first,led_first + 2\n"
	  "END led_first\n" LEADS("led_first") },
	{ "leads_flags", 0, FLE_MIDDLE, "BEGIN has_flags\nFILL\n.Lflags:adc $0,%rax\nFILL\n"
	  "ret\nEND has_flags\n" LEADS("flags") },
	{ "leads_later", 0, FLE_MIDDLE, "BEGIN has_later\nFILL\n.Llater:mov %rdi,%rax\n"
	  "cmovb %rsi,%rax\nFILL\nret\nEND has_later\n" LEADS("later") },
	{ "leads_call", 0, FLE_MIDDLE, "BEGIN has_call\npush %rax\nFILL\n.Lcall:call .Lseen\n"
	  "cmp %rsi,%rdi\npop %rax\nret\n.set .Lseen,led\nEND has_call\n" LEADS("call") },
	{ "leads_loop", 0, FLE_MIDDLE, "BEGIN has_loop\nFILL\n1:ret\n.Lloop:loop 1b\n"
	  "cmp %rsi,%rdi\nret\nEND has_loop\n" LEADS("loop") },
	{ "leads_return", 0, 0, "BEGIN has_return\nFILL\n.Lreturn:ret\nEND has_return\n"
	  LEADS("return") },
	{ "below", 0, FLE_MIDDLE, "BEGIN below\nmov %rax,-8(%rsp)\njmp .Lled\nEND below\n" },
	{ "pushes", 0, FLE_MIDDLE, "BEGIN pushes\npush %rax\nFILL\njmp .Lled\nEND pushes\n" },
	{ "lowers", 0, FLE_MIDDLE, "BEGIN lowers\nsub $8,%rsp\nFILL\njmp .Lled\nEND lowers\n" },
	{ "calls_led", 0, FLE_MIDDLE, "BEGIN calls_led\ncall *%rax\nFILL\njmp .Lled\n"
	  "END calls_led\n" },
	{ "keeps", 0, FLE_MIDDLE, "BEGIN keeps\nmov %rsp,%rax\nFILL\njmp .Lled\nEND keeps\n" },
	{ "branches", 0, 0, "BEGIN branches\ncmp %rsi,%rdi\njb .Lled\nret\nEND branches\n" },
};

/* No symbol, no frame, jumped to by one, or in its middle alone: its tables say that it is
 * called. Or they do so of a NOP, before a landing pad. */
static const char hidden[] = "BEGIN hides_part\ntest %eax,%eax\nFILL\njne .Lhidden\n"
	".Lback_in:\nFILL\nret\nEND hides_part\nnop\n.p2align 4\n.Lhidden:\n.cfi_startproc\n"
	"FILL\njmp .Lback_in\n.cfi_endproc\n.p2align 4\n"
	"BEGIN splits_off\ntest %eax,%eax\nFILL\njne .Lsplit\nFILL\nret\nEND splits_off\n"
	".p2align 4\nnop\n.Lsplit:\n.cfi_startproc\nFILL\nret\n.cfi_endproc\n.p2align 4\n"
	"BEGIN to_unled\ntest %eax,%eax\nFILL\njne .Lunled\nFILL\nret\nEND to_unled\nnop\n"
	".p2align 4\n.cfi_startproc\nFILL\n.Lunled:FILL\nret\n.cfi_endproc\n.p2align 4\n"
	"BEGIN lands\ntest %eax,%eax\nFILL\njne .Lcalls_pad\nFILL\nret\nEND lands\n"
	".Lpart_lands:\n.cfi_startproc\n.cfi_lsda 0x1b,.Llands\nnop\n"
	".cfi_def_cfa_offset 16\n.Llanded:FILL\n.Lcalls_pad:call plain@PLT\n"
	".Llands_to:ud2\n.cfi_endproc\n.section .gcc_except_table,\"a\"\n"
	".Llands:.byte 0xff,0xff,0x01,4\n"
	".uleb128 .Lcalls_pad-.Lpart_lands,.Llands_to-.Lcalls_pad\n"
	".uleb128 .Llanded-.Lpart_lands,0\n"
	".text\n.p2align 4\n";

/* So is what one tail call alone leads to; it is laid out as functions are. */
static const char alone[] = "BEGIN tails_once\nFILL\njmp .Lalone\nEND tails_once\nnop\n"
	".p2align 4\n.Lalone:\n.cfi_startproc\nFILL\nret\n.cfi_endproc\n.p2align 4\n";

static void open_refused(struct opened *f)
{
	static char text[1 << 16];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", refused[i].text);
	for (size_t i = 0; i < ARRAY_LEN(led); i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", led[i].text);
	n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", hidden, alone);
	assert_true(n < sizeof text);
	assemble(f, text);
}

static void each_refusal_has_its_reason(void **state)
{
	struct opened f;

	(void)state;
	open_refused(&f);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		expect(&f, refused[i].name, refused[i].err);
	close_file(&f);
}

static void who_is_led_into_is_led_from_before(void **state)
{
	struct fl_shape s;
	struct opened f;

	(void)state;
	open_refused(&f);
	for (size_t i = 0; i < ARRAY_LEN(led); i++) {
		expect(&f, led[i].name, led[i].err);
		if (led[i].err || shape_of(&f, &s, address_of(&f, led[i].name)))
			continue;
		if (s.before != led[i].before)
			printf("%s: %d before\n", led[i].name, s.before);
		assert_int_equal(s.before, led[i].before);
		assert_true(!s.before || (s.covered == 1 && s.window == 3));
	}
	close_file(&f);
}

static void parts_elsewhere_are_found(void **state)
{
	struct fl_shape s;
	struct opened f;

	(void)state;
	open_refused(&f);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "few_parts")), 0);
	assert_int_equal(s.n_parts, 3);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "hides_part")), 0);
	assert_int_equal(s.n_parts, 2);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "splits_off")), 0);
	assert_int_equal(s.n_parts, 2);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "to_unled")), 0);
	assert_int_equal(s.n_parts, 2);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "lands")), 0);
	assert_int_equal(s.n_parts, 2);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "plain")), 0);
	assert_int_equal(s.n_parts, 1);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "tails_once")), 0);
	assert_int_equal(s.n_parts, 1);
	close_file(&f);
}

/* The pointer of a call that leaves this kind of code, too, lies where it did. */
static void far_calls_have_their_pointers(void **state)
{
	struct fl_shape s;
	struct opened f;

	(void)state;
	open_refused(&f);
	assert_int_equal(shape_of(&f, &s, address_of(&f, "calls_far")), 0);
	assert_int_equal(s.steps[0].kind, FL_SHAPE_RELATIVE);
	assert_int_equal(s.steps[0].target, address_of(&f, "far_pointer"));
	assert_true(s.steps[0].is_call);
	close_file(&f);
}

/* Memory may hold a debugger's traps: without its file nothing is known of a module. */
static void without_its_file_nothing_is_taken(void **state)
{
	struct fl_obj none = { 0 };
	struct opened f;

	(void)state;
	open_refused(&f);
	fl_outline_close(&f.outline);
	f.m.file = none;
	assert_int_equal(fl_outline_open(&f.outline, &f.m), 0);
	assert_true(f.outline.n > 10);
	for (size_t i = 0; i < f.outline.n; i++)
		if (f.outline.extents[i].kind == FL_EXTENT_FUNCTION &&
		    f.outline.extents[i].refusal != FLE_NOFILE)
			expect(&f, "plain", FLE_NOFILE);
	close_file(&f);
}

/* ---- tests --------------------------------------------------------------- */

/* ---- all functions of a file, against Zydis ------------------------------ */

struct verdict {
	size_t n, n_functions, n_files, n_refused;
	size_t length, kind, target, row, left, window, shown;
};

static ZydisDecoder zydis;

static void show(struct verdict *v, size_t *count, const char *what,
		 const struct fl_shape *s, uintptr_t at)
{
	++*count;
	if (v->shown++ < SHOWN)
		printf("%s: %s+%zx in %zx\n", what, s->m->path, (size_t)(at - s->m->bias),
		       (size_t)(s->function - s->m->bias));
}

static bool is_within(const struct fl_shape *s, uintptr_t a)
{
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (a >= s->parts[i].start && a < s->parts[i].end)
			return true;
	return false;
}

/* What Zydis says that an instruction is, and leads to. */
static uint8_t expected_kind(const struct fl_shape *s, const ZydisDecodedInstruction *z,
			     const ZydisDecodedOperand *op, uintptr_t at, uintptr_t *target)
{
	ZydisInstructionCategory c = z->meta.category;
	bool is_direct = z->operand_count_visible && op[0].imm.is_relative &&
			 op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	bool is_relative = false;
	uint64_t to = 0;

	for (unsigned int k = 0; k < z->operand_count_visible; k++)
		if ((op[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		     op[k].mem.base == ZYDIS_REGISTER_RIP) ||
		    (!k && is_direct)) {
			assert_true(ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, &op[k], at, &to)));
			is_relative = op[k].type == ZYDIS_OPERAND_TYPE_MEMORY;
		}
	*target = to;
	if (c == ZYDIS_CATEGORY_CALL && is_direct)
		return FL_SHAPE_CALL;
	if (c == ZYDIS_CATEGORY_UNCOND_BR && is_direct)
		return is_within(s, to) ? FL_SHAPE_JUMP : FL_SHAPE_TAIL;
	if (c == ZYDIS_CATEGORY_UNCOND_BR && z->mnemonic == ZYDIS_MNEMONIC_JMP)
		return is_relative ? FL_SHAPE_TAIL_POINTER : FL_SHAPE_SWITCH;
	if (is_direct)
		return is_within(s, to) ? FL_SHAPE_BRANCH : FL_SHAPE_BRANCH_OUT;
	if (c == ZYDIS_CATEGORY_RET)
		return FL_SHAPE_RET;
	if (z->mnemonic == ZYDIS_MNEMONIC_UD2)
		return FL_SHAPE_STOP;
	return is_relative ? FL_SHAPE_RELATIVE : FL_SHAPE_PLAIN;
}

static void compare_step(struct verdict *v, const struct fl_shape *s,
			 const struct fl_shape_step *step)
{
	const unsigned char *code = fl_shape_bytes(s, step);
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	uintptr_t target;
	uint8_t kind;

	if (step->kind == FL_SHAPE_END || step->kind == FL_SHAPE_RUNS_ON)
		return;
	v->n++;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, code, 15, &z, op)) ||
	    z.length != step->len) {
		show(v, &v->length, "length", s, step->at);
		return;
	}
	kind = expected_kind(s, &z, op, step->at, &target);
	if (kind != step->kind || step->is_call != (z.meta.category == ZYDIS_CATEGORY_CALL))
		show(v, &v->kind, "kind", s, step->at);
	else if (step->target != target)
		show(v, &v->target, "target", s, step->at);
}

/* Steps follow one another, but where nothing can get to what lies between. */
static void check_rows(struct verdict *v, const struct fl_shape *s)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < s->n_parts; p++) {
		uintptr_t at = s->parts[p].start;

		for (; n < s->n_steps && s->steps[n].part == p; n++) {
			uint8_t last = n ? s->steps[n - 1].kind : FL_SHAPE_RET;

			if (s->steps[n].at < at || (s->steps[n].at > at &&
			    last != FL_SHAPE_JUMP && last != FL_SHAPE_TAIL &&
			    last != FL_SHAPE_RET && last != FL_SHAPE_STOP))
				show(v, &v->row, "row", s, s->steps[n].at);
			at = s->steps[n].at + s->steps[n].len;
		}
		if (at > s->parts[p].end)
			show(v, &v->row, "end", s, at);
	}
	if (n != s->n_steps)
		show(v, &v->row, "part", s, s->function);
}

static const struct fl_shape_step *find_step(const struct fl_shape *s, uintptr_t at)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].at == at && s->steps[i].kind != FL_SHAPE_END)
			return &s->steps[i];
	return NULL;
}

/* Direct branches are to steps, which know it; what is covered is come to by none. */
static void check_branches(struct verdict *v, const struct fl_shape *s)
{
	const struct fl_shape_step *first = find_step(s, s->entry);

	if (!first) {
		show(v, &v->window, "entry", s, s->entry);
		return;
	}
	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct fl_shape_step *step = &s->steps[i], *to;

		if (step->kind != FL_SHAPE_JUMP && step->kind != FL_SHAPE_BRANCH)
			continue;
		to = s->n_steps < 2000 ? find_step(s, step->target) : NULL;
		if (s->n_steps < 2000 && (!to || !to->is_target))
			show(v, &v->target, "to", s, step->at);
		if (step->target >= s->entry && step->target < s->entry + s->window &&
		    s->covered)
			show(v, &v->window, "into", s, step->at);
	}
	for (uint32_t i = 0; i < s->covered; i++)
		if (first[i].is_call && first[i].at + first[i].len < s->entry + 5)
			show(v, &v->window, "call", s, first[i].at);
}

static size_t count_left(const struct fl_shape *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_steps; i++)
		n += s->steps[i].kind >= FL_SHAPE_TAIL && s->steps[i].kind <= FL_SHAPE_RET;
	return n;
}

/* What the provider tells. */
struct told {
	struct verdict *v;
	const struct opened *f;
	struct fl_shape shape;		/* of the last site's function */
	int err;
	uintptr_t last;
	size_t n_entries, n_left;
};

static bool is_right(const struct told *t, const struct fl_site *s)
{
	const struct fl_shape_step *step = find_step(&t->shape, s->at);
	bool is_ret = s->form == FL_FORM_BODY_RET;

	if (!s->bare || s->at < t->last || s->refusal != t->err)
		return false;
	if (t->err)
		return s->kind == FL_ENTRY && s->form == FL_FORM_NONE;
	if (s->kind == FL_ENTRY)
		return s->form == (t->shape.before ? FL_FORM_BODY_BEFORE : FL_FORM_BODY) &&
		       s->before == t->shape.before && s->at == t->shape.entry;
	return step && s->room == step->len && s->kind == (is_ret ? FL_EXIT : FL_TAIL) &&
	       is_ret == (step->kind == FL_SHAPE_RET) &&
	       (is_ret || s->form == FL_FORM_BODY_TAIL) &&
	       step->kind >= FL_SHAPE_TAIL && step->kind <= FL_SHAPE_RET;
}

static int compare_site(void *arg, const struct fl_site *s)
{
	struct told *t = arg;

	if (s->function != t->shape.function)
		t->err = shape_of(t->f, &t->shape, s->function);
	if (!is_right(t, s))
		show(t->v, &t->v->left, "site", &t->shape, s->at);
	t->last = s->at;
	t->n_entries += s->kind == FL_ENTRY;
	t->n_left += s->kind != FL_ENTRY;
	return 0;
}

static void compare_file(struct verdict *v, const char *path)
{
	size_t n_left = 0, n_refused = 0, n_functions = 0;
	struct told t = { .v = v };
	struct opened f;

	if (access(path, R_OK))
		return;
	open_file(&f, path);
	v->n_files++;
	for (size_t k = 0; k < f.outline.n; k++) {
		const struct fl_extent *x = &f.outline.extents[k];
		struct fl_shape s;

		if (x->kind != FL_EXTENT_FUNCTION)
			continue;
		if (shape_of(&f, &s, x->start)) {
			n_refused++;
			continue;
		}
		n_functions++;
		n_left += count_left(&s);
		for (uint32_t i = 0; i < s.n_steps; i++)
			compare_step(v, &s, &s.steps[i]);
		check_rows(v, &s);
		check_branches(v, &s);
	}
	t.f = &f;
	assert_int_equal(fl_providers[FL_PROVIDER_BODY]->scan(&f.m, compare_site, &t), 0);
	v->left += t.n_left != n_left || t.n_entries != n_functions + n_refused;
	v->n_functions += n_functions;
	v->n_refused += n_refused;
	close_file(&f);
}

static void shapes_are_what_zydis_says(void **state)
{
	static const char *const files[] = {
		"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/bin/perl",
	};
	struct verdict v = { 0 };

	(void)state;
	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		compare_file(&v, files[i]);
	printf("shape: %zu steps of %zu functions of %zu files, %zu refused | length %zu "
	       "kind %zu target %zu row %zu left %zu window %zu\n", v.n, v.n_functions,
	       v.n_files, v.n_refused, v.length, v.kind, v.target, v.row, v.left, v.window);
	assert_true(v.n >= WANTED);
	assert_true(v.n_refused * 50 < v.n_functions);
	assert_int_equal(v.length + v.kind + v.target + v.row + v.left + v.window, 0);
}

/* ---- read once ------------------------------------------------------------ */

/* The outline of a file that is loaded: what is kept of it is had once, at that place. */
static void an_outline_is_kept_for_who_opens_it_next(void **state)
{
	static char path[4096];
	struct fl_outline first, again, other;
	const struct fl_extent *extents;
	struct fl_module m, moved;

	(void)state;
	assert_int_equal(fl_obj_around(&m, (uintptr_t)qsort, path, sizeof path), 0);
	moved = m;
	moved.bias -= FL_PAGE;		/* what is read there is mapped, too */
	assert_int_equal(fl_outline_open(&first, &m), 0);
	assert_true(first.n > 1000);
	extents = first.extents;
	fl_outline_keep(&first);
	assert_null(first.extents);
	assert_int_equal(fl_outline_open(&other, &moved), 0);
	assert_ptr_not_equal(other.extents, extents);
	assert_int_equal(fl_outline_open(&again, &m), 0);
	assert_ptr_equal(again.extents, extents);
	fl_outline_close(&other);
	assert_int_equal(fl_outline_open(&other, &m), 0);
	assert_ptr_not_equal(other.extents, extents);
	assert_int_equal(other.n, again.n);
	fl_outline_keep(&other);
	fl_outline_forget();
	fl_outline_close(&again);
	fl_obj_close(&m.file);
}

/* Byte for byte, and what refuses a function, also one of another part's. */
static void several_threads_read_what_one_does(void **state)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/perl", "/usr/bin/python3.11", "/usr/bin/gdb",
	};
	size_t n_refused = 0, n = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(paths); k++) {
		struct fl_outline shared;
		struct opened f;

		if (access(paths[k], R_OK))
			continue;
		open_file(&f, paths[k]);
		fl_os_spare.n = 3;
		assert_int_equal(fl_outline_open(&shared, &f.m), 0);
		fl_os_spare.n = 0;
		assert_int_equal(shared.n, f.outline.n);
		assert_int_equal(shared.n_lefts, f.outline.n_lefts);
		assert_memory_equal(shared.extents, f.outline.extents,
				    shared.n * sizeof *shared.extents);
		assert_memory_equal(shared.lefts, f.outline.lefts,
				    shared.n_lefts * sizeof *shared.lefts);
		for (size_t i = 0; i < shared.n; i++)
			n_refused += shared.extents[i].refusal != 0;
		n += shared.n;
		fl_outline_close(&shared);
		close_file(&f);
	}
	printf("shape: %zu ranges of code, %zu refused, as by one thread\n", n, n_refused);
	assert_true(n > 10000 && n_refused > 100);
}

/* Of a file that is laid out, which is elsewhere next time, nothing is. */
static void nothing_is_kept_of_what_is_laid_out(void **state)
{
	struct opened f;

	(void)state;
	open_file(&f, "/lib/x86_64-linux-gnu/libc.so.6");
	fl_outline_keep(&f.outline);
	assert_int_equal(f.outline.n, 0);
	close_file(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_refusal_has_its_reason),
		cmocka_unit_test(who_is_led_into_is_led_from_before),
		cmocka_unit_test(parts_elsewhere_are_found),
		cmocka_unit_test(far_calls_have_their_pointers),
		cmocka_unit_test(without_its_file_nothing_is_taken),
		cmocka_unit_test(an_outline_is_kept_for_who_opens_it_next),
		cmocka_unit_test(nothing_is_kept_of_what_is_laid_out),
		cmocka_unit_test(several_threads_read_what_one_does),
		cmocka_unit_test(shapes_are_what_zydis_says),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

/*
 * Names are had of any file that a target may name: the best one of an address, and
 * none where the file is no file, has changed, or claims what cannot be.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/report.h"

static char dir[64], path[96];
static struct fl_symbols *symbols;

static int set_up(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/flick-symbol.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	return fl_symbols_open(&symbols);
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_symbols_close(symbols);
	unlink(path);
	rmdir(dir);
	return 0;
}

/* ---- a file of symbols alone ------------------------------------------------------- */

#define MOST 64

static struct image {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[3];		/* none, .symtab, .strtab */
	Elf64_Sym sym[MOST];
	char names[1 << 17];
} image;
static size_t n_symbols, n_names;

static void begin(void)
{
	memset(&image, 0, sizeof(image));
	memcpy(image.eh.e_ident, ELFMAG, SELFMAG);
	image.eh.e_ident[EI_CLASS] = ELFCLASS64;
	image.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	image.eh.e_machine = EM_X86_64;
	image.eh.e_type = ET_DYN;
	image.eh.e_shoff = offsetof(struct image, sh);
	image.eh.e_shentsize = sizeof(Elf64_Shdr);
	image.eh.e_shnum = 3;
	n_symbols = n_names = 1;
}

static void add(const char *name, uint64_t at, uint64_t size, int bind)
{
	image.sym[n_symbols++] = (Elf64_Sym){
		.st_name = (Elf64_Word)n_names, .st_value = at, .st_size = size,
		.st_info = ELF64_ST_INFO(bind, STT_FUNC), .st_shndx = 1,
	};
	strcpy(image.names + n_names, name);
	n_names += strlen(name) + 1;
}

static void end(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	image.sh[1] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct image, sym),
		.sh_size = n_symbols * sizeof(Elf64_Sym), .sh_link = 2,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	image.sh[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, names),
		.sh_size = n_names,
	};
	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	close(fd);
}

static const char *name_at(uint64_t at)
{
	struct fl_symbol s;

	return fl_symbols_find(symbols, path, at, &s) ? s.name : NULL;
}

/* Global before weak before local, the shorter, the first of the alphabet. */
static void of_several_names_the_best_is_taken(void **unused)
{
	struct fl_symbol s;

	(void)unused;
	begin();
	add("a", 0x1000, 16, STB_LOCAL);
	add("weak", 0x1000, 16, STB_WEAK);
	add("longer", 0x1000, 16, STB_GLOBAL);
	add("globl", 0x1000, 16, STB_GLOBAL);
	add("globa", 0x1000, 16, STB_GLOBAL);
	add("local", 0x2000, 16, STB_LOCAL);
	add("stronger", 0x2000, 16, STB_WEAK);
	add("_Z1fi", 0x3000, 0, STB_GLOBAL);
	end();
	assert_string_equal(name_at(0x1000), "globa");
	assert_string_equal(name_at(0x100f), "globa");
	assert_null(name_at(0x1010));
	assert_null(name_at(0xfff));
	assert_string_equal(name_at(0x2000), "stronger");
	assert_true(fl_symbols_find(symbols, path, 0x3000, &s));
	assert_string_equal(s.name, "f(int)");
	assert_string_equal(s.linkage, "_Z1fi");
	assert_null(name_at(0x3001));
	assert_null(name_at(UINT64_MAX));
}

/* What a linker writes behind a name is no part of it, and hides no other name. */
static void versions_are_no_part_of_names(void **unused)
{
	struct fl_symbol s;

	(void)unused;
	begin();
	add("memcpy@@GLIBC_2.14", 0x1000, 16, STB_GLOBAL);
	add("memcpy@GLIBC_2.2.5", 0x2000, 16, STB_GLOBAL);
	add("_Z1fi@@LIB_1", 0x3000, 16, STB_GLOBAL);
	add("@odd", 0x4000, 16, STB_GLOBAL);
	add("plain", 0x5000, 16, STB_GLOBAL);
	end();
	assert_string_equal(name_at(0x1000), "memcpy");
	assert_string_equal(name_at(0x2000), "memcpy");
	assert_true(fl_symbols_find(symbols, path, 0x3000, &s));
	assert_string_equal(s.name, "f(int)");
	assert_string_equal(s.linkage, "_Z1fi");
	assert_string_equal(name_at(0x4000), "@odd");
	assert_string_equal(name_at(0x5000), "plain");
}

/* Two letters stand for all that was before: each doubles it. */
static void names_that_would_fill_all_memory(void **unused)
{
	char twice[512] = "_Z1fSt4pairIiiE", *plain;
	char *long_name = malloc(40000);

	(void)unused;
	for (int i = 0; i < 30; i++) {
		char more[16];

		snprintf(more, sizeof(more), i < 10 ? "S_IS%d_S%d_E" : "S_IS%c_S%c_E",
			 i < 10 ? i : 'A' + i - 10, i < 10 ? i : 'A' + i - 10);
		strcat(twice, more);
	}
	begin();
	add(twice, 0x1000, 1, STB_GLOBAL);
	memset(long_name, 'x', 40000);
	long_name[16 << 10] = '\0';
	add(long_name, 0x2000, 1, STB_GLOBAL);
	long_name[16 << 10] = 'x';
	long_name[20000] = '\0';
	add(long_name, 0x3000, 1, STB_GLOBAL);
	end();
	assert_true(strlen(name_at(0x1000)) <= 16 << 10);
	assert_int_equal(strlen(name_at(0x2000)), 16 << 10);
	assert_null(name_at(0x3000));
	plain = fl_symbols_plain("_Z1fi");
	assert_string_equal(plain, "f");
	free(plain);
	free(long_name);
}

/* What began at byte `at` of the name, once more: base 62, 0 is `_` alone. */
static void put_back(char *name, size_t at)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *to = name + strlen(name);

	*to++ = 'B';
	if (--at >= 62)
		*to++ = digits[at / 62];
	*to++ = digits[at % 62];
	strcpy(to, "_");
}

/* As Rust has it: each argument is a pair of the one before. */
static char *rust_pairs(int n)
{
	char name[1024] = "_RINvC1a1fTmmE";
	size_t before = strlen("INvC1a1f");

	for (int i = 0; i < n; i++) {
		size_t at = strlen(name) - 2;

		strcat(name, "T");
		put_back(name, before);
		put_back(name, before);
		strcat(name, "E");
		before = at;
	}
	return fl_symbols_plain(strcat(name, "E"));
}

static void rust_names_that_would_fill_all_memory(void **unused)
{
	char *plain = rust_pairs(2);

	(void)unused;
	assert_string_equal(plain, "a::f::<(u32, u32), ((u32, u32), (u32, u32)), "
			    "(((u32, u32), (u32, u32)), ((u32, u32), (u32, u32)))>");
	free(plain);
	assert_null(rust_pairs(40));
}

/* ---- files that are none ------------------------------------------------------------ */

static void what_is_no_file_is_not_waited_for(void **unused)
{
	static const char *const others[] = { "/dev/zero", "/dev/tty", "/proc/self/mem",
					      "/proc/self/environ", "/", "", "/no/such" };
	struct fl_symbol s;
	int line;

	(void)unused;
	assert_int_equal(mkfifo(path, 0666), 0);
	alarm(20);
	assert_null(name_at(0x1000));
	assert_null(fl_symbols_line(symbols, path, 0x1000, &line));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_false(fl_symbols_find(symbols, others[i], 0x1000, &s));
		assert_null(fl_symbols_line(symbols, others[i], 0x1000, &line));
	}
	alarm(0);
}

/* It becomes shorter, and another one, when it has been looked at. */
static void a_file_may_change_as_it_likes(void **unused)
{
	(void)unused;
	begin();
	add("first", 0x1000, 16, STB_GLOBAL);
	add("_Z6secondv", 0x2000, 16, STB_GLOBAL);
	end();
	assert_string_equal(name_at(0x1000), "first");
	assert_int_equal(truncate(path, 0), 0);
	assert_string_equal(name_at(0x2000), "second()");
	assert_int_equal(truncate(path, 1 << 20), 0);
	assert_string_equal(name_at(0x1000), "first");
}

/* A file without bytes may be of any length, and so what it says that it holds. */
static void claims_cost_nothing(void **unused)
{
	const uint64_t huge = 1ull << 40;
	struct rusage used;
	int fd;

	(void)unused;
	for (int what = 0; what < 6; what++) {
		begin();
		add("f", 0x1000, 16, STB_GLOBAL);
		end();
		fd = open(path, O_RDWR);
		assert_int_equal(ftruncate(fd, (off_t)huge), 0);
		image.sh[1].sh_size = what == 0 ? huge / 2 : what == 1 ? 4ull << 32 :
				      image.sh[1].sh_size;
		image.sh[2].sh_size = what == 2 ? huge / 2 : image.sh[2].sh_size;
		image.sh[1].sh_link = what == 3 ? 0xffffffff : 2;
		if (what == 4) {
			image.eh.e_shnum = 0;
			image.sh[0].sh_size = huge / 128;
		}
		image.sh[1].sh_offset = what == 5 ? UINT64_MAX - 7 : image.sh[1].sh_offset;
		assert_int_equal(pwrite(fd, &image, offsetof(struct image, sym), 0),
				 offsetof(struct image, sym));
		close(fd);
		fl_symbols_close(symbols);
		assert_int_equal(fl_symbols_open(&symbols), 0);
		alarm(20);
		assert_null(name_at(0x1000));
		alarm(0);
	}
	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	assert_true(used.ru_maxrss < 256 << 10);
}

/* ---- lines ------------------------------------------------------------------------- */

extern const char __executable_start[];

static void copy_self(mode_t mode)
{
	char buffer[65536];
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)n), n);
	close(from);
	assert_int_equal(fchmod(to, mode), 0);
	close(to);
}

static void lines_are_those_of_ones_own_files(void **unused)
{
	uint64_t at = (uint64_t)((uintptr_t)&copy_self - (uintptr_t)__executable_start);
	const char *file;
	int line = 0;

	(void)unused;
	copy_self(0600);
	assert_string_equal(name_at(at), "copy_self");
	file = fl_symbols_line(symbols, path, at, &line);
	if (!file)
		skip();				/* built without -g */
	assert_non_null(strstr(file, "report-symbol.c"));
	assert_true(line > 200 && line < 400);
	fl_symbols_close(symbols);
	assert_int_equal(fl_symbols_open(&symbols), 0);
	assert_int_equal(chmod(path, 0606), 0);		/* anybody may write it */
	assert_string_equal(name_at(at), "copy_self");
	assert_null(fl_symbols_line(symbols, path, at, &line));
}

/* A group that the file's user may give it and that is not his own: root any, another user one
 * that he is in. -1: none. */
static gid_t find_other_group(void)
{
	gid_t in[256];
	int n = getgroups(ARRAY_LEN(in), in);

	for (int i = 0; i < n; i++)
		if (in[i] != geteuid())
			return in[i];
	return geteuid() ? (gid_t)-1 : 1;
}

static void lines_of_a_file_that_a_group_may_write(void **unused)
{
	uint64_t at = (uint64_t)((uintptr_t)&copy_self - (uintptr_t)__executable_start);
	gid_t other = find_other_group();
	int line = 0;

	(void)unused;
	copy_self(0600);
	if (!fl_symbols_line(symbols, path, at, &line) ||
	    chown(path, (uid_t)-1, (gid_t)geteuid()))
		skip();				/* built without -g, or not in such a group */
	fl_symbols_close(symbols);
	assert_int_equal(fl_symbols_open(&symbols), 0);
	assert_int_equal(chmod(path, 0660), 0);
	assert_non_null(fl_symbols_line(symbols, path, at, &line));
	if (other == (gid_t)-1 || chown(path, (uid_t)-1, other))
		skip();
	fl_symbols_close(symbols);
	assert_int_equal(fl_symbols_open(&symbols), 0);
	assert_string_equal(name_at(at), "copy_self");
	assert_null(fl_symbols_line(symbols, path, at, &line));
	fl_symbols_close(symbols);
	assert_int_equal(fl_symbols_open(&symbols), 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_non_null(fl_symbols_line(symbols, path, at, &line));
}

/* Read before the file becomes shorter, or not at all. */
static void lines_of_a_file_that_shrinks(void **unused)
{
	uint64_t at = (uint64_t)((uintptr_t)&copy_self - (uintptr_t)__executable_start);
	int line = 0;

	(void)unused;
	copy_self(0600);
	assert_string_equal(name_at(at), "copy_self");
	if (fl_symbols_line(symbols, path, at, &line)) {
		assert_int_equal(truncate(path, 4096), 0);
		assert_non_null(fl_symbols_line(symbols, path, at + 8, &line));
	}
	fl_symbols_close(symbols);
	assert_int_equal(fl_symbols_open(&symbols), 0);
	copy_self(0600);
	assert_string_equal(name_at(at), "copy_self");
	assert_int_equal(truncate(path, 4096), 0);
	assert_null(fl_symbols_line(symbols, path, at, &line));
}

/* ---- stubs of the linkage table ----------------------------------------------------- */

/* Each of them jumps by the pointer that is filled with its function's address: the one of
 * getrlimit does so here, in whichever of the sections the linker has put it. */
static void stubs_are_named_by_what_they_lead_to(void **unused)
{
	struct rlimit room;
	struct fl_symbol found;
	uint64_t at = 0, seen = 0, others = 0;
	char *plain;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &room), 0);
	copy_self(0600);
	for (uint64_t a = 0; a < 1 << 20; a++) {
		if (!fl_symbols_find(symbols, path, a, &found) || !strchr(found.linkage, '@'))
			continue;
		assert_in_range(a - found.address, 0, 15);
		if (strcmp(found.linkage, "getrlimit@plt")) {
			others++;
			continue;
		}
		assert_true(!at || at == found.address);
		at = found.address;
		seen++;
	}
	assert_true(others > 16 * 16);
	assert_int_equal(seen, at && at % 16 == 0 ? 16 : 8);
	plain = fl_symbols_plain("_ZN5alpha4betaEv@plt");
	assert_string_equal(plain, "alpha::beta@plt");
	free(plain);
}

/* ---- what a loader chose -------------------------------------------------------------- */

static const char chooser[] =
	"static int one(void) { return 1; }\n"
	"static int two(void) { volatile int n = 1; while (n < 2) n++; return n; }\n"
	"int choice = 2;\n"
	"static int (*choose(void))(void) { int k = 2; return k == 1 ? one : two; }\n"
	"int chosen(void) __attribute__((ifunc(\"choose\")));\n";

/* The symbol is at who chooses; this process has loaded the file, so it can be asked. */
static void what_the_loader_chose_has_the_name(void **unused)
{
	char command[512];
	struct fl_symbol found;
	struct link_map *m;
	int (*chosen)(void);
	uint64_t at;
	FILE *out;

	(void)unused;
	snprintf(command, sizeof command, "gcc -O1 -s -shared -fPIC -o %s -x c -", path);
	out = popen(command, "w");
	assert_non_null(out);
	fputs(chooser, out);
	assert_int_equal(pclose(out), 0);
	m = dlopen(path, RTLD_NOW);
	assert_non_null(m);
	chosen = (int (*)(void))dlsym(m, "chosen");
	assert_int_equal(chosen(), 2);
	at = (uint64_t)((uintptr_t)chosen - m->l_addr);
	assert_true(fl_symbols_find(symbols, path, at, &found));
	assert_string_equal(found.linkage, "chosen");
	assert_true(found.address == at && found.size > 8);
	assert_true(fl_symbols_find(symbols, path, at + 8, &found));
	fl_symbols_close(symbols);
	assert_int_equal(fl_symbols_open(&symbols), 0);
	assert_int_equal(dlclose(m), 0);
	assert_false(fl_symbols_find(symbols, path, at, &found));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(versions_are_no_part_of_names),
		T(of_several_names_the_best_is_taken),
		T(names_that_would_fill_all_memory),
		T(rust_names_that_would_fill_all_memory),
		T(what_is_no_file_is_not_waited_for),
		T(a_file_may_change_as_it_likes),
		T(claims_cost_nothing),
		T(lines_are_those_of_ones_own_files),
		T(lines_of_a_file_that_a_group_may_write),
		T(lines_of_a_file_that_shrinks),
		T(stubs_are_named_by_what_they_lead_to),
		T(what_the_loader_chose_has_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

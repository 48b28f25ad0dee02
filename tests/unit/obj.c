/*
 * obj.c - ELF files, whole and damaged.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "obj/obj.h"
#include "site/site.h"

static char *bytes;			/* of a small library with sites */
static size_t n_bytes, n_sites;

/* A file with these bytes; its path. */
static const char *make_file(const void *p, size_t n, int *fd)
{
	static char path[64];

	*fd = memfd_create("obj", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(write(*fd, p, n), n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
	return path;
}

static int on_function(void *arg, const char *name, uint64_t value, uint64_t size)
{
	*(size_t *)arg += strlen(name) + (value & 1) + (size & 1) + 1;
	return 0;
}

static int on_reloc(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		    uintptr_t value)
{
	*(size_t *)arg += strlen(name) + (pointer & 1) + (type & 1) + (value & 1) + 1;
	return 0;
}

static int on_frame(void *arg, const struct fl_obj_frame *f)
{
	assert_true(f->start < f->end);
	++*(size_t *)arg;
	return 0;
}

static int on_site(void *arg, const struct fl_site *s)
{
	*(size_t *)arg += s->at & 1;
	n_sites++;
	return 0;
}

/* What a copy says of relocations and frames; 0: there is none. */
static size_t ask_copy(const void *p, size_t n, enum fl_obj_part part)
{
	struct fl_module m;
	size_t sum = 0;
	int fd, err = fl_obj_copy(&m, make_file(p, n, &fd), part);

	close(fd);
	if (err)
		return 0;
	fl_obj_functions(&m.file, on_function, &sum);
	fl_obj_relocs(&m, on_reloc, &sum);
	fl_obj_frames(&m, on_frame, &sum);
	fl_obj_unlay(&m);
	return sum;
}

/* Ask everything; nothing may crash. 0 or the error of opening. */
static int exercise(const void *p, size_t n)
{
	struct fl_module m;
	struct fl_obj o;
	Elf64_Shdr sh;
	uint64_t v;
	size_t sum = 0;
	int fd, err = fl_obj_open(&o, make_file(p, n, &fd));

	close(fd);
	if (err)
		return err;
	fl_obj_section(&o, ".text", &sh);
	fl_obj_section(&o, "absent", &sh);
	fl_obj_functions(&o, on_function, &sum);
	err = fl_obj_lay_out(&m, &o, "");
	if (!err) {
		fl_obj_dynamic(&m, DT_TEXTREL, &v);
		fl_obj_relocs(&m, on_reloc, &sum);
		fl_obj_frames(&m, on_frame, &sum);
		fl_site_scan(&m, on_site, &sum);
		fl_obj_unlay(&m);
	}
	fl_obj_close(&o);
	if (!err)
		ask_copy(p, n, FL_OBJ_TABLES);
	return err;
}

static void a_whole_file_is_read(void **state)
{
	struct fl_module m;
	struct fl_obj o;
	Elf64_Shdr sh;
	size_t n = 0;

	(void)state;
	assert_int_equal(fl_obj_open(&o, "/bin/true"), 0);
	assert_true(fl_obj_section(&o, ".text", &sh));
	assert_false(fl_obj_section(&o, ".texts", &sh));
	assert_int_equal(fl_obj_lay_out(&m, &o, "/bin/true"), 0);
	assert_true(fl_obj_is_text(&m, m.bias + sh.sh_addr, sh.sh_size));
	assert_false(fl_obj_is_text(&m, m.lo, 1));
	assert_false(fl_obj_is_text(&m, m.hi - 1, 2));
	assert_null(fl_obj_bytes(&m, m.hi + 8, 1));
	assert_null(fl_obj_bytes(&m, m.lo, SIZE_MAX));
	assert_int_equal(fl_obj_relocs(&m, on_reloc, &n), 0);
	assert_true(n > 10);
	n = 0;
	assert_int_equal(fl_obj_frames(&m, on_frame, &n), 0);
	assert_true(n > 10);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
}

static void what_cannot_be_read_is_named(void **state)
{
	static const char text[] = "#!/bin/sh\nexit 0\n";
	unsigned char other[64];
	struct fl_obj o;
	int fd;

	(void)state;
	assert_int_equal(fl_obj_open(&o, "/no/such/file"), -ENOENT);
	assert_true(fl_obj_open(&o, "/") < 0);
	assert_int_equal(fl_obj_open(&o, "/dev/null"), FLE_NOTELF);
	assert_int_equal(exercise(text, sizeof text - 1), FLE_NOTELF);
	assert_int_equal(exercise("", 0), FLE_NOTELF);
	assert_int_equal(exercise(bytes, 40), FLE_TRUNCATED);
	memcpy(other, bytes, sizeof other);
	other[18] ^= 0xff;			/* e_machine */
	assert_int_equal(fl_obj_open(&o, make_file(other, 64, &fd)), FLE_MACHINE);
	close(fd);
	memcpy(other, bytes, sizeof other);
	other[EI_CLASS] = ELFCLASS32;
	assert_int_equal(fl_obj_open(&o, make_file(other, 64, &fd)), FLE_MACHINE);
	close(fd);
}

static void a_cut_file_is_refused(void **state)
{
	(void)state;
	for (size_t n = 4; n < n_bytes; n += 16)
		assert_int_equal(exercise(bytes, n), FLE_TRUNCATED);
	assert_int_equal(exercise(bytes, n_bytes), 0);
}

/* Without section headers, at the end of a file, only segments tell. */
static void a_cut_segment_is_refused(void **state)
{
	Elf64_Ehdr *eh = (void *)bytes, whole = *eh;
	const Elf64_Phdr *ph = (void *)(bytes + eh->e_phoff);
	size_t end = 0;

	(void)state;
	for (size_t i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset + ph[i].p_filesz > end)
			end = ph[i].p_offset + ph[i].p_filesz;
	eh->e_shoff = eh->e_shnum = 0;
	for (size_t n = 4; n < end; n += 16)
		assert_int_equal(exercise(bytes, n), FLE_TRUNCATED);
	assert_int_equal(exercise(bytes, end), 0);
	*eh = whole;
}

/* Whatever of its sections a file has. */
static void tables_alone_say_what_the_whole_file_does(void **state)
{
	Elf64_Ehdr *eh = (void *)bytes, whole = *eh;
	Elf64_Shdr *sh = (void *)(bytes + eh->e_shoff);
	const Elf64_Phdr *ph = (void *)(bytes + eh->e_phoff);
	size_t sum = ask_copy(bytes, n_bytes, FL_OBJ_ALL);

	(void)state;
	assert_true(sum > 40);
	assert_int_equal(ask_copy(bytes, n_bytes, FL_OBJ_TABLES), sum);
	for (size_t i = 0; i < eh->e_phnum; i++)
		for (size_t k = 0; k < eh->e_shnum; k++) {
			const Elf64_Shdr was = sh[k];

			if (ph[i].p_type != PT_GNU_EH_FRAME ||
			    sh[k].sh_offset != ph[i].p_offset)
				continue;
			sh[k].sh_flags = 0;
			assert_int_equal(ask_copy(bytes, n_bytes, FL_OBJ_TABLES), sum);
			sh[k] = was;
			/* it leaves its segment */
			sh[k].sh_size = n_bytes - was.sh_offset;
			assert_true(ask_copy(bytes, n_bytes, FL_OBJ_TABLES) < sum);
			sh[k] = was;
		}
	eh->e_shoff = eh->e_shnum = 0;
	sum = ask_copy(bytes, n_bytes, FL_OBJ_ALL);
	assert_true(sum > 40);
	assert_int_equal(ask_copy(bytes, n_bytes, FL_OBJ_TABLES), sum);
	*eh = whole;
}

/* Sections that are the same bytes, and segments that are holes, are laid out so far only. */
static void tables_take_no_more_memory_than_a_file(void **state)
{
	const off_t end = (off_t)9 << 30;
	Elf64_Ehdr *eh = (void *)bytes, whole = *eh;
	Elf64_Shdr *sh = (void *)(bytes + eh->e_shoff);
	Elf64_Phdr *ph = (void *)(bytes + eh->e_phoff);
	size_t first = 0, n_sh = eh->e_shnum * sizeof *sh;
	void *sections = malloc(n_sh);
	struct fl_module m;
	Elf64_Phdr was;
	const char *path;
	int fd;

	(void)state;
	while (ph[first].p_type != PT_LOAD)
		first++;
	for (size_t i = first; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_filesz > ph[first].p_filesz)
			first = i;
	was = ph[first];
	memcpy(sections, sh, n_sh);
	for (size_t i = 1; i < eh->e_shnum; i++)
		if (!(sh[i].sh_flags & SHF_ALLOC) || sh[i].sh_flags & SHF_EXECINSTR) {
			sh[i].sh_flags = SHF_ALLOC;
			sh[i].sh_offset = was.p_offset;
			sh[i].sh_size = was.p_filesz;
		}
	path = make_file(bytes, n_bytes, &fd);
	assert_int_equal(fl_obj_copy(&m, path, FL_OBJ_TABLES), -EFBIG);
	close(fd);
	memcpy(sh, sections, n_sh);
	free(sections);

	eh->e_shoff = eh->e_shnum = 0;
	ph[first].p_filesz = ph[first].p_memsz = (uint64_t)end - was.p_offset;
	path = make_file(bytes, n_bytes, &fd);
	if (ftruncate(fd, end))
		print_message("no file of 9 GiB: %s\n", strerror(errno));
	else
		assert_int_equal(fl_obj_copy(&m, path, FL_OBJ_TABLES), -EFBIG);
	close(fd);
	ph[first] = was;
	*eh = whole;
}

/* Every field of the headers and tables takes on bad values. */
static size_t damage(size_t from, size_t n)
{
	static const unsigned char masks[] = { 0x01, 0x80, 0xff };
	size_t refused = 0;

	for (size_t i = from; i < from + n && i < n_bytes; i++)
		for (size_t k = 0; k < sizeof masks; k++) {
			bytes[i] ^= masks[k];
			refused += exercise(bytes, n_bytes) != 0;
			bytes[i] ^= masks[k];
		}
	return refused;
}

static void a_damaged_file_harms_nobody(void **state)
{
	const Elf64_Ehdr *eh = (void *)bytes;
	const Elf64_Phdr *ph = (void *)(bytes + eh->e_phoff);
	size_t refused = damage(0, sizeof *eh);

	(void)state;
	assert_true(refused > 20);
	damage(eh->e_phoff, eh->e_phnum * sizeof *ph);
	damage(eh->e_shoff, eh->e_shnum * sizeof(Elf64_Shdr));
	n_sites = 0;
	assert_int_equal(exercise(bytes, n_bytes), 0);
	assert_true(n_sites > 40);		/* whole again */
	for (size_t i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			damage(ph[i].p_offset, ph[i].p_filesz);
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			damage(ph[i].p_offset, 600);
	}
}

struct found {
	bool program, libc;
	size_t n;
};

static int on_module(void *arg, struct fl_module *m)
{
	struct found *f = arg;

	assert_true(m->lo < m->hi);
	assert_true(m->path[0] == '/');
	assert_null(m->file.bytes);
	assert_int_equal(fl_obj_open_module(m), 0);
	assert_non_null(m->file.bytes);
	if (!f->n)
		f->program = fl_obj_is_text(m, (uintptr_t)on_module, 1);
	f->libc |= fl_obj_is_text(m, (uintptr_t)dlsym(RTLD_NEXT, "memcpy"), 1) ||
		   strstr(m->path, "libc.so");
	f->n++;
	return 0;
}

static int stop_at_once(void *arg, struct fl_module *m)
{
	(void)m;
	++*(int *)arg;
	return 7;
}

static bool is_no_program(void *arg, const struct fl_module *m)
{
	(void)arg;
	return !m->is_program;
}

static bool is_any(void *arg, const struct fl_module *m)
{
	(void)arg;
	return m->lo < m->hi && !m->path;
}

static void loaded_modules_come_program_first(void **state)
{
	struct fl_modules now;
	struct found f = { 0 };
	int n = 0;

	(void)state;
	assert_int_equal(fl_obj_list(&now), 0);
	assert_int_equal(fl_obj_each(&now, NULL, on_module, &f), 0);
	assert_true(f.program && f.libc && f.n >= 3);
	assert_int_equal(fl_obj_each(&now, NULL, stop_at_once, &n), 7);
	assert_int_equal(n, 1);
	assert_int_equal(fl_obj_each(&now, is_no_program, stop_at_once, &n), 7);
	assert_int_equal(n, 2);
	assert_int_equal(fl_obj_each(&now, is_any, stop_at_once, &n), 0);
	fl_obj_unlist(&now);
	assert_int_equal(fl_obj_each(&now, NULL, stop_at_once, &n), 0);
}

struct same { const struct fl_module *as; bool found; };

static int is_same(void *arg, struct fl_module *m)
{
	struct same *s = arg;
	char path[4096];

	if (s->as->bias != m->bias)
		return 0;
	s->found = s->as->lo == m->lo && s->as->hi == m->hi && s->as->n_ph == m->n_ph &&
		   realpath(m->path, path) && !strcmp(path, s->as->path);
	return 1;
}

/* Without the loader the same is found, but for a name. */
static void a_module_is_found_by_its_mapping(void **state)
{
	const void *in[] = { (const void *)is_same, dlsym(RTLD_NEXT, "memcpy") };
	struct fl_modules now;
	struct fl_module m;
	char path[4096];

	(void)state;
	assert_int_equal(fl_obj_list(&now), 0);
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		struct same s = { .as = &m };

		assert_int_equal(fl_obj_around(&m, (uintptr_t)in[i], path, sizeof path), 0);
		assert_int_equal(fl_obj_each(&now, NULL, is_same, &s), 1);
		assert_true(s.found);
		fl_obj_close(&m.file);
	}
	assert_int_equal(fl_obj_around(&m, (uintptr_t)&m, path, sizeof path), -ENOENT);
	assert_int_equal(fl_obj_around(&m, 0, path, sizeof path), -ENOENT);
	fl_obj_unlist(&now);
}

/* Somebody closes the library while its headers are read. */
struct closing {
	void *library;
	pthread_t thread;
	bool begun, has_ended;
};

static void *close_library(void *arg)
{
	struct closing *c = arg;

	dlclose(c->library);
	store_release(&c->has_ended, true);	/* ordering: a test's, with the look below */
	return NULL;
}

static int close_meanwhile(void *arg, struct fl_module *m)
{
	enum { LONG_US = 100000, PAUSE_US = 1000 };
	struct closing *c = arg;

	if (c->begun || !strstr(m->path, "/proc/self/fd/"))
		return 0;
	c->begun = true;
	assert_int_equal(pthread_create(&c->thread, NULL, close_library, c), 0);
	for (int us = 0; us < LONG_US && !load_acquire(&c->has_ended); us += PAUSE_US)
		usleep(PAUSE_US);
	assert_false(load_acquire(&c->has_ended));
	assert_true(m->n_ph && m->ph[0].p_type != PT_NULL);
	return 0;
}

static void a_module_that_is_kept_is_not_unmapped(void **state)
{
	struct closing c = { .begun = false };
	int fd;

	(void)state;
	c.library = dlopen(make_file(bytes, n_bytes, &fd), RTLD_NOW);
	assert_non_null(c.library);
	assert_int_equal(fl_obj_each_kept(close_meanwhile, &c), 0);
	assert_true(c.begun);
	pthread_join(c.thread, NULL);
	assert_true(c.has_ended);
	close(fd);
}

static int count_modules(void *arg, struct fl_module *m)
{
	*(size_t *)arg += m->n_ph != 0;
	return 0;
}

/* One that has gone since it was listed is none. */
static void modules_that_are_kept_stay_and_those_that_went_are_none(void **state)
{
	int fds[2];
	const char *path = make_file(bytes, n_bytes, &fds[0]);
	void *kept = dlopen(path, RTLD_NOW), *gone;
	char kept_path[64];
	struct fl_modules now;
	size_t all = 0, left = 0;

	(void)state;
	assert_non_null(kept);
	snprintf(kept_path, sizeof kept_path, "%s", path);
	gone = dlopen(make_file(bytes, n_bytes, &fds[1]), RTLD_NOW);
	assert_non_null(gone);
	assert_int_equal(fl_obj_list(&now), 0);
	assert_int_equal(fl_obj_each(&now, NULL, count_modules, &all), 0);
	dlclose(gone);
	fl_obj_keep(&now);
	assert_int_equal(fl_obj_each(&now, NULL, count_modules, &left), 0);
	assert_int_equal(left, all - 1);
	dlclose(kept);
	assert_non_null(dlopen(kept_path, RTLD_NOW | RTLD_NOLOAD));
	fl_obj_unlist(&now);
	close(fds[0]);
	close(fds[1]);
}

static int read_small_program(void **state)
{
	struct stat st;
	char path[] = "/tmp/flick-obj.XXXXXX", cmd[1024];
	const char *root = getenv("ROOT");
	int fd = mkstemp(path);

	(void)state;
	snprintf(cmd, sizeof cmd, "gcc -O2 -shared -fPIC -DLIBRARY -finstrument-functions "
		 "-fpatchable-function-entry=8 %s/tests/golden/corpus.c -o %s",
		 root ? root : ".", path);
	if (fd < 0 || system(cmd))
		return -1;
	close(fd);
	fd = open(path, O_RDONLY);
	unlink(path);
	if (fd < 0 || fstat(fd, &st))
		return -1;
	n_bytes = st.st_size;
	bytes = malloc(n_bytes);
	return read(fd, bytes, n_bytes) == (ssize_t)n_bytes ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_is_read),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(a_cut_file_is_refused),
		cmocka_unit_test(a_cut_segment_is_refused),
		cmocka_unit_test(tables_alone_say_what_the_whole_file_does),
		cmocka_unit_test(tables_take_no_more_memory_than_a_file),
		cmocka_unit_test(a_damaged_file_harms_nobody),
		cmocka_unit_test(loaded_modules_come_program_first),
		cmocka_unit_test(a_module_is_found_by_its_mapping),
		cmocka_unit_test(a_module_that_is_kept_is_not_unmapped),
		cmocka_unit_test(modules_that_are_kept_stay_and_those_that_went_are_none),
	};

	return cmocka_run_group_tests_name("obj", tests, read_small_program, NULL);
}

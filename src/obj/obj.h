/*
 * obj.h - ELF files and the modules a process has loaded from them.
 *
 * GUEST code: maps files, allocates nothing, follows no pointer it has not
 * checked against the file's size. x86-64 and AArch64, 64 bit, little endian.
 */
#ifndef FL_OBJ_H
#define FL_OBJ_H

#include <link.h>

#include "base/base.h"

/* A whole ELF file, mapped read-only. */
struct fl_obj {
	const unsigned char *bytes;
	size_t n_bytes;
	const Elf64_Ehdr *eh;
	const Elf64_Phdr *ph;		/* eh->e_phnum, checked */
	const Elf64_Shdr *sh;		/* eh->e_shnum, checked; NULL when stripped */
	size_t n_sh;
};

/* Map and check `path`. 0, -errno, FLE_NOTELF, FLE_TRUNCATED or FLE_MACHINE. */
int fl_obj_open(struct fl_obj *, const char *path);
void fl_obj_close(struct fl_obj *);
/* READER: open a regular file, without waiting. `is_own`: it belongs to root or this user,
 * and nobody else may write it. Returns a descriptor, -errno or FLE_NOTELF. */
int fl_obj_open_plain(const char *path, uint64_t *bytes, bool *is_own);

/* READER: the headers of a file that is its owner's to change: copies, and the file stays open
 * (headers.c). */
enum { FL_HEADERS_MOST = 64 };
struct fl_headers {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[FL_HEADERS_MOST];		/* eh.e_phnum, checked */
};
/* A descriptor of the file, which the caller closes; -1: it is no ELF file, or `path` is the
 * name of a mapping of no file. */
int fl_headers_open(struct fl_headers *, const char *path);
bool fl_headers_read(int fd, void *to, uint64_t offset, size_t n);
/* A place in the file as an ELF address, and the other way round, with how many bytes follow.
 * False: it is in nothing that is loaded. */
bool fl_headers_address(const Elf64_Phdr *, size_t n, uint64_t offset, uint64_t *at);
bool fl_headers_offset(const struct fl_headers *, uint64_t at, uint64_t *offset,
		       uint64_t *left);
/* The build id, as fl_obj_file_id() has it. */
enum { FL_OBJ_ID = 32 };		/* bytes, the rest zero */
bool fl_headers_id(const struct fl_headers *, int fd, uint8_t id[FL_OBJ_ID]);

/* The section called `name`; false when it is absent or damaged. */
bool fl_obj_section(const struct fl_obj *, const char *name, Elf64_Shdr *out);

/* The sections that have stubs of the linkage table; a file may lack any. */
enum { FL_OBJ_STUBS = 4 };
extern const char *const fl_obj_stubs[FL_OBJ_STUBS];

/* Each symbol of .symtab, else of .dynsym; a name may be of any length. Stops when `each`
 * returns non-zero and returns that. */
int fl_obj_symbols(const struct fl_obj *,
		   int (*each)(void *arg, const char *name, const Elf64_Sym *), void *arg);
/* Each defined function of .symtab (else .dynsym); `value` is the ELF address.
 * Stops when `each` returns non-zero and returns that. */
int fl_obj_functions(const struct fl_obj *,
		     int (*each)(void *arg, const char *name, uint64_t value,
				 uint64_t size), void *arg);

/*
 * A module as it stands in memory. For a running process `bias` is where the
 * loader put it; for a file that is only looked at, fl_obj_lay_out() maps it
 * and applies the relocations that need no other module.
 */
struct fl_module {
	uintptr_t bias;			/* address - ELF address */
	uintptr_t lo, hi;		/* mapped range */
	const Elf64_Phdr *ph;
	size_t n_ph;
	const char *path;		/* "" when unknown */
	struct fl_obj file;		/* may be all 0 when unreadable */
	bool laid_out;			/* not loaded: GOT entries hold no addresses */
	bool is_copy;			/* `file` is freed with the module */
	bool is_program;
};

/* The modules of this process, the program first, as the loader had them when they were
 * listed. */
struct fl_modules {
	char *bytes;			/* NULL: none is listed */
	size_t room, n;
	uint32_t unloads;		/* the caller's */
};
/* It waits for the loader's lock: the caller must hold no lock that a holder of the loader's
 * may wait for. Not async-signal-safe. 0 or -ENOMEM. */
int fl_obj_list(struct fl_modules *);
/* Listed modules are not unloaded from now on. A module that has gone meanwhile leaves the
 * list. */
void fl_obj_keep(struct fl_modules *);
void fl_obj_unlist(struct fl_modules *);
/* The caller must know that the listed modules for which `each` is called are still loaded.
 * `passes`, unless NULL, tells by its addresses whether one is passed over: it has no path
 * yet, and may be gone. `each` must not keep the pointers, and opens the modules' files
 * itself. Stops at non-zero and returns it. */
int fl_obj_each(const struct fl_modules *,
		bool (*passes)(void *arg, const struct fl_module *),
		int (*each)(void *arg, struct fl_module *), void *arg);
/* The same for the modules that the loader has now. Its lock is held, so it unmaps none
 * meanwhile. */
int fl_obj_each_kept(int (*each)(void *arg, struct fl_module *), void *arg);
/* Open the file of a module that `each` was given; it is closed when `each` returns. m->file
 * is all 0 if there is no such file, or another module's. 0, or -errno: there is no memory or
 * descriptor now. */
int fl_obj_open_module(struct fl_module *);
/* The module whose file is mapped at address `at`, found without the loader. m->path is
 * `path`; the caller closes m->file. 0, -ENOENT, or as fl_obj_open(). */
int fl_obj_around(struct fl_module *m, uintptr_t at, char *path, size_t room);
/* The struct in which the loader tells debuggers what it does; NULL: there is none. */
const struct r_debug *fl_obj_loader(void);
/* The C library's own function `name`, even if other modules have one of that name. To be
 * called in the first constructor, or with the loader's lock. NULL: not found. */
void *fl_obj_c_function(const char *name);
/* In the first constructor: what is loaded now is there from the start. */
void fl_obj_note_start(void);
/* The function `name` that code at `caller` would call if there was no `own`, which is one,
 * too, and stands before it: one that was there from the start, a sanitizer's or the C
 * library's; or of what was loaded since a library that the caller's module names as needed,
 * or else the first. `own` NULL: the first of all. Any thread; it waits for the loader's lock
 * where none was there from the start. */
struct fl_callee {
	void *function;			/* NULL: there is none */
	bool stays;			/* all callers call this one, for ever */
	bool is_of_libgcc;
};
void fl_obj_callee(struct fl_callee *, const char *name, const void *own, uintptr_t caller);
/* Does the module of code at `caller` name the function's as needed? With the loader's lock. */
bool fl_obj_needs(uintptr_t caller, const void *function);
/* Lay `file` out in fresh private memory. */
int fl_obj_lay_out(struct fl_module *, const struct fl_obj *file, const char *path);
/* READER: copy a file that others may write (read.c). SYMBOLS: only headers, notes and symbols,
 * into m->file. TABLES: also what the file says of its code, laid out without relocations; of
 * the code itself only stubs of linkage. CODE: also what is loaded, laid out. ALL: the whole
 * file, laid out. As fl_obj_open(), or -EFBIG. */
enum fl_obj_part { FL_OBJ_SYMBOLS, FL_OBJ_TABLES, FL_OBJ_CODE, FL_OBJ_ALL };
int fl_obj_copy(struct fl_module *, const char *path, enum fl_obj_part);
/* Free a module that was laid out or copied; of a copy m->file, too. */
void fl_obj_unlay(struct fl_module *);

/* The build id, which tells this build of a file from all others; false: the linker put none
 * in. fl_obj_build_id() finds it in the module's memory, fl_obj_file_id() in the file. */
bool fl_obj_build_id(const struct fl_module *, uint8_t id[FL_OBJ_ID]);
bool fl_obj_file_id(const struct fl_obj *, uint8_t id[FL_OBJ_ID]);
/* The build id, or else a hash of what m->file has of code; false: no file is open. */
bool fl_obj_identify(const struct fl_module *, uint8_t id[FL_OBJ_ID]);
/* A hash of all that is loaded to be read alone, as it stands in memory, of a file of so many
 * bytes. False: some of it cannot be read. */
bool fl_obj_hash_loaded(const struct fl_module *, uint64_t bytes, uint64_t *hash);
/* Value of dynamic tag `tag`; false when the module has none. */
bool fl_obj_dynamic(const struct fl_module *, int64_t tag, uint64_t *value);
/* `n` bytes at address `a`; NULL when no readable segment holds all of them. */
const unsigned char *fl_obj_bytes(const struct fl_module *, uintptr_t a, size_t n);
/* How many bytes may be read from address `a` on. */
size_t fl_obj_left(const struct fl_module *, uintptr_t a);
/* Does address `a`, `n` bytes long, lie in executable bytes of the module? */
bool fl_obj_is_text(const struct fl_module *, uintptr_t a, size_t n);
/* ... in bytes that nobody writes once the module is relocated? */
bool fl_obj_is_constant(const struct fl_module *, uintptr_t a, size_t n);
/* Each dynamic relocation that names a symbol, or R_*_RELATIVE (name ""), or
 * FL_ARCH_R_CHOOSE ("", and `value` is the function that chooses):
 * `pointer` is the address it fills, `value` the symbol's address when defined in
 * this module (or the relative value), else 0. */
int fl_obj_relocs(const struct fl_module *,
		  int (*each)(void *arg, uintptr_t pointer, uint32_t type,
			      const char *name, uintptr_t value), void *arg);
/* Read the entry of a function at `fde` in .eh_frame (cfi.h). *f must be all 0 before, or have
 * an entry of the same module: a CIE is not read twice. False: it is not understood. */
struct fl_fde;
bool fl_fde_read(struct fl_fde *f, const struct fl_module *, uintptr_t fde);
/* Take the next instruction, passing over NOPs, from a program of this entry or of its CIE.
 * False: there is none, or the program is bad. */
struct fl_in;
struct fl_cfi_insn;
bool fl_cfi_next(struct fl_in *program, const struct fl_fde *, struct fl_cfi_insn *);
/* Each range of a function that .eh_frame_hdr has, ascending, with its entry in .eh_frame, and
 * with the address of its table of exceptions (0: none, or FL_OBJ_UNKNOWN). -ENOENT without
 * .eh_frame_hdr; else what `each` returned if not 0, or how many ranges are not understood. */
struct fl_obj_frame {
	uintptr_t start, end, lsda, fde;
	size_t most;			/* so many are told from this one on, at most */
};
int fl_obj_frames(const struct fl_module *,
		  int (*each)(void *arg, const struct fl_obj_frame *), void *arg);
enum { FL_OBJ_UNKNOWN = 1 };
/* What the stack frame is like where a range begins, at `at` of it: its first instruction that
 * does something. */
enum fl_obj_begin {
	FL_OBJ_CALLED,			/* as a function that is called finds it */
	FL_OBJ_INSIDE,			/* as it is inside a function */
	FL_OBJ_FIRST,			/* nobody called: there is no return address */
	FL_OBJ_SIGNAL,			/* the kernel's, of a signal handler */
	FL_OBJ_ODD			/* not understood */
};
enum fl_obj_begin fl_obj_begins(const struct fl_module *, uintptr_t fde, uintptr_t at);
/* Each part of the function [start, end) whose calls have a landing pad, ascending,
 * by the table at `lsda`. FLE_TRUNCATED when the table is not understood. */
int fl_obj_pads(const struct fl_module *, uintptr_t lsda, uintptr_t start, uintptr_t end,
		int (*each)(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad),
		void *arg);

/* From now on the module that flick is linked into is not unloaded. The loader is asked, so
 * no handler may call this. */
void fl_obj_stay(void);

#include "obj/cfi.h"

#endif

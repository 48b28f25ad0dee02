/*
 * xray.c - sleds that clang's -fxray-instrument left.
 *
 * Hides the section xray_instr_map (version 2: addresses relative to the entry)
 * and what a sled looks like before anybody patched it:
 *
 *	entry, tail	jmp .+FL_ARCH_SLED_BYTES; nop
 *	exit		ret; nop, or as the others, before the return
 */
#include <string.h>

#include "scan.h"

struct entry {				/* of xray_instr_map */
	uint64_t address, function;
	uint8_t kind, always, version, pad[13];
};

enum { ENTER, EXIT, TAIL, LOG_ARGS, CUSTOM, TYPED };

/* Is [a, end) nothing but NOPs? */
static bool are_nops(uintptr_t a, uintptr_t end)
{
	struct fl_insn i;

	for (; a < end; a += i.len) {
		fl_arch_decode(&i, (const unsigned char *)a, end - a, a);
		if (i.cls != FL_INSN_NOP)
			return false;
	}
	return true;
}

static bool has_sled(const struct fl_module *m, uintptr_t at, enum fl_insn_class cls)
{
	struct fl_insn i;

	if (fl_text_bytes(m, at) < FL_ARCH_SLED_BYTES)
		return false;
	fl_arch_decode(&i, (const unsigned char *)at, FL_ARCH_SLED_BYTES, at);
	return i.cls == cls &&
	       (cls == FL_INSN_RET || i.target == at + FL_ARCH_SLED_BYTES) &&
	       are_nops(at + i.len, at + FL_ARCH_SLED_BYTES);
}

/* A tail sled before a conditional jump: the flags are live. */
static bool has_branch_behind(const struct fl_module *m, uintptr_t at)
{
	uintptr_t a = at + FL_ARCH_SLED_BYTES;
	struct fl_insn i;

	fl_arch_decode(&i, (const unsigned char *)a, fl_text_bytes(m, a), a);
	return i.cls == FL_INSN_BRANCH;
}

static void describe(struct fl_site *s, const struct fl_module *m, uint8_t kind)
{
	static const uint8_t kinds[] = {
		[ENTER] = FL_ENTRY, [EXIT] = FL_EXIT, [TAIL] = FL_TAIL,
		[LOG_ARGS] = FL_ENTRY,
	};
	bool ret = kind == EXIT && FL_ARCH_SLED_RETURNS;

	s->kind = kinds[kind];
	s->bare = 1;
	s->form = ret ? FL_FORM_SLED_RET : FL_FORM_SLED;
	s->room = FL_ARCH_SLED_BYTES;
	if (!has_sled(m, s->at, ret ? FL_INSN_RET : FL_INSN_JUMP)) {
		s->refusal = fl_text_bytes(m, s->at) ? FLE_CHANGED : FLE_NOTEXT;
		s->datum = s->at;
	} else if (kind == TAIL && has_branch_behind(m, s->at)) {
		s->refusal = FLE_FLAGS;
	}
}

static void add_entry(struct fl_gather *g, const struct fl_module *m, uintptr_t at)
{
	struct fl_site s = { 0 };
	struct entry e;

	memcpy(&e, (const void *)at, sizeof e);
	if (e.kind > LOG_ARGS)
		return;				/* events of the program's own */
	if (e.version >= 2) {
		e.address += at + offsetof(struct entry, address);
		e.function += at + offsetof(struct entry, function);
	}
	s.at = fl_text_address(m, e.address);
	s.function = fl_text_address(m, e.function);
	if (!s.at)
		s.at = e.address;
	describe(&s, m, e.kind);
	fl_gather_add(g, &s);
}

static int scan_xray(const struct fl_module *m, fl_site_each *each, void *arg)
{
	uintptr_t at;
	struct fl_gather g;
	Elf64_Shdr sh;
	size_t n;
	int err;

	if (!m->file.bytes || !fl_obj_section(&m->file, "xray_instr_map", &sh))
		return 0;
	at = m->bias + sh.sh_addr;
	n = sh.sh_size / sizeof(struct entry);
	if (!n || !fl_obj_bytes(m, at, sh.sh_size))
		return 0;
	err = fl_gather_open(&g, n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		add_entry(&g, m, at + i * sizeof(struct entry));
	return fl_gather_tell(&g, each, arg);
}

const struct fl_provider fl_provider_xray = {
	.name = "xray",
	.about = "sleds from clang's -fxray-instrument",
	.scan = scan_xray,
};

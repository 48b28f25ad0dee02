/*
 * insn-text.h - instructions of files as assemblers write them.
 */
#ifndef FL_REPORT_INSN_TEXT_H
#define FL_REPORT_INSN_TEXT_H

#include <stdint.h>

struct fl_insn_texts;

/* NULL: no memory. One thread at a time. */
struct fl_insn_texts *fl_insn_texts_open(void);
void fl_insn_texts_close(struct fl_insn_texts *);	/* NULL is fine */
/* The instruction at an ELF address of a file, to be freed; "" where there is none that is
 * known, or no libcapstone. NULL: no memory. Blocks for reading. */
char *fl_insn_text(struct fl_insn_texts *, const char *path, uint64_t at);

#endif

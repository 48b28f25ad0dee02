/*
 * installed-text.h - the instructions of installed programs, as Zydis reads them.
 */
#ifndef INSTALLED_TEXT_H
#define INSTALLED_TEXT_H

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

static ZydisDecoder zydis;

/* `n` bytes are there from `p` on, of which the instruction has the first. */
typedef void met_instruction(void *to, const unsigned char *p, size_t n,
			     const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op);

static void each_of_text(const unsigned char *p, size_t n, met_instruction *met, void *to)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	while (n) {
		size_t step = 1;

		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, p, n, &z, op))) {
			met(to, p, n, &z, op);
			step = z.length;
		}
		p += step;
		n -= step;
	}
}

/* False where there is no such file. */
static bool each_instruction(const char *path, met_instruction *met, void *to)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	const unsigned char *b;
	const Elf64_Ehdr *eh;
	const Elf64_Shdr *sh;

	if (fd < 0 || fstat(fd, &st))
		return false;
	b = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(b, MAP_FAILED);
	eh = (const void *)b;
	sh = (const void *)(b + eh->e_shoff);
	for (unsigned int k = 0; k < eh->e_shnum; k++)
		if (!strcmp((const char *)b + sh[eh->e_shstrndx].sh_offset +
			    sh[k].sh_name, ".text"))
			each_of_text(b + sh[k].sh_offset, sh[k].sh_size, met, to);
	munmap((void *)b, st.st_size);
	close(fd);
	return true;
}

static inline uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

#endif

/*
 * trace.c - the raw events of a recording: flick.data/trace.zst.
 *
 * Hides the file's form: a header, then one zstd stream of blocks in the order of delivery.
 * A block is a head and records of one thread. The stream is flushed as it grows, and its
 * last block says how many records there are, so a file that was cut short is known as such
 * and read up to the cut. A block before a batch's records says how long the thread waited
 * for room in its ring; files of version 1 have no such blocks.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "obj/obj.h"
#include "report/schema.h"

#define MAGIC 0x3165636172746b66ull	/* "fktrace1" */
#define LEVEL 1				/* the reader of events must not fall behind */
#define FLUSH_BYTES (4u << 20)		/* of blocks: no more is lost when flick is killed */
#define IN_BYTES (256u << 10)

enum block_type { BLOCK_RECORDS = 1, BLOCK_THREAD_END, BLOCK_END, BLOCK_PAUSE };

struct header {
	uint64_t magic;
	uint32_t version, record_bytes;
};

struct block {
	uint32_t type, thread;
	uint64_t n;			/* records behind it; END: records in the file;
					 * PAUSE: fl_batch.paused of the next block */
};

/* ---- writing --------------------------------------------------------------------- */

struct fl_trace {
	char *path, *final;
	int fd;
	ZSTD_CStream *stream;
	char *out;
	size_t out_bytes;
	size_t unflushed;
	uint64_t n;			/* records */
	int error;			/* errno of the first write that failed */
};

/* If the disk is full half the trace goes: the results, which come last, need room as well. */
static void stop(struct fl_trace *t, int error)
{
	off_t size = lseek(t->fd, 0, SEEK_END);

	t->error = error;
	if (error == ENOSPC && size > 0 && ftruncate(t->fd, size / 2))
		t->error = errno;
}

static void write_all(struct fl_trace *t, const char *bytes, size_t n)
{
	while (n && !t->error) {
		ssize_t done = write(t->fd, bytes, n);

		if (done < 0 && errno != EINTR)
			stop(t, errno);
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
	}
}

static void compress(struct fl_trace *t, const void *bytes, size_t n,
		     ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { bytes, n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { t->out, t->out_bytes, 0 };

		left = ZSTD_compressStream2(t->stream, &out, &in, end);
		if (ZSTD_isError(left)) {
			t->error = ENOMEM;
			return;
		}
		write_all(t, t->out, out.pos);
	} while (!t->error && (in.pos < in.size || (end != ZSTD_e_continue && left)));
}

static void put_block(struct fl_trace *t, struct block b, const void *records)
{
	size_t bytes = records ? b.n * sizeof(struct flick_record) : 0;

	if (t->error)
		return;
	compress(t, &b, sizeof(b), ZSTD_e_continue);
	compress(t, records, bytes, ZSTD_e_continue);
	t->unflushed += sizeof(b) + bytes;
	if (t->unflushed < FLUSH_BYTES)
		return;
	compress(t, NULL, 0, ZSTD_e_flush);
	t->unflushed = 0;
}

void fl_trace_put(struct fl_trace *t, const struct fl_batch *b)
{
	if (b->paused)
		put_block(t, (struct block){ BLOCK_PAUSE, b->thread, b->paused }, NULL);
	put_block(t, (struct block){ BLOCK_RECORDS, b->thread, b->n }, b->records);
	t->n += b->n;
}

void fl_trace_thread_end(struct fl_trace *t, uint32_t thread)
{
	put_block(t, (struct block){ BLOCK_THREAD_END, thread, 0 }, NULL);
}

static int open_stream(struct fl_trace *t, char why[FL_WHY])
{
	struct header h = { MAGIC, FL_TRACE_VERSION, sizeof(struct flick_record) };

	if (unlink(t->path) && errno != ENOENT)
		return fl_why(why, t->path, "%s", strerror(errno));
	t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (t->fd < 0)
		return fl_why(why, t->path, "%s", strerror(errno));
	t->stream = ZSTD_createCStream();
	t->out_bytes = ZSTD_CStreamOutSize();
	t->out = malloc(t->out_bytes);
	if (!t->stream || !t->out ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(t->stream, ZSTD_c_compressionLevel,
						LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(t->stream, ZSTD_c_checksumFlag, 1)))
		return fl_why(why, t->path, "out of memory");
	write_all(t, (char *)&h, sizeof(h));
	return t->error ? fl_why(why, t->path, "%s", strerror(t->error)) : 0;
}

int fl_trace_create(struct fl_trace **out, const char *dir, char why[FL_WHY])
{
	struct fl_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return fl_why(why, dir, "out of memory");
	t->fd = -1;
	if (asprintf(&t->path, "%s/" FL_TRACE_FILE ".tmp", dir) < 0 ||
	    asprintf(&t->final, "%s/" FL_TRACE_FILE, dir) < 0 || open_stream(t, why)) {
		fl_trace_close(t);
		return -1;
	}
	*out = t;
	return 0;
}

/* A trace that the full disk cut short stays: it can be read up to there. */
int fl_trace_save(struct fl_trace *t, char why[FL_WHY])
{
	put_block(t, (struct block){ BLOCK_END, 0, t->n }, NULL);
	if (!t->error)
		compress(t, NULL, 0, ZSTD_e_end);
	if (close(t->fd) && !t->error)
		t->error = errno;
	t->fd = -1;
	if (rename(t->path, t->final) && !t->error)
		t->error = errno;
	free(t->path);
	t->path = NULL;
	return t->error ? fl_why(why, t->final, "%s", strerror(t->error)) : 0;
}

void fl_trace_close(struct fl_trace *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	if (t->path)
		unlink(t->path);
	ZSTD_freeCStream(t->stream);
	free(t->path);
	free(t->final);
	free(t->out);
	free(t);
}

/* ---- reading ----------------------------------------------------------------------- */

struct reader {
	char *path;
	FILE *file;
	ZSTD_DStream *stream;
	char *in, *out;
	ZSTD_inBuffer input;
	size_t room, at, filled;	/* of out; [at, filled) is not taken yet */
	const struct fl_sink *sink;
	uint64_t n;
	struct block before;		/* the block that was read last */
	bool whole;			/* zstd has seen its end, and its checksum */
	bool ended;			/* the last block came, and nothing is missing */
	const char *damage;		/* NULL: none so far */
};

/* A pipe is refused at once, without waiting for a writer. */
static int open_file(struct reader *r, char why[FL_WHY])
{
	uint64_t bytes;
	bool is_own;
	int fd = fl_obj_open_plain(r->path, &bytes, &is_own);

	if (fd < 0)
		return fl_why(why, r->path, "%s", fd == -ENOENT ? "there is no trace; record "
			      "with --trace" : fd == FLE_NOTELF ? "no regular file" :
			      fl_reason(fd));
	r->file = fdopen(fd, "r");
	if (r->file)
		return 0;
	close(fd);
	return fl_why(why, r->path, "out of memory");
}

static int open_reader(struct reader *r, char why[FL_WHY])
{
	struct header h;

	if (open_file(r, why))
		return -1;
	if (fread(&h, sizeof(h), 1, r->file) != 1 || h.magic != MAGIC)
		return fl_why(why, r->path, "not a trace of flick, or cut short at its start");
	if (!h.version || h.version > FL_TRACE_VERSION ||
	    h.record_bytes != sizeof(struct flick_record))
		return fl_why(why, r->path, "written by another version of flick");
	r->stream = ZSTD_createDStream();
	r->room = IN_BYTES * 2;
	r->in = malloc(IN_BYTES);
	r->out = malloc(r->room);
	return r->stream && r->in && r->out ? 0 : fl_why(why, r->path, "out of memory");
}

/* Decompress more bytes behind those in `out`. False: there are none. */
static bool fill(struct reader *r)
{
	ZSTD_outBuffer out = { r->out, r->room, r->filled };
	size_t before = r->filled, code;

	while (out.pos == before) {
		if (r->input.pos == r->input.size) {
			r->input = (ZSTD_inBuffer){ .src = r->in };
			r->input.size = fread(r->in, 1, IN_BYTES, r->file);
			if (ferror(r->file))
				r->damage = "cannot be read";
		}
		if (r->input.size == 0)
			return false;
		code = ZSTD_decompressStream(r->stream, &out, &r->input);
		if (ZSTD_isError(code)) {
			r->damage = "is damaged";
			return false;
		}
		r->whole = code == 0;
	}
	r->filled = out.pos;
	return true;
}

static bool need(struct reader *r, size_t bytes)
{
	if (r->filled - r->at >= bytes)
		return true;
	memmove(r->out, r->out + r->at, r->filled - r->at);
	r->filled -= r->at;
	r->at = 0;
	while (r->filled < bytes)
		if (!fill(r))
			return false;
	return true;
}

/* Records of another version may have types that this one passes over. */
static void feed_known(struct reader *r, struct fl_batch *b, const struct flick_record *of,
		       size_t n, uint64_t *rest)
{
	struct fl_known_records k;

	for (size_t at = 0; at < n; at += k.from + k.n) {
		k = fl_records_known(of + at, n - at, rest);
		b->records = of + at + k.from;
		b->n = k.n;
		if (!b->n)
			continue;
		r->sink->feed(r->sink->arg, b);
		b->paused = 0;
	}
}

static uint64_t pause_in_front(const struct reader *r, uint32_t thread)
{
	const struct block *b = &r->before;

	return b->type == BLOCK_PAUSE && b->thread == thread ? b->n : 0;
}

/* Feed a block's records in pieces, because no memory is spent on the size that an untrusted
 * file claims. Records of a block that was cut short are fed, too. */
static bool feed_records(struct reader *r, uint32_t thread, uint64_t n)
{
	const size_t size = sizeof(struct flick_record);
	struct fl_batch batch = { .thread = thread, .paused = pause_in_front(r, thread) };
	uint64_t rest = 0;

	while (n) {
		uint64_t whole;

		if (!need(r, size))
			return false;
		whole = (r->filled - r->at) / size;
		if (whole > n)
			whole = n;
		feed_known(r, &batch, (const void *)(r->out + r->at), whole, &rest);
		r->at += whole * size;
		r->n += whole;
		n -= whole;
	}
	return true;
}

static bool read_block(struct reader *r, struct block b)
{
	if (b.type == BLOCK_RECORDS && b.thread < FL_TRACE_THREADS)
		return feed_records(r, b.thread, b.n);
	if (b.type == BLOCK_THREAD_END && b.thread < FL_TRACE_THREADS)
		r->sink->thread_end(r->sink->arg, b.thread, 0);
	else if (b.type == BLOCK_END)
		r->ended = b.n == r->n && !need(r, 1) && r->whole;
	else if (b.type != BLOCK_PAUSE)
		r->damage = "is damaged";
	return !r->damage;
}

static bool read_next(struct reader *r)
{
	struct block b;
	bool goes_on;

	if (r->ended || !need(r, sizeof(b)))
		return false;
	memcpy(&b, r->out + r->at, sizeof(b));
	r->at += sizeof(b);
	goes_on = read_block(r, b);
	r->before = b;
	return goes_on;
}

static void close_reader(struct reader *r)
{
	if (r->file)
		fclose(r->file);
	ZSTD_freeDStream(r->stream);
	free(r->in);
	free(r->out);
	free(r->path);
}

static int find_reader(struct reader *r, const char *dir, char why[FL_WHY])
{
	if (asprintf(&r->path, "%s/" FL_TRACE_FILE, dir) < 0) {
		r->path = NULL;
		return fl_why(why, dir, "out of memory");
	}
	return open_reader(r, why);
}

int fl_trace_check(const char *dir, char why[FL_WHY])
{
	struct reader r = { .path = NULL };
	int err = find_reader(&r, dir, why);

	close_reader(&r);
	return err;
}

bool fl_trace_exists(const char *dir)
{
	char *path = NULL;
	bool exists = asprintf(&path, "%s/" FL_TRACE_FILE, dir) >= 0 && !access(path, F_OK);

	free(path);
	return exists;
}

int fl_trace_read(const char *dir, const struct fl_sink *sink, char why[FL_WHY])
{
	struct reader r = { .sink = sink };

	if (find_reader(&r, dir, why)) {
		close_reader(&r);
		return -1;
	}
	while (read_next(&r))
		;
	if (!r.ended)
		fl_why(why, r.path, "%s; the first %llu events are shown",
		       r.damage ? r.damage : "cut short", (unsigned long long)r.n);
	close_reader(&r);
	return r.ended ? 0 : 1;
}

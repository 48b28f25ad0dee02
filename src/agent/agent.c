/*
 * agent.c - the recorder's agent: asks it which sites it wants and arms them.
 *
 * Hides the dialogue with the reader, see enum fl_phase in channel.h. The
 * reader may die at any point; then the target goes on without probes.
 *
 *	target					reader
 *	write modules, sites, n_sites		wait for ASK
 *	phase = ASK	(A)			load phase	(B)
 *	wait while phase == ASK			set sites[].wanted
 *	load phase	(D)			phase = GO	(C)
 *
 * (A) pairs with (B) in cli/dialogue.c: who sees ASK sees the sites.
 * (D) pairs with (C) in cli/dialogue.c: who sees GO sees what is wanted.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "agent.h"
#include "os/os.h"
#include "patch/patch.h"

const struct fl_owner *fl_owner;

static struct fl_shm *shm;

static uint32_t dialogue;

void fl_agent_lock(uint64_t *signals)
{
	fl_os_lock(&dialogue, signals);
}

void fl_agent_unlock(const uint64_t *signals)
{
	fl_os_unlock(&dialogue, signals);
}

int fl_agent_found(enum fl_moment moment)
{
	uint64_t signals;
	uint32_t from;
	int n = 0;

	fl_agent_lock(&signals);
	if (fl_owner)
		n = fl_probes_discover(moment, &from);
	if (fl_owner && fl_probes_count() > from)
		fl_owner->found(from, moment);
	fl_agent_unlock(&signals);
	return n < 0 ? n : 0;
}

/* Returns the reader's answer; GO when it died before it gave one. */
static uint32_t ask(void)
{
	uint32_t phase;

	/* (A) pairs with (B) in cli/dialogue.c */
	store_release(&shm->phase, FL_PHASE_ASK);
	fl_os_futex_wake(&shm->phase, 1);
	fl_channel_doorbell();		/* it may be waiting for events instead */
	/* (D) pairs with (C) in cli/dialogue.c */
	while ((phase = load_acquire(&shm->phase)) == FL_PHASE_ASK) {
		if (!fl_channel_reader_lives())
			return FL_PHASE_GO;
		fl_os_futex_wait(&shm->phase, FL_PHASE_ASK, 20000);
	}
	return phase;
}

static void recorder_found(uint32_t from, enum fl_moment moment)
{
	if (ask() == FL_PHASE_QUIT)
		fl_os_exit(0);
	if (fl_channel_reader_lives())
		fl_probes_commit(from, moment);
}

static const struct fl_owner recorder = { .found = recorder_found };

/* The whole region or, where there is no room for it, its head, in which that
 * can be said. A core file would hold all of it: no name, so no file's. */
static struct fl_shm *map_region(int fd, uint64_t bytes, int *err)
{
	enum { PROT = PROT_READ | PROT_WRITE };
	struct fl_shm *m = fl_os_map(NULL, bytes, PROT, MAP_SHARED, fd, 0);

	*err = 0;
	if (fl_is_err(m)) {
		*err = -ENOMEM;
		bytes = fl_round_up(sizeof *m, FL_PAGE);
		m = fl_os_map(NULL, bytes, PROT, MAP_SHARED, fd, 0);
	}
	if (fl_is_err(m))
		return NULL;
	fl_os_advise(m, bytes, MADV_DONTDUMP);	/* else only a larger file */
	return m;
}

static struct fl_shm *map_shm(const char *path, int *err)
{
	struct fl_shm head, *m = NULL;
	int fd = fl_os_open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fl_os_read(fd, &head, sizeof head) == (long)sizeof head &&
	    head.magic == FL_SHM_MAGIC && head.version == FL_SHM_VERSION)
		m = map_region(fd, head.bytes, err);
	fl_os_close(fd);
	return m;
}

/* After an exec in the target: what the old image had is not there any more. */
static void retire_old_image(void)
{
	for (uint32_t i = 0; i < shm->n_sites; i++)
		fl_shm_sites(shm)[i].state = FL_SITE_GONE;
	shm->n_images++;
}

static int fault_error;

int fl_agent_patch_open(void)
{
	int err = fault_error ? fault_error : fl_patch_open(NULL);

	return err ? err : fl_text_choose(NULL);
}

static int open_all(void)
{
	int err = fl_channel_open(shm);

	if (!err)
		err = fl_agent_patch_open();
	if (!err)
		err = fl_probes_open(shm);
	if (!err)
		err = fl_life_open();
	if (!err)
		err = fl_life_watch(shm);
	return err;
}

void fl_agent_start(const char *shm_path)
{
	uint32_t from;
	int err;

	shm = map_shm(shm_path, &err);
	if (!shm || shm->target_pid != fl_os_pid())
		return;			/* another process of the family */
	if (err) {
		fl_channel_open(shm);	/* only to be heard */
		fl_channel_close();
	} else {
		retire_old_image();
		shm->tsc0 = fl_arch_ticks();
		shm->mono0_ns = fl_os_monotonic_ns();
		fl_cyg_open();
		err = open_all();
	}
	if (err) {
		shm->agent_error = err;
		if (ask() == FL_PHASE_QUIT)
			fl_os_exit(0);
		return;
	}
	fl_owner = &recorder;
	err = fl_probes_discover(FL_RUNNING, &from);
	shm->agent_error = err < 0 ? err : 0;
	recorder_found(from, FL_RUNNING);
	if (shm->windows.rate)
		fl_windows_begin();
}

/* The first constructor of all (-z initfirst): the C library has not set up
 * `environ` yet, but glibc hands every constructor the environment. */
static const char *find_variable(char **env, const char *name)
{
	size_t n = __builtin_strlen(name);

	for (; env && *env; env++)
		if (!__builtin_strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

__attribute__((constructor)) static void on_load(int argc, char **argv, char **env)
{
	const char *path = find_variable(env, FL_SHM_ENV);

	(void)argc;
	(void)argv;
	fault_error = fl_os_fault_open(find_variable(env, FL_FAULT_ENV));
	if (path)
		fl_agent_start(path);
}

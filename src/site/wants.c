/*
 * wants.c - which modules get second bodies.
 *
 * FLICK_BODIES=1 in the environment: the program, or a file that was laid out.
 */
#include "scan.h"

bool fl_site_wants_bodies(const struct fl_module *m, int n_sites)
{
	char given[4];

	return !n_sites && m->file.bytes && (m->is_program || m->laid_out) &&
	       !fl_os_environment("FLICK_BODIES", given, sizeof given) && given[0] == '1';
}

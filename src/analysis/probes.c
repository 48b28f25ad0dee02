/*
 * probes.c - fill the rows of probes.h from the reader's view.
 */
#include "analysis/probes.h"

#include <stdlib.h>
#include <string.h>

int fl_array_extend(void **array, uint32_t *n, uint32_t want, size_t size)
{
	char *grown;

	if (want <= *n)
		return 0;
	grown = realloc(*array, want * size);
	if (!grown)
		return -ENOMEM;
	memset(grown + *n * size, 0, (want - *n) * size);
	*array = grown;
	*n = want;
	return 0;
}

static struct fl_tag tag_of(const struct fl_view *v, uint32_t probe)
{
	const struct fl_shm_site *site = &v->sites[probe];

	return (struct fl_tag){
		.function = v->function_of[probe],
		.kind = site->kind == FL_TAIL ? FL_EXIT : site->kind,
		.jump = site->jump,
	};
}

int fl_tags_extend(struct fl_tags *t)
{
	uint32_t from = t->n;
	int err = fl_array_extend((void **)&t->tags, &t->n, t->view->n_sites,
				  sizeof(*t->tags));

	for (uint32_t i = from; !err && i < t->n; i++)
		t->tags[i] = tag_of(t->view, i);
	return err;
}

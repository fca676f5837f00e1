/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "collective/collective.h"

#include <string.h>

static const struct collective *const collectives[] = {
	&collective_self,
	&collective_shm,
};

const struct collective *collective_find(const char *name, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (strcmp(collectives[i]->name, name) == 0)
			return collectives[i];
	train_fail(error, TRAIN_NO_BACKEND, "collective '%s': this build has self and shm", name);
	return NULL;
}

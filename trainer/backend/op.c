/* SPDX-License-Identifier: MIT */
/* Making and freeing operations, for every backend. */
#include <stdlib.h>

#include "backend/backend.h"

void *op_new(size_t size, struct device *device, const struct op_calls *calls, const char *what,
	     struct train_error *error)
{
	struct op *op = calloc(1, size);

	if (!op) {
		train_nomem(error, what);
		return NULL;
	}
	op->calls = calls;
	op->device = device;
	return op;
}

bool op_give(struct op **ret, struct op *op, bool planned)
{
	if (planned)
		*ret = op;
	else
		op_free(op);
	return planned;
}

void op_free(struct op *op)
{
	if (op && op->calls->free)
		op->calls->free(op);
	free(op);
}

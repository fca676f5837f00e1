/* SPDX-License-Identifier: MIT */
/* See python_names.h. */
#include "lint/python_names.h"

struct python_name {
	struct span name;
	int scope;
	size_t doubts; /* when it got its value */
	struct python_value value;
};

static uint64_t hash(struct span name, int scope)
{
	return hash_bytes(HASH_START ^ (uint64_t)scope, name.text, name.length);
}

static struct python_name *find(const struct python_names *names, struct span name, int scope)
{
	for (size_t walk = 0, i; hash_index_next(&names->index, hash(name, scope), &walk, &i);)
		if (names->list[i].scope == scope && span_same(names->list[i].name, name))
			return &names->list[i];
	return NULL;
}

const struct python_value *names_get(const struct python_names *names, struct span name, int scope)
{
	struct python_name *n = find(names, name, scope);

	if (n && !scope && n->doubts < names->doubts && n->value.meaning != MEANS_PATH)
		n->value.unsure = n->value.varies = true;
	return n ? &n->value : NULL;
}

static bool matters(const struct python_value *value)
{
	return value->meaning == MEANS_RANK || value->meaning == MEANS_LOCAL_RANK ||
	       value->meaning == MEANS_COUNT || value->meaning == MEANS_MODULO ||
	       value->meaning == MEANS_CUDA || value->meaning == MEANS_DEVICE;
}

void names_set(struct python_names *names, struct span name, int scope, struct python_value value)
{
	struct python_name *n = find(names, name, scope);

	if (n) {
		if ((matters(&value) || matters(&n->value)) &&
		    (value.meaning != n->value.meaning || value.number != n->value.number))
			names->changed = true;
		value.varies = true;
		n->value.varies = true;
		if (!python_constant(&value) || python_constant(&n->value))
			n->value = value;
		n->doubts = names->doubts;
		return;
	}
	/* A missing entry means unknown too, where no number is computed from names. */
	if (value.meaning == MEANS_UNKNOWN && !scope && !names->unknowns)
		return;
	hash_index_add(&names->index, hash(name, scope), names->count);
	*ARRAY_NEXT(names->list, names->count, names->room) = (struct python_name){
		.name = name, .scope = scope, .doubts = names->doubts, .value = value};
}

void names_doubt(struct python_names *names)
{
	names->doubts++;
}

void names_free(struct python_names *names)
{
	hash_index_free(&names->index);
	free(names->list);
}

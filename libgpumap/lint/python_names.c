/* SPDX-License-Identifier: MIT */
#include "lint/python_names.h"

struct python_name {
	struct span name;
	int scope;
	struct python_value value;
	struct python_name *next;
};

static size_t hash(struct span name, int scope)
{
	size_t h = 5381 + (size_t)scope * 31;

	for (size_t i = 0; i < name.length; i++)
		h = h * 33 ^ (unsigned char)name.text[i];
	return h;
}

static struct python_name *find(const struct python_names *names, struct span name, int scope)
{
	struct python_name *n;

	if (!names->room)
		return NULL;
	n = names->buckets[hash(name, scope) & (names->room - 1)];
	while (n && (n->scope != scope || n->name.length != name.length ||
		     memcmp(n->name.text, name.text, name.length) != 0))
		n = n->next;
	return n;
}

static bool grow(struct python_names *names)
{
	size_t room = names->room ? names->room * 2 : 64;
	struct python_name **buckets = calloc(room, sizeof(struct python_name *));

	if (!buckets)
		return false;
	for (size_t i = 0; i < names->room; i++) {
		struct python_name *n = names->buckets[i], *next;

		for (; n; n = next) {
			struct python_name **to = &buckets[hash(n->name, n->scope) & (room - 1)];

			next = n->next;
			n->next = *to;
			*to = n;
		}
	}
	free(names->buckets);
	names->buckets = buckets;
	names->room = room;
	return true;
}

const struct python_value *names_get(const struct python_names *names, struct span name, int scope)
{
	const struct python_name *n = find(names, name, scope);

	return n ? &n->value : NULL;
}

static bool is_constant(const struct python_value *value)
{
	return value->meaning == MEANS_TEXT || value->meaning == MEANS_NUMBER ||
	       value->meaning == MEANS_NONE || value->meaning == MEANS_CPU;
}

static bool matters(const struct python_value *value)
{
	return value->meaning == MEANS_RANK || value->meaning == MEANS_LOCAL_RANK ||
	       value->meaning == MEANS_COUNT || value->meaning == MEANS_MODULO ||
	       value->meaning == MEANS_CUDA || value->meaning == MEANS_DEVICE;
}

bool names_set(struct python_names *names, struct span name, int scope, struct python_value value)
{
	struct python_name *n = find(names, name, scope);

	if (n) {
		if ((matters(&value) || matters(&n->value)) &&
		    (value.meaning != n->value.meaning || value.number != n->value.number))
			names->changed = true;
		if (!is_constant(&value) || is_constant(&n->value))
			n->value = value;
		return true;
	}
	/* Nothing is known of it without an entry either; a function's own hides the file's. */
	if (value.meaning == MEANS_UNKNOWN && !scope)
		return true;
	if (names->count >= names->room && !grow(names)) {
		names->arena->failed = true;
		return false;
	}
	n = arena_alloc(names->arena, 1, sizeof(*n));
	if (!n)
		return false;
	*n = (struct python_name){.name = name, .scope = scope, .value = value};
	n->next = names->buckets[hash(name, scope) & (names->room - 1)];
	names->buckets[hash(name, scope) & (names->room - 1)] = n;
	names->count++;
	return true;
}

void names_free(struct python_names *names)
{
	free(names->buckets);
}

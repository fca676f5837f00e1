/* SPDX-License-Identifier: MIT */
/* What each variable of a script is at the point of the walk. */
#include "lint/shell.h"

#include <stdio.h>

bool shell_any(struct span s, const char *const *names)
{
	for (; *names; names++)
		if (s.length && **names == *s.text && span_is(s, *names))
			return true;
	return false;
}

const char *tracked_name(enum tracked tracked)
{
	static const char *const names[] = {
		[TRACKED_LIST] = "CUDA_VISIBLE_DEVICES",
		[TRACKED_ORDER] = "CUDA_DEVICE_ORDER",
		[TRACKED_THREADS] = "OMP_NUM_THREADS",
		[TRACKED_PORT] = "MASTER_PORT",
		[TRACKED_ADDRESS] = "MASTER_ADDR",
		[TRACKED_SIZE] = "WORLD_SIZE",
		[TRACKED_RANK] = "RANK",
		[TRACKED_LOCAL_RANK] = "LOCAL_RANK",
	};

	return names[tracked];
}

struct shell_var *shell_tracked(struct shell *sh, struct span name)
{
	for (int i = 0; i < TRACKED_COUNT; i++)
		if (span_is(name, tracked_name((enum tracked)i)))
			return &sh->vars[i];
	return NULL;
}

const char *shell_show(struct shown *ret, struct span name, struct span value)
{
	struct quoted quoted;

	if (span_known(value))
		snprintf(ret->text, sizeof(ret->text), "%.*s=%.300s", (int)name.length, name.text,
			 quote(&quoted, value));
	else
		snprintf(ret->text, sizeof(ret->text), "%.*s", (int)name.length, name.text);
	return ret->text;
}

static uint64_t hash(struct span name)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < name.length; i++)
		h = (h ^ (unsigned char)name.text[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static void place_bucket(struct shell *sh, size_t var)
{
	size_t i = hash(sh->vars[var].name) & (sh->bucket_count - 1);

	while (sh->buckets[i])
		i = (i + 1) & (sh->bucket_count - 1);
	sh->buckets[i] = var + 1;
}

static bool more_buckets(struct shell *sh)
{
	size_t count = sh->bucket_count ? sh->bucket_count * 2 : 64;
	size_t *buckets = calloc(count, sizeof(*buckets));

	if (!buckets)
		return false;
	free(sh->buckets);
	sh->buckets = buckets;
	sh->bucket_count = count;
	for (size_t i = 0; i < sh->var_count; i++)
		place_bucket(sh, i);
	return true;
}

struct shell_var *shell_var(struct shell *sh, struct span name)
{
	struct shell_var *vars;
	size_t i = 0;

	if (sh->bucket_count)
		i = hash(name) & (sh->bucket_count - 1);
	for (; sh->bucket_count && sh->buckets[i]; i = (i + 1) & (sh->bucket_count - 1)) {
		struct shell_var *var = &sh->vars[sh->buckets[i] - 1];

		if (var->name.length == name.length &&
		    memcmp(var->name.text, name.text, name.length) == 0)
			return var;
	}
	if (sh->var_count == SHELL_VARS) {
		sh->crowded = sh->failed = true;
		return NULL;
	}
	vars = array_room(sh->vars, sh->var_count, &sh->var_room, sizeof(*vars));
	if (vars)
		sh->vars = vars;
	if (!vars || (sh->var_count * 2 >= sh->bucket_count && !more_buckets(sh))) {
		sh->failed = true;
		return NULL;
	}
	/* A name that is not the script's own text is in a buffer that is used again. */
	if (name.text < sh->text.text || name.text > sh->text.text + sh->text.length)
		name = shell_keep(sh, name);
	vars[sh->var_count] = (struct shell_var){.name = name};
	place_bucket(sh, sh->var_count);
	return &vars[sh->var_count++];
}

struct setting shell_setting(struct shell *sh, struct shell_var *var)
{
	const struct frame *function = shell_in(sh, FRAME_FUNCTION);
	unsigned when = var->now.serial;

	/* A file that was sourced, or a function, may have set it since. */
	if (when < sh->sourced || (var->by_function && when < sh->called) ||
	    (function && when < function->serial))
		return (struct setting){
			.state = SET_UNKNOWN, .exported = EXPORT_UNKNOWN, .used = true};
	return var->now;
}

void shell_set(struct shell *sh, struct shell_var *var, struct setting setting)
{
	unsigned scope = shell_frame(sh)->scope;
	struct saved *trail;

	if (scope && var->saved != scope) {
		trail = array_room(sh->trail, sh->trail_count, &sh->trail_room, sizeof(*trail));
		if (!trail) {
			sh->failed = true;
			return;
		}
		sh->trail = trail;
		trail[sh->trail_count++] =
			(struct saved){(size_t)(var - sh->vars), var->now, var->saved};
		var->saved = scope;
	}
	var->now = setting;
	var->now.serial = ++sh->serial;
	var->now.scope = scope;
}

void shell_forget(struct shell *sh, struct span name)
{
	struct shell_var *var = shell_var(sh, name);
	struct setting unknown = {.state = SET_UNKNOWN, .exported = EXPORT_UNKNOWN, .used = true};

	if (var)
		shell_set(sh, var, unknown);
}

struct span shell_keep(struct shell *sh, struct span text)
{
	char *copy = arena_strndup(&sh->arena, text.text ? text.text : "", text.length);

	if (!copy)
		sh->failed = true;
	return (struct span){copy ? copy : "", copy ? text.length : 0};
}

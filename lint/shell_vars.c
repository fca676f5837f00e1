/* SPDX-License-Identifier: MIT */
/* The value of each variable of a script at the current point of the walk. */
#include "lint/shell_script.h"

static const struct setting unknown = {
	.state = SET_UNKNOWN, .exported = EXPORT_UNKNOWN, .used = true};

bool span_known(struct span text)
{
	return !text.length || (!memchr(text.text, SHELL_UNKNOWN, text.length) &&
				!memchr(text.text, SHELL_BORDER, text.length));
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

const char *shell_show(struct quoted *ret, struct span name, struct span value)
{
	return format_text(ret, "%.*s%s%.300s", (int)name.length, name.text,
			   span_known(value) ? "=" : "", span_known(value) ? QUOTE(value) : "");
}

struct shell_var *shell_var(struct shell *sh, struct span name)
{
	uint64_t hash = hash_bytes(HASH_START, name.text, name.length);
	struct shell_var *var;

	for (size_t walk = 0, i; hash_index_next(&sh->index, hash, &walk, &i);)
		if (span_same(sh->vars[i].name, name))
			return &sh->vars[i];
	sh->vars = array_room(sh->vars, sh->var_count, &sh->var_room, sizeof(*var));
	var = &sh->vars[sh->var_count];
	/* A name that is not part of the script's text is in a buffer that is reused. */
	if (name.text < sh->text.text || name.text > sh->text.text + sh->text.length)
		name = shell_keep(sh, name);
	*var = (struct shell_var){.name = name};
	/* The walk ends soon. Until then the names that are too many share one place. */
	sh->crowded = sh->var_count == SHELL_VARS;
	if (!sh->crowded)
		hash_index_add(&sh->index, hash, sh->var_count++);
	return var;
}

struct setting shell_setting(struct shell *sh, struct shell_var *var)
{
	const struct frame *function = shell_in(sh, FRAME_FUNCTION);
	unsigned when = var->now.serial;

	if (var->now.granted && !(var->by_function && when < sh->called))
		return var->now;
	/* A sourced file or a function may have set it since. */
	if (when < sh->sourced || (var->by_function && when < sh->called) ||
	    (function && when < function->serial))
		return unknown;
	return var->now;
}

void shell_set(struct shell *sh, struct shell_var *var, struct setting setting)
{
	unsigned scope = shell_frame(sh)->scope;

	if (scope && var->saved != scope) {
		*ARRAY_NEXT(sh->trail, sh->trail_count, sh->trail_room) =
			(struct saved){(size_t)(var - sh->vars), var->now, var->saved};
		var->saved = scope;
	}
	var->now = setting;
	var->now.serial = ++sh->serial;
	var->now.scope = scope;
}

bool shell_affords(struct shell *sh, size_t length)
{
	if (length > SHELL_LONGEST)
		sh->spent += length;
	return length <= SHELL_LONGEST || sh->spent <= SHELL_SPENT;
}

void shell_mention(struct shell *sh, struct span text)
{
	for (int i = 0; i < TRACKED_COUNT; i++)
		if (span_has(text, tracked_name((enum tracked)i)))
			sh->vars[i].now.used = sh->vars[i].referenced = true;
}

void shell_forget(struct shell *sh, struct span name)
{
	shell_set(sh, shell_var(sh, name), unknown);
}

void shell_forget_names(struct shell *sh, struct span text)
{
	for (size_t i = 0, n; i < text.length; i += n ? n : 1) {
		struct span name = {text.text + i, text.length - i};

		n = name.length = shell_name(name);
		if (n)
			shell_forget(sh, name);
	}
}

struct span shell_keep(struct shell *sh, struct span text)
{
	return (struct span){arena_strndup(&sh->arena, text.text ? text.text : "", text.length),
			     text.length};
}

/* --- frames: state that ends with a bracket of the grammar ------------------------------------ */

struct frame *shell_frame(struct shell *sh)
{
	return &sh->frames[sh->frame_count - 1];
}

struct frame *shell_in(struct shell *sh, enum frame_kind kind)
{
	for (int i = sh->frame_count - 1; i >= 0; i--)
		if (sh->frames[i].kind == kind)
			return &sh->frames[i];
	return NULL;
}

static bool is_scope(enum frame_kind kind)
{
	return kind == FRAME_SUBSHELL || kind == FRAME_BRANCH || kind == FRAME_LOOP ||
	       kind == FRAME_FUNCTION;
}

struct frame *shell_push(struct shell *sh, enum frame_kind kind, struct place at)
{
	unsigned scope = sh->frame_count ? shell_frame(sh)->scope : 0;
	struct frame *frame;

	if (sh->frame_count == SHELL_FRAMES)
		return NULL;
	frame = &sh->frames[sh->frame_count++];
	*frame = (struct frame){
		.kind = kind,
		.scope = is_scope(kind) ? ++sh->scopes : scope,
		.serial = ++sh->serial,
		.trail = sh->trail_count,
		.jobs = sh->job_count,
		.at = at,
		.rounds = -1,
	};
	return frame;
}

void shell_pop(struct shell *sh)
{
	struct frame frame = *shell_frame(sh);
	size_t end = sh->trail_count;

	sh->frame_count--;
	if ((frame.kind == FRAME_BRANCH && !frame.chain) || frame.kind == FRAME_FUNCTION)
		sh->job_count = sh->job_count < frame.jobs ? sh->job_count : frame.jobs;
	if (!is_scope(frame.kind))
		return;
	sh->trail_count = frame.trail;
	for (size_t i = frame.trail; i < end; i++) {
		struct saved saved = sh->trail[i];
		struct shell_var *var = &sh->vars[saved.var];

		var->now = saved.setting;
		var->saved = saved.saved;
		if (frame.kind == FRAME_FUNCTION)
			var->by_function = true;
		else if (frame.kind != FRAME_SUBSHELL)
			shell_set(sh, var, unknown); /* needs no more room than it had */
	}
}

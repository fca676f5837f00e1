/* SPDX-License-Identifier: MIT */
/* Frames: what is set inside a subshell ends with it, what is set in a branch or a loop may
 * or may not hold behind it. */
#include "lint/shell.h"

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
	static const struct setting unknown = {
		.state = SET_UNKNOWN, .exported = EXPORT_UNKNOWN, .used = true};
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
			shell_set(sh, var, unknown); /* takes no more room than it was given */
	}
}

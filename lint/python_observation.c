/* SPDX-License-Identifier: MIT */
/* What the scan has seen at a token, with what the blocks around it mean for it. */
#include "lint/python_file.h"

struct observation *observation_add(struct python_file *f, enum observation_kind kind,
				    const struct python_token *token)
{
	const struct python_block *b = block_now(f);
	bool starts = kind == OBSERVED_SPAWN || kind == OBSERVED_PROCESS || kind == OBSERVED_GROUP;
	struct observation *s;
	/* Each is compared with each. */
	bool many = starts && f->starters++ >= MAX_STARTERS;

	f->full |= !many && f->count == MAX_OBSERVATIONS;
	if (many || f->full) {
		f->spare = (struct observation){.kind = kind};
		return &f->spare;
	}
	s = ARENA_NEXT(&f->arena, f->observations, f->count, f->room);
	if (!f->firsts[kind])
		f->firsts[kind] = f->count;
	*s = (struct observation){
		.kind = kind,
		.line = token->line,
		.column = token->column,
		.may = b->may,
		.otherwise = b->otherwise,
		.guarded = b->guarded,
		.function = b->function,
		.uses = f->own.use_count,
		.least = b->least,
		.doubtful =
			f->conditional || f->definition || f->deferred || python_may_have_ended(f),
	};
	for (int i = f->depth; i >= 0; i--) {
		s->doubtful |= f->blocks[i].caught;
		s->member |= f->blocks[i].member;
		s->patched |= f->blocks[i].patched;
		s->may |= f->blocks[i].cut;
	}
	/* The effects of the surrounding blocks apply here too, also inside of functions. */
	for (int i = f->depth; i >= 0; i--) {
		if (f->blocks[i].initialised.text &&
		    (!s->initialised.text || !python_may_count(f->blocks[i].initialised))) {
			s->initialised = f->blocks[i].initialised;
			s->initialised_line = f->blocks[i].initialised_line;
		}
	}
	for (int i = f->depth; i >= 0; i--) {
		if (f->blocks[i].listed) {
			s->list = f->blocks[i].list;
			s->lister = f->blocks[i].lister;
			s->listed = true;
			break;
		}
	}
	return s;
}

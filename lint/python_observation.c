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
		.uses = f->own.call_count,
		.least = b->least,
		.doubtful =
			f->conditional || f->definition || f->deferred || python_may_have_ended(f),
	};
	/* The effects of the surrounding blocks apply here too, also inside of functions. */
	for (int i = f->depth; i >= 0; i--) {
		b = &f->blocks[i];
		s->doubtful |= b->caught;
		s->member |= b->member;
		s->patched |= b->patched;
		s->may |= b->cut;
		if (b->initialised.text &&
		    (!s->initialised.text || !python_may_count(b->initialised))) {
			s->initialised = b->initialised;
			s->initialised_line = b->initialised_line;
		}
		if (b->listed && !s->listed) {
			s->list = b->list;
			s->lister = b->lister;
			s->listed = true;
		}
	}
	return s;
}

bool observation_sets(const struct python_file *f, const char *names, bool always)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct observation *s = &f->observations[i];

		if (s->kind == OBSERVED_VARIABLE && span_is_any(s->name, names) &&
		    !(always && s->verb == OBSERVED_DEFAULTS))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/* The words of the key command. It is split before its variables are expanded, so that the value of
 * a variable is part of one word, whatever is in it. */
#include "profile/profile.h"

#include "text/words.h"

enum { OF_PYTHON = 2 }; /* words: its program, quoted, and its option */

static void add_words(struct settled *s, struct span rest)
{
	struct words_error error;
	struct strbuf word = {0};

	while (words_next(&rest, &word, &error)) {
		const char *text = arena_strdup(&s->arena, word.text);

		strbuf_free(&word);
		if (!text)
			break;
		s->arguments[s->argument_count++] = text;
	}
	if (word.failed)
		s->arena.failed = true;
	strbuf_free(&word);
}

static void split(struct settled *s, struct span command)
{
	/* Every argument but the last is followed by a blank. */
	s->arguments =
		arena_alloc(&s->arena, command.length / 2 + 1 + OF_PYTHON, sizeof(*s->arguments));
	if (!s->arguments)
		return;
	s->arguments += OF_PYTHON;
	add_words(s, command);
}

static void expand(const gpumap_profile *p, struct settled *s, size_t count)
{
	for (size_t i = 0; i < count && !s->arena.failed; i++)
		s->arguments[i] = profile_expanded(p, &s->arena, s->arguments[i], true, false);
}

static void put_python(const gpumap_profile *p, struct settled *s)
{
	CLEANUP(strbuf_free) struct strbuf words = {0};
	size_t count = s->argument_count;

	if (count)
		profile_python(&words, s->arguments[0], p->python);
	if (words.failed)
		s->arena.failed = true;
	if (words.failed || !words.length)
		return;
	s->arguments -= OF_PYTHON;
	s->argument_count = 0;
	add_words(s, (struct span){words.text, words.length});
	s->argument_count = OF_PYTHON + count;
	expand(p, s, OF_PYTHON);
}

void command_settle(const gpumap_profile *p, struct settled *s)
{
	const struct setting *setting = profile_decides(p, PKEY_PROGRAM_command, NO_PLACE);

	split(s, span_of(setting ? setting->text : ""));
	expand(p, s, s->argument_count);
	if (!s->arena.failed)
		put_python(p, s);
}

/* SPDX-License-Identifier: MIT */
/* The words of the key command; the program FILE.py is started by Python. */
#include "profile/profile.h"

#include "text/words.h"

enum { BEFORE = 2 }; /* Python, one word by its quotes, and its option */

static void put_words(struct settled *s, struct span rest)
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

void command_split(struct settled *s, struct span command)
{
	/* Every argument but the last is followed by a blank. */
	s->arguments =
		arena_alloc(&s->arena, command.length / 2 + 1 + BEFORE, sizeof(*s->arguments));
	if (!s->arguments)
		return;
	s->arguments += BEFORE;
	put_words(s, command);
}

/* As by torchrun: unbuffered. */
size_t command_put_python(struct settled *s, const char *python)
{
	CLEANUP(strbuf_free) struct strbuf words = {0};
	size_t count = s->argument_count;

	if (!count || !is_python_file(span_of(s->arguments[0])) || (python && !*python))
		return 0;
	words_quote(&words, python ? python : "python3");
	strbuf_puts(&words, " -u");
	if (words.failed) {
		s->arena.failed = true;
		return 0;
	}
	s->arguments -= BEFORE;
	s->argument_count = 0;
	put_words(s, (struct span){words.text, words.length});
	s->argument_count = BEFORE + count;
	return BEFORE;
}

/* SPDX-License-Identifier: MIT */
/* The words of the key command; the program FILE.py is started by Python. */
#include "profile/profile.h"

#include "text/words.h"

static void put_words(const gpumap_profile *p, struct settled *s, struct span rest)
{
	struct words_error error;
	struct strbuf word = {0};

	while (words_next(&rest, &word, &error)) {
		const char *text = arena_strdup(&s->arena, word.text);

		strbuf_free(&word);
		if (!text)
			break;
		s->arguments[s->argument_count++] =
			profile_expanded(p, &s->arena, text, true, false);
	}
	if (word.failed)
		s->arena.failed = true;
	strbuf_free(&word);
}

/* A FILE.py is started as by torchrun: by Python, unbuffered. */
static void put_python(const gpumap_profile *p, struct settled *s, struct span command)
{
	CLEANUP(strbuf_free) struct strbuf words = {0};

	s->argument_count = 0;
	words_quote(&words, p->python ? p->python : "python3");
	strbuf_puts(&words, " -u");
	if (words.failed)
		s->arena.failed = true;
	else
		put_words(p, s, (struct span){words.text, words.length});
	put_words(p, s, command);
}

void profile_settle_command(const gpumap_profile *p, struct settled *s)
{
	const struct setting *setting = profile_decides(p, PKEY_PROGRAM_command, NO_PLACE);
	struct span command = span_of(setting ? setting->text : "");

	/* Every argument but the last is followed by a blank; Python and its option come before. */
	s->arguments = arena_alloc(&s->arena, command.length / 2 + 3, sizeof(*s->arguments));
	if (!s->arguments)
		return;
	put_words(p, s, command);
	if (s->argument_count && !s->arena.failed && is_python_file(span_of(s->arguments[0])) &&
	    !(p->python && !*p->python))
		put_python(p, s, command);
}

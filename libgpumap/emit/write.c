/* SPDX-License-Identifier: MIT */
/* Words and lines of what is emitted. */
#include "emit/emit.h"

#include "text/words.h"

enum { LINE_WIDTH = 96 };

static void note_end(struct emitter *e)
{
	if (e->out.length && e->out.text[e->out.length - 1] == '\n')
		e->line = e->out.length;
}

void emit_puts(struct emitter *e, const char *text)
{
	strbuf_puts(&e->out, text);
	note_end(e);
}

void emit_printf(struct emitter *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strbuf_vprintf(&e->out, format, args);
	va_end(args);
	note_end(e);
}

void emit_end(struct emitter *e)
{
	emit_puts(e, "\n");
}

/* Puts text that is already quoted, as the next word of a command. */
static void put_quoted(struct emitter *e, struct strbuf *word)
{
	if (e->out.length > e->line) {
		if (e->out.length - e->line + word->length + 3 > LINE_WIDTH) {
			emit_puts(e, " \\\n");
			emit_puts(e, "    ");
		} else {
			emit_puts(e, " ");
		}
	}
	emit_puts(e, word->text ? word->text : "");
	e->out.failed = e->out.failed || word->failed;
	strbuf_free(word);
}

void emit_word(struct emitter *e, const char *word)
{
	struct strbuf quoted = {0};

	words_quote(&quoted, word);
	put_quoted(e, &quoted);
}

void emit_pair(struct emitter *e, const char *option, const char *word)
{
	struct strbuf both = {0};

	strbuf_printf(&both, "%s ", option);
	words_quote(&both, word);
	put_quoted(e, &both);
}

/* The caller frees `ret`. */
PRINTF(3, 0)
static const char *format_word(struct emitter *e, struct strbuf *ret, const char *format,
			       va_list args)
{
	strbuf_vprintf(ret, format, args);
	e->out.failed = e->out.failed || ret->failed;
	return ret->text ? ret->text : "";
}

void emit_pairf(struct emitter *e, const char *option, const char *format, ...)
{
	CLEANUP(strbuf_free) struct strbuf word = {0};
	va_list args;

	va_start(args, format);
	emit_pair(e, option, format_word(e, &word, format, args));
	va_end(args);
}

void emit_wordf(struct emitter *e, const char *format, ...)
{
	CLEANUP(strbuf_free) struct strbuf word = {0};
	va_list args;

	va_start(args, format);
	emit_word(e, format_word(e, &word, format, args));
	va_end(args);
}

void emit_assignment(struct emitter *e, const char *name, const char *value)
{
	struct strbuf word = {0};

	strbuf_printf(&word, "%s=", name);
	if (*value)
		words_quote(&word, value);
	put_quoted(e, &word);
}

void emit_file(struct emitter *e, const char *name, char *text)
{
	if (!text) {
		e->out.failed = true;
		return;
	}
	e->files[e->file_count++] = (struct emit_file){name, text};
	emit_printf(e, "cat >%s <<'END'\n", name);
	emit_puts(e, text);
	emit_puts(e, "END\n");
}

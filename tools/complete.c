/* SPDX-License-Identifier: MIT */
/* Reads a command line as far as the cursor, by the tables of the commands. */
#include "complete.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Of "gpumap completion", which has no options of its own. */
const struct option_row completion_rows[] = {
	{NULL, NULL, NULL, 0},
};

static const struct {
	const char *name, *summary;
	const struct option_row *rows;
	enum option_keys keys;
	const char *operands;
} commands[] = {
#define COMMAND(name, summary, keys, operands) {#name, summary, name##_rows, keys, operands},
#include "commands.def"
#undef COMMAND
};

/* A word of the line, and where it begins among those that the shell made of it. */
struct word {
	struct strbuf text;
	int place;
};

struct line {
	struct word *words;
	int count;
};

/* Whether bash made a word of what stands between two parts of one. */
static bool is_joint(const char *word)
{
	return *word && word[strspn(word, "=:")] == '\0';
}

/* "--mode", "=", "dp" are one word. */
static void read_line_words(struct line *line, struct completion *c, int count, char **words,
			    bool split)
{
	bool joined = false;

	line->words = xcalloc((size_t)count + 1, sizeof(*line->words));
	for (int i = 0; i < count; i++) {
		bool joint = split && is_joint(words[i]);

		if (!line->count || !(joint || joined))
			line->words[line->count++].place = i + 1;
		strbuf_puts(&line->words[line->count - 1].text, words[i]);
		joined = joint;
	}
	if (!line->count)
		strbuf_puts(&line->words[line->count++].text, "");
	if (split && count)
		c->cut = line->words[line->count - 1].text.length -
			 (joined ? 0 : strlen(words[count - 1]));
}

static int find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (streq(commands[i].name, name))
			return (int)i;
	return -1;
}

static void add_commands(struct completion *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		complete_word(c, commands[i].name, commands[i].summary);
}

static void add_options(struct completion *c, const struct options *options)
{
	for (int i = 0; i < options->count; i++)
		complete_word(c, options->rows[i].name, options->rows[i].help);
}

static bool repeats(struct span operand)
{
	return operand.length > 3 && text_ends(operand.text, "...") &&
	       operand.text[operand.length] == '\0';
}

/* The grammar of the operand at `place`; "" if there can be none. */
static struct span operand_at(const char *operands, int place)
{
	struct span rest = span_of(operands), operand;

	while (span_split(&rest, ' ', &operand)) {
		if (repeats(operand))
			return (struct span){operand.text, operand.length - 3};
		if (place-- <= 0 || span_is(operand, "PROGRAM"))
			return operand;
	}
	return span_of("");
}

static void add_program(struct completion *c, int place, bool first)
{
	strbuf_printf(&c->text, ":program %d\n", place);
	if (first)
		strbuf_puts(&c->text, ":files 0\n");
}

/* The value of the option that the last word begins, "--mode=d", or that the word before it asks
 * for. */
static void add_value(struct completion *c, const struct option_row *row)
{
	struct span values = option_values(row), first;

	span_split(&values, ' ', &first);
	complete_values(c, first, row->name, row->help);
}

/* How the words of a command line are read. */
struct reader {
	struct options options;
	const char *operands;
	int place;   /* of the next operand */
	int program; /* where the program begins; 0: it does not */
	bool ended;  /* by -- */
	int values;  /* of `row`, which the next words are */
	const struct option_row *row;
	const struct option_row *optional; /* whose value the next word may be; NULL */
};

static void note_value(struct completion *c, const struct option_row *row, const char *value)
{
	if (streq(row->name, "--inventory"))
		c->inventory = value;
	else if (streq(row->name, "--config"))
		c->config = value;
}

static void read_option(struct reader *r, struct completion *c, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct option_row *row =
		options_find(&r->options, (struct span){word, strcspn(word, "=")});

	if (row && row->value && equals)
		note_value(c, row, equals + 1);
	if (!row || !row->value || equals)
		return;
	if (option_is_optional(row)) {
		r->optional = row;
		return;
	}
	r->row = row;
	r->values = strchr(row->value, ' ') ? 2 : 1;
}

static void read_word(struct reader *r, struct completion *c, const struct word *word)
{
	const struct option_row *optional = r->optional;

	r->optional = NULL;
	if (optional && option_takes(optional, word->text.text))
		return;
	if (r->values) {
		r->values--;
		note_value(c, r->row, word->text.text);
	} else if (!r->ended && streq(word->text.text, "--")) {
		r->ended = true;
		/* What stands behind it may be the program alone. */
		while (strstr(r->operands, "-- ") &&
		       !span_is(operand_at(r->operands, r->place), "PROGRAM"))
			r->place++;
	} else if (!r->ended && *word->text.text == '-' && word->text.text[1]) {
		read_option(r, c, word->text.text);
	} else if (span_is(operand_at(r->operands, r->place), "PROGRAM")) {
		r->program = word->place;
	} else if (!span_is(operand_at(r->operands, r->place), "--")) {
		r->place++;
	}
}

static void add_last(struct reader *r, struct completion *c, const struct word *last)
{
	const char *equals = strchr(last->text.text, '=');
	struct span operand = operand_at(r->operands, r->place);
	const struct option_row *row;

	if (r->values) {
		add_value(c, r->row);
	} else if (!r->ended && *last->text.text == '-' && equals) {
		row = options_find(&r->options, (struct span){last->text.text,
							      (size_t)(equals - last->text.text)});
		c->ahead = (struct span){last->text.text, (size_t)(equals + 1 - last->text.text)};
		c->begin = equals + 1;
		if (row && row->value)
			add_value(c, row);
	} else if (!r->ended &&
		   (*last->text.text == '-' || !operand.length || span_is(operand, "--"))) {
		add_options(c, &r->options);
	} else if (span_is(operand, "PROGRAM")) {
		add_program(c, last->place, true);
	} else {
		complete_values(c, operand, NULL, NULL);
	}
}

static void complete_command(struct completion *c, int command, const struct word *words, int count)
{
	struct reader r = {.operands = commands[command].operands};

	options_init(&r.options, commands[command].name, commands[command].rows, NULL,
		     commands[command].keys, 0, NULL);
	for (int i = 0; i < count - 1 && !r.program; i++)
		read_word(&r, c, &words[i]);
	if (r.program)
		add_program(c, r.program, false);
	else
		add_last(&r, c, &words[count - 1]);
}

/* Options of every command may stand before it. */
static void complete_words(struct completion *c, const struct word *words, int count)
{
	const struct word *last = &words[count - 1];
	int command;

	while (count > 1 &&
	       (streq(words->text.text, "--json") || starts_with(words->text.text, "--color"))) {
		words++;
		count--;
	}
	command = find(words->text.text);
	if (count == 1 && *last->text.text != '-') {
		add_commands(c);
		complete_word(c, "help", "explain a command, or the id of a rule or message");
	} else if (streq(words->text.text, "help")) {
		add_commands(c);
		complete_values(c, span_of("ID"), NULL, NULL);
	} else if (command >= 0) {
		complete_command(c, command, words + 1, count - 1);
	} else if (*words->text.text == '-') {
		complete_command(c, find("explain"), words, count);
		if (count == 1 && !c->ahead.length)
			complete_word(c, "--version", "print the version");
	}
}

void complete_line(struct completion *c, int count, char **words, bool split)
{
	struct line line = {0};

	read_line_words(&line, c, count, words, split);
	c->ahead.text = c->begin = line.words[line.count - 1].text.text;
	complete_words(c, line.words, line.count);
	for (int i = 0; i < line.count; i++)
		strbuf_free(&line.words[i].text);
	free(line.words);
}

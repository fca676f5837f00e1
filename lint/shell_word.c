/* SPDX-License-Identifier: MIT */
/* Expands words as far as the script defines them. */
#include "lint/shell_script.h"

#include <stdio.h>

struct expansion {
	struct shell *sh;
	struct command *c;
	struct lexer lx; /* on the token */
	bool split;      /* split into words; else one text */
	bool begun;      /* a word was begun */
	size_t start;
	bool loose, derived;
	struct place at;
	const char *source;
};

struct span word_text(const struct command *c, size_t i)
{
	if (i >= c->count)
		return (struct span){"", 0};
	return (struct span){c->text.text + c->words[i].start, c->words[i].length};
}

static void add(struct expansion *x, const char *text, size_t length)
{
	if (x->c->text.length + length > SHELL_EXPANDED) {
		length = 1;
		text = "";
		if (x->c->text.length > SHELL_EXPANDED && x->begun)
			return;
	}
	strbuf_add(&x->c->text, text, length);
	x->begun = true;
}

static void add_unknown(struct expansion *x, bool loose)
{
	add(x, "", 1); /* SHELL_UNKNOWN */
	x->loose |= loose;
}

static void end_word(struct expansion *x)
{
	struct command *c = x->c;

	if (!x->begun)
		return;
	*ARRAY_NEXT(c->words, c->count, c->room) = (struct word){
		x->start, c->text.length - x->start, x->at, x->loose, x->derived, x->source, {0}};
	x->start = c->text.length;
	x->begun = x->loose = false;
	/* The next word may come from the same variable. */
}

/* Adds the value of a variable: without quotes blanks split it; the borders of an array always do.
 */
static void add_value(struct expansion *x, struct span value, bool quoted, bool all)
{
	size_t begin = 0;

	if (!shell_affords(x->sh, value.length) || value.length > SHELL_EXPANDED) {
		add_unknown(x, !quoted);
		return;
	}
	for (size_t i = 0; i <= value.length; i++) {
		bool border = i < value.length && value.text[i] == SHELL_BORDER;
		bool blank = i < value.length && !quoted && is_space(value.text[i]);

		if (i < value.length && !(x->split && blank) && !border)
			continue;
		if (i > begin || quoted)
			add(x, value.text + begin, i - begin);
		begin = i + 1;
		if (border && !all)
			return; /* without an index it is the first element */
		if (i == value.length)
			return;
		if (x->split)
			end_word(x);
		else
			add(x, (const char[]){SHELL_BORDER}, 1);
	}
}

/* Whether there are only comments and blanks, of which nothing is left. */
static bool is_empty(struct lexer commands)
{
	struct token t;

	do
		t = lexer_next(&commands);
	while (t.kind == TOKEN_NEWLINE);
	return t.kind == TOKEN_END && commands.state == LEXER_GOOD;
}

/* The first source holds, but variables of tasks come before others. */
static void take_source(struct expansion *x, const char *source)
{
	if (!x->source || (is_task_variable(source) && !is_task_variable(x->source)))
		x->source = source;
}

/* Keeps the commands of $(...) or `...`, whose output is not known. */
static void inner_commands(struct expansion *x, struct lexer begin, size_t end, bool loose)
{
	struct command *c = x->c;

	begin.end = end;
	begin.depth = 0;
	begin.here_doc_count = 0;
	if (is_empty(begin))
		return;
	add_unknown(x, loose);
	take_source(x,
		    source_commands(x->sh, (struct span){begin.text + begin.at, end - begin.at}));
	ARRAY_NEXT(c->inner, c->inner_count, c->inner_room)->lexer = begin;
}

static void add_variable(struct expansion *x, struct span name, bool quoted, bool all)
{
	struct shell_var *var = shell_var(x->sh, name);
	struct setting setting = shell_setting(x->sh, var);

	var->referenced = true;
	x->derived = true;
	if (setting.state == SET_INHERITED && x->sh->in_step &&
	    span_is_any(name, "HOSTNAME SLURMD_NODENAME"))
		take_source(x, source_host);
	else if (setting.state == SET_INHERITED)
		take_source(x, source_variable(name));
	else if (setting.state == SET_VALUE && setting.source)
		take_source(x, setting.source);
	if (setting.state == SET_VALUE)
		add_value(x, setting.value, quoted, all);
	else if (setting.state != SET_NOT)
		add_unknown(x, !quoted || all);
	var->now.used = true;
	x->c->reads_list |= span_is(name, "CUDA_VISIBLE_DEVICES");
}

static bool lists_gpus(struct span name)
{
	return span_is_any(name, "SLURM_JOB_GPUS SLURM_STEP_GPUS");
}

/* ${...}, without its brackets. */
static void add_braced(struct expansion *x, struct span inside, bool quoted)
{
	struct span name = {inside.text, shell_name(inside)};
	struct span rest = span_from(inside, inside.text + name.length);
	bool all = span_is_any(rest, "[@] [*]");
	if (name.length && (!rest.length || all)) {
		add_variable(x, name, quoted, all);
		return;
	}
	if (name.length) {
		struct shell_var *var = shell_var(x->sh, name);
		struct setting now = shell_setting(x->sh, var);

		/* The default is not taken. */
		if (now.state == SET_VALUE && now.value.length && span_known(now.value) &&
		    span_starts_any(rest, "- :-")) {
			add_variable(x, name, quoted, false);
			return;
		}
		/* With a default, it may still be these. */
		if (now.state == SET_INHERITED && (is_task_variable(source_variable(name)) ||
						   (span_starts(rest, ":-") && lists_gpus(name))))
			take_source(x, source_variable(name));
		var->referenced = true;
		var->now.used = true;
		if (span_starts_any(rest, ":= ="))
			shell_forget(x->sh, name);
	}
	shell_mention(x->sh, rest);
	add_unknown(x, !quoted || memchr(inside.text, '@', inside.length));
}

/* The source of a number is a variable that is none, if there is one. */
static void note_arithmetic(struct expansion *x, struct span inside)
{
	const char *bad = NULL;

	for (size_t i = 0, n; i < inside.length; i += n ? n : 1) {
		struct span name = {inside.text + i, inside.length - i};
		struct shell_var *var;
		struct setting now;

		n = name.length = shell_name(name);
		if (!n)
			continue;
		var = shell_var(x->sh, name);
		var->referenced = var->now.used = x->derived = true;
		now = shell_setting(x->sh, var);
		if (now.state == SET_VALUE && now.source != source_devices)
			take_source(x, now.source);
		else if (now.state == SET_INHERITED)
			take_source(x, source_variable(name));
		if (!bad && !is_task_variable(x->source) && source_variable(name) &&
		    (now.state != SET_VALUE || span_number(now.value, INT32_MAX) < 0))
			bad = source_variable(name);
	}
	if (bad)
		x->source = streq(bad, source_array_sum) ? source_array_sum : bad;
}

/* The inside of $((...)), which may assign. */
static void add_arithmetic(struct expansion *x, struct span inside)
{
	int64_t value = shell_calculate(x->sh, inside);
	bool assigns = memchr(inside.text, '=', inside.length) || span_has(inside, "++") ||
		       span_has(inside, "--");
	char text[32];

	note_arithmetic(x, inside);
	if (value >= 0) {
		add(x, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)value));
		return;
	}
	if (assigns)
		shell_forget_names(x->sh, inside);
	add_unknown(x, false);
}

static void expand_dollar(struct expansion *x, bool quoted)
{
	struct lexer before = x->lx;
	struct span rest = {x->lx.text + x->lx.at + 1, x->lx.end - x->lx.at - 1};
	size_t n = shell_name(rest);

	if (n) {
		x->lx.at += n + 1;
		add_variable(x, (struct span){rest.text, n}, quoted, false);
		return;
	}
	lexer_dollar(&x->lx, quoted);
	if (x->lx.at - before.at > 2 && x->lx.state == LEXER_GOOD) {
		struct span inside = {rest.text + 1, x->lx.at - before.at - 3};

		if (*rest.text == '{') {
			add_braced(x, inside, quoted);
		} else if (*rest.text == '(' && rest.text[1] == '(') {
			add_arithmetic(x, inside);
		} else if (*rest.text == '(') {
			before.at += 2;
			inner_commands(x, before, x->lx.at - 1, !quoted);
		} else if (*rest.text == '\'' && !memchr(inside.text, '\\', inside.length)) {
			add(x, inside.text, inside.length);
		} else {
			add_unknown(x, !quoted);
		}
		return;
	}
	/* An error stays, so that text is not read again and again. */
	x->lx.at = before.at + 1;
	x->lx.line = before.line;
	x->lx.line_start = before.line_start;
	if (rest.length && (strchr("@*#?$!-", *rest.text) || is_digit(*rest.text))) {
		x->sh->watched |= *rest.text == '!';
		x->lx.at++;
		add_unknown(x, !quoted || *rest.text == '@');
	} else if (!rest.length || *rest.text != '"') {
		add(x, "$", 1);
	}
}

static void expand_backtick(struct expansion *x, bool quoted)
{
	struct lexer before;

	x->lx.at++;
	before = x->lx;
	lexer_backtick(&x->lx);
	if (x->lx.state == LEXER_GOOD)
		inner_commands(x, before, x->lx.at - 1, !quoted);
	else
		add_unknown(x, !quoted);
}

static bool is_special(char c, bool quoted)
{
	return c == '"' || c == '$' || c == '`' || c == '\\' || (c == '\'' && !quoted);
}

/* Expands text without special characters. */
static void expand_plain(struct expansion *x, bool quoted)
{
	size_t start = x->lx.at;

	while (x->lx.at < x->lx.end && !is_special(x->lx.text[x->lx.at], quoted))
		lexer_advance(&x->lx);
	add(x, x->lx.text + start, x->lx.at - start);
}

static void expand_escape(struct expansion *x, bool quoted)
{
	char c = x->lx.end - x->lx.at > 1 ? x->lx.text[x->lx.at + 1] : '\\';

	lexer_advance_escaped(&x->lx);
	if (c == '\n')
		return;
	if (quoted && !strchr("$`\"\\", c))
		add(x, "\\", 1);
	add(x, &c, 1);
}

/* Expands what begins with no quote. */
static void expand_piece(struct expansion *x, bool quoted)
{
	char c = x->lx.text[x->lx.at];

	if (c == '$')
		expand_dollar(x, quoted);
	else if (c == '`')
		expand_backtick(x, quoted);
	else if (c == '\\')
		expand_escape(x, quoted);
	else
		expand_plain(x, quoted);
}

static void expand_double(struct expansion *x)
{
	x->lx.at++;
	add(x, "", 0);
	while (x->lx.at < x->lx.end && x->lx.text[x->lx.at] != '"')
		expand_piece(x, true);
	x->lx.at++;
}

static void expand_single(struct expansion *x)
{
	size_t start = ++x->lx.at;

	lexer_single(&x->lx);
	add(x, x->lx.text + start, x->lx.at - start - (x->lx.state == LEXER_GOOD));
}

static void expand(struct expansion *x)
{
	while (x->lx.at < x->lx.end) {
		if (x->lx.text[x->lx.at] == '\'')
			expand_single(x);
		else if (x->lx.text[x->lx.at] == '"')
			expand_double(x);
		else
			expand_piece(x, false);
	}
}

static struct lexer on_token(struct shell *sh, struct token token)
{
	size_t at = (size_t)(token.text.text - sh->text.text);

	return (struct lexer){
		.text = sh->text.text,
		.at = at,
		.end = at + token.text.length,
		.line = token.at.line,
		.line_start = at - (size_t)(token.at.column - 1),
	};
}

void shell_expand(struct shell *sh, struct command *c, struct token token, bool split)
{
	struct expansion x = {
		sh,       c,   on_token(sh, token), split, false, c->text.length, false, false,
		token.at, NULL};
	size_t words = c->count;

	expand(&x);
	end_word(&x);
	if (c->count > words)
		c->words[c->count - 1].quoted = shell_quoted(token.text);
}

/* The elements of an array, with borders between. */
static void expand_array(struct expansion *x)
{
	struct lexer in = x->lx;
	struct token t;
	bool first = true;

	in.at++;
	in.end--;
	while ((t = lexer_next(&in)).kind != TOKEN_END) {
		if (t.kind != TOKEN_WORD)
			continue;
		if (!first)
			add(x, (const char[]){SHELL_BORDER}, 1);
		first = false;
		x->lx = on_token(x->sh, t);
		expand(x);
	}
}

/* The value of a token that the shell does not change, as a part of the script's text, which may be
 * long; .text NULL: it is another token. */
static struct span literal(struct span text)
{
	char quote = text.length > 1 ? *text.text : '\0';
	bool quoted = (quote == '\'' || quote == '"') && text.text[text.length - 1] == quote;

	if (text.length && *text.text == '(')
		return NO_SPAN;
	if (quoted)
		text = (struct span){text.text + 1, text.length - 2};
	for (size_t i = 0; i < text.length; i++)
		if ((quoted && quote == '\'') ? text.text[i] == quote
					      : strchr("'\"$`\\", text.text[i]) != NULL)
			return NO_SPAN;
	return text;
}

void shell_value(struct shell *sh, struct command *c, struct token token, struct setting *ret)
{
	struct expansion x = {
		sh,       c,   on_token(sh, token), false, false, c->text.length, false, false,
		token.at, NULL};
	size_t start = c->text.length;

	ret->value = literal(token.text);
	if (ret->value.text)
		return;
	if (token.text.length > 1 && *token.text.text == '(' &&
	    token.text.text[token.text.length - 1] == ')')
		expand_array(&x);
	else
		expand(&x);
	ret->derived = x.derived;
	ret->source = x.source;
	ret->value =
		(struct span){c->text.text ? c->text.text + start : "", c->text.length - start};
	if (!shell_affords(sh, ret->value.length))
		ret->value = (struct span){"", 1}; /* SHELL_UNKNOWN */
	ret->value = shell_keep(sh, ret->value);
	c->text.length = start;
}

/* The text between the quotes of a word that is nothing else, and in which the shell replaces only
 * variables. */
struct span shell_quoted(struct span word)
{
	struct span inside;
	char quote;

	span_skip(&word, "--wrap=");
	if (word.length < 2)
		return NO_SPAN;
	quote = *word.text;
	inside = (struct span){word.text + 1, word.length - 2};
	if ((quote != '\'' && quote != '"') || word.text[word.length - 1] != quote ||
	    memchr(inside.text, quote, inside.length))
		return NO_SPAN;
	if (quote == '"' && (span_before(inside, "\\`") < inside.length || span_has(inside, "$(")))
		return NO_SPAN;
	return inside;
}

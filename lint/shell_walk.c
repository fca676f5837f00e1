/* SPDX-License-Identifier: MIT */
/* The grammar of the shell, as far as it decides what runs and when. */
#include "lint/shell_script.h"

struct walk {
	struct shell *sh;
	struct lexer *lx;
	struct token t; /* the next token */
	int base;       /* frames below belong to an outer walk */
	bool piped;     /* the command reads from a pipe, so it is a subshell */
	bool function;  /* the next compound command is a function's body */
};

static void next(struct walk *w)
{
	w->t = lexer_next(w->lx);
}

static bool operator_is(const struct walk *w, const char *text)
{
	return w->t.kind == TOKEN_OPERATOR && span_is(w->t.text, text);
}

static bool word_is(const struct walk *w, const char *text)
{
	return w->t.kind == TOKEN_WORD && span_is(w->t.text, text);
}

static void push(struct walk *w, enum frame_kind kind)
{
	if (!shell_push(w->sh, kind, w->t.at) && w->lx->state == LEXER_GOOD) {
		w->lx->state = LEXER_TOO_DEEP;
		w->lx->wrong = w->t.at;
		w->t.kind = TOKEN_END;
	}
}

static void end_chain(struct walk *w)
{
	while (w->sh->frame_count > w->base && shell_frame(w->sh)->chain)
		shell_pop(w->sh);
	w->piped = false;
}

/* Leaves frames up to the innermost of a kind. False: there is none in this subshell. */
static bool leave(struct walk *w, enum frame_kind kind, enum frame_kind other, struct frame *left)
{
	struct shell *sh = w->sh;
	int i = sh->frame_count - 1;

	while (i >= w->base && sh->frames[i].kind != kind && sh->frames[i].kind != other &&
	       sh->frames[i].kind != FRAME_SUBSHELL && sh->frames[i].kind != FRAME_FUNCTION)
		i--;
	if (i < w->base || (sh->frames[i].kind != kind && sh->frames[i].kind != other))
		return false;
	*left = sh->frames[i];
	while (sh->frame_count > i)
		shell_pop(sh);
	return true;
}

/* Branches inside the innermost frame of a kind end. */
static struct frame *branches_end(struct walk *w, enum frame_kind kind)
{
	struct shell *sh = w->sh;

	while (sh->frame_count > w->base && shell_frame(sh)->kind == FRAME_BRANCH)
		shell_pop(sh);
	return sh->frame_count > w->base && shell_frame(sh)->kind == kind ? shell_frame(sh) : NULL;
}

static void operators(struct walk *w)
{
	if (operator_is(w, "&&") || operator_is(w, "||")) {
		/* After || it is not known how much of the first part ran. */
		if (!shell_frame(w->sh)->chain || operator_is(w, "||")) {
			end_chain(w);
			push(w, FRAME_BRANCH);
			shell_frame(w->sh)->chain = true;
		}
		w->piped = false;
		next(w);
	} else if (operator_is(w, "|") || operator_is(w, "|&")) {
		w->piped = true;
		next(w);
	} else if (operator_is(w, "&") || operator_is(w, ";") || w->t.kind == TOKEN_NEWLINE) {
		end_chain(w);
		next(w);
	}
}

/* Ends a compound command. */
static void close(struct walk *w, enum frame_kind kind, enum frame_kind other)
{
	struct frame left;

	end_chain(w);
	if (!leave(w, kind, other, &left)) {
		next(w);
		return;
	}
	do
		next(w);
	while (w->t.kind == TOKEN_REDIRECTION);
	jobs_close(w->sh, &left, operator_is(w, "&"));
	operators(w);
}

/* The words up to the end of the line, or up to the closing bracket. */
static struct command *words(struct walk *w, const char *close)
{
	struct command *c = shell_fresh(w->sh);

	while (w->t.kind != TOKEN_END && !(close && word_is(w, close)) &&
	       (close || (w->t.kind != TOKEN_NEWLINE && w->t.kind != TOKEN_OPERATOR))) {
		if (w->t.kind == TOKEN_WORD)
			shell_expand(w->sh, c, w->t, true);
		next(w);
	}
	shell_inner(w->sh, c);
	return c;
}

static void arithmetic(struct walk *w)
{
	/* Any name in it may have got a value. */
	shell_forget_names(w->sh, lexer_arithmetic(w->lx));
	if (w->lx->at < w->lx->end && w->lx->text[w->lx->at] == ')')
		w->lx->at++;
	next(w);
	operators(w);
}

static void loop_for(struct walk *w)
{
	struct span name;

	push(w, FRAME_LOOP);
	next(w);
	if (operator_is(w, "(")) {
		w->lx->at += w->lx->at < w->lx->end;
		arithmetic(w);
		return;
	}
	name = w->t.text;
	if (w->t.kind != TOKEN_WORD || shell_name(name) != name.length)
		return;
	shell_forget(w->sh, name);
	next(w);
	while (w->t.kind == TOKEN_NEWLINE)
		next(w);
	if (word_is(w, "in"))
		shell_frame(w->sh)->rounds = shell_rounds(words(w, NULL));
}

static void case_begin(struct walk *w)
{
	struct command *c = shell_fresh(w->sh);

	next(w);
	if (w->t.kind == TOKEN_WORD)
		shell_expand(w->sh, c, w->t, true);
	shell_inner(w->sh, c);
	while (w->t.kind != TOKEN_END && !word_is(w, "in"))
		next(w);
	push(w, FRAME_CASE);
	shell_frame(w->sh)->patterns = true;
	next(w);
}

static void case_pattern(struct walk *w)
{
	if (word_is(w, "esac")) {
		close(w, FRAME_CASE, FRAME_CASE);
		return;
	}
	if (!operator_is(w, ")")) {
		next(w);
		return;
	}
	shell_frame(w->sh)->patterns = false;
	push(w, FRAME_BRANCH);
	next(w);
}

static void case_item_end(struct walk *w)
{
	struct frame *frame = branches_end(w, FRAME_CASE);

	if (frame)
		frame->patterns = true;
	next(w);
}

static void branch(struct walk *w)
{
	if (branches_end(w, FRAME_IF))
		push(w, FRAME_BRANCH);
	next(w);
}

/* Handles the words of the grammar. False: it is an ordinary command. */
static bool reserved(struct walk *w)
{
	struct span s = w->t.text;

	if (!span_is_any(s, "if then else elif fi while until for select do done case esac { } "
			    "[[ !"))
		return false;
	if (span_is(s, "if")) {
		push(w, FRAME_IF);
		next(w);
	} else if (span_is_any(s, "then else")) {
		branch(w);
	} else if (span_is(s, "elif")) {
		branches_end(w, FRAME_IF);
		next(w);
	} else if (span_is(s, "fi")) {
		close(w, FRAME_IF, FRAME_IF);
	} else if (span_is_any(s, "while until")) {
		push(w, FRAME_LOOP);
		shell_frame(w->sh)->waiting = true;
		next(w);
	} else if (span_is_any(s, "for select")) {
		loop_for(w);
	} else if (span_is(s, "done")) {
		close(w, FRAME_LOOP, FRAME_LOOP);
	} else if (span_is(s, "case")) {
		case_begin(w);
	} else if (span_is(s, "esac")) {
		close(w, FRAME_CASE, FRAME_CASE);
	} else if (span_is(s, "{")) {
		push(w, w->function ? FRAME_FUNCTION : FRAME_BRACES);
		w->function = false;
		next(w);
	} else if (span_is(s, "}")) {
		close(w, FRAME_BRACES, FRAME_FUNCTION);
	} else if (span_is(s, "[[")) {
		words(w, "]]");
		next(w);
		operators(w);
	} else {
		next(w); /* do, ! */
	}
	return true;
}

static void function(struct walk *w, struct span name)
{
	shell_var(w->sh, name)->function = true;
	w->function = w->sh->functions = true;
	next(w);
	while (w->t.kind == TOKEN_NEWLINE || operator_is(w, "(") || operator_is(w, ")"))
		next(w);
}

static bool before_brackets(const struct walk *w)
{
	size_t i = w->lx->at;

	while (i < w->lx->end && w->lx->text[i] == ' ')
		i++;
	if (i >= w->lx->end || w->lx->text[i++] != '(')
		return false;
	while (i < w->lx->end && w->lx->text[i] == ' ')
		i++;
	return i < w->lx->end && w->lx->text[i] == ')';
}

/* Notes what follows the sign of a redirection. */
static void mention(struct walk *w)
{
	const char *begin = w->t.text.text + w->t.text.length;
	struct span file = {begin, (size_t)(w->lx->text + w->lx->at - begin)};

	shell_mention(w->sh, file);
	/* > train.py makes a program that is started later. */
	w->sh->moved |= memchr(w->t.text.text, '>', w->t.text.length) && span_has(file, ".py");
}

static void simple(struct walk *w)
{
	struct shell *sh = w->sh;
	struct command *c = shell_fresh(sh);
	bool lasting, background;

	c->begin = w->t.text.text;
	while (w->t.kind == TOKEN_WORD || w->t.kind == TOKEN_REDIRECTION) {
		if (w->t.kind == TOKEN_WORD)
			shell_word(sh, c, w->t);
		else
			mention(w);
		next(w);
	}
	if (sh->crowded)
		return;
	shell_inner(sh, c);
	background = operator_is(w, "&");
	lasting = !background && !w->piped && !operator_is(w, "|") && !operator_is(w, "|&");
	if (!c->count)
		shell_assign(sh, c, lasting);
	else if (!shell_mistake(sh, c) && !shell_builtin(sh, c, lasting))
		shell_run(sh, c, background);
	operators(w);
}

static void bracket(struct walk *w)
{
	struct lexer *lx = w->lx;

	if (lx->at < lx->end && lx->text[lx->at] == '(') {
		lx->at++;
		arithmetic(w);
		return;
	}
	push(w, w->function ? FRAME_FUNCTION : FRAME_SUBSHELL);
	w->function = false;
	next(w);
}

static void command(struct walk *w)
{
	if (shell_frame(w->sh)->patterns && shell_frame(w->sh)->kind == FRAME_CASE)
		case_pattern(w);
	else if (operator_is(w, "("))
		bracket(w);
	else if (operator_is(w, ")"))
		close(w, FRAME_SUBSHELL, FRAME_FUNCTION);
	else if (w->t.kind == TOKEN_OPERATOR && span_starts(w->t.text, ";") && w->t.text.length > 1)
		case_item_end(w);
	else if (w->t.kind == TOKEN_OPERATOR || w->t.kind == TOKEN_NEWLINE) {
		end_chain(w);
		next(w);
	} else if (w->t.kind == TOKEN_REDIRECTION) {
		next(w);
	} else if (word_is(w, "function")) {
		next(w);
		function(w, w->t.text);
	} else if (before_brackets(w) && shell_name(w->t.text)) {
		function(w, w->t.text);
	} else if (!reserved(w)) {
		simple(w);
	}
}

void shell_walk(struct shell *sh, struct lexer *lx)
{
	struct walk w = {.sh = sh, .lx = lx, .base = sh->frame_count};

	next(&w);
	while (w.t.kind != TOKEN_END && !sh->crowded)
		command(&w);
	while (sh->frame_count > w.base)
		shell_pop(sh);
}

/* --- the words of a command ------------------------------------------------------------------ */

struct command *shell_fresh(struct shell *sh)
{
	struct command *c = &sh->commands[sh->level];

	c->text.length = 0;
	c->count = c->prefix_count = c->inner_count = 0;
	c->reads_list = false;
	c->begin = NULL;
	return c;
}

void shell_inner(struct shell *sh, struct command *c)
{
	if (sh->level + 1 == SHELL_COMMANDS)
		return;
	sh->level++;
	for (size_t i = 0; i < c->inner_count; i++) {
		struct lexer lx = c->inner[i].lexer;

		if (!shell_push(sh, FRAME_SUBSHELL, lexer_place(&lx)))
			break;
		shell_walk(sh, &lx);
		if (sh->job_count > shell_frame(sh)->jobs)
			sh->job_count = shell_frame(sh)->jobs;
		shell_pop(sh);
	}
	sh->level--;
}

int64_t shell_rounds(const struct command *c)
{
	for (size_t i = 1; i < c->count; i++) {
		struct span s = word_text(c, i);

		if (c->words[i].loose || !span_known(s) || span_before(s, "*{?") < s.length)
			return -1;
	}
	return (int64_t)c->count - 1;
}

static void add_prefix(struct shell *sh, struct command *c, struct token t)
{
	size_t n = shell_name(t.text);
	bool adds = t.text.text[n] == '+';
	struct prefix prefix = {
		.name = {t.text.text, n},
		.set = {.state = SET_VALUE, .exported = EXPORT_YES, .at = t.at},
		.adds = adds,
		.argument = c->count > 0,
	};
	struct token value = t;

	value.text.text += n + adds + 1;
	value.text.length -= n + adds + 1;
	value.at.column += (int)(n + adds) + 1;
	shell_value(sh, c, value, &prefix.set);
	*ARRAY_NEXT(c->prefixes, c->prefix_count, c->prefix_room) = prefix;
}

static bool is_assignment(struct span s)
{
	size_t n = shell_name(s);

	n += n && n < s.length && s.text[n] == '+';
	return n && n < s.length && s.text[n] == '=';
}

static bool declares(const struct command *c)
{
	struct span s = word_text(c, 0);

	return span_is_any(s, "export declare typeset local readonly");
}

void shell_word(struct shell *sh, struct command *c, struct token t)
{
	if (is_assignment(t.text) && (!c->count || declares(c)))
		add_prefix(sh, c, t);
	else
		shell_expand(sh, c, t, true);
}

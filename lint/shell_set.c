/* SPDX-License-Identifier: MIT */
/* How a script sets variables: assignments, export, unset, read and the like. */
#include "lint/shell_script.h"

#include "lint/environment.h"
#include "request/request.h"
#include "suggest.h"

enum export_change { EXPORT_KEEP, EXPORT_ADD, EXPORT_REMOVE };

/* Reports a setting that no program will use: it is replaced, or the script ends. */
static void report_hidden(struct shell *sh, const struct shell_var *var)
{
	const struct setting *now = &var->now;

	if (now->used || !now->over.line || now->state != SET_VALUE)
		return;
	shell_report(sh, FINDING_OVERWRITTEN, now->over, "S2",
		     "remove one of the two: the one before the command holds",
		     "%s here overrules the one exported in line %d, which no program uses",
		     QUOTE(var->name), now->at.line);
}

/* Whether a statement here surely runs if one of that scope does: it is in the same one, or in a
 * loop that has rounds. */
static bool runs_after(struct shell *sh, unsigned scope)
{
	const struct frame *frame = shell_frame(sh);

	if (frame->kind == FRAME_LOOP && frame->rounds > 0 && sh->frame_count > 1)
		return frame[-1].scope == scope || frame->scope == scope;
	return frame->scope == scope;
}

static void report_overwritten(struct shell *sh, const struct shell_var *var, struct span value,
			       struct place at)
{
	struct setting old = var->now;

	report_hidden(sh, var);
	if (old.used || old.over.line || old.state != SET_VALUE || !old.at.line ||
	    old.serial < sh->sourced || !runs_after(sh, old.scope) || shell_in(sh, FRAME_FUNCTION))
		return;
	if (span_same(old.value, value))
		return;
	shell_report(sh, FINDING_OVERWRITTEN, at, "S2", "remove one of the two",
		     "%s of line %d is replaced here before any program has used it",
		     SHOW(var->name, old.value), old.at.line);
}

void shell_report_unread(struct shell *sh, struct span name, struct place at)
{
	shell_report(sh, FINDING_MISSPELT_VARIABLE, at, "S7",
		     DID_YOU_MEAN(unread_variable(name), NULL), "%s reads %s",
		     misspelt_variable(name) ? "no program" : "neither CUDA nor PyTorch",
		     QUOTE(name));
}

static void note_misspelt(struct shell_var *var, struct place at, bool exports)
{
	/* Reported once for each name. One that is invented may be the script's own. */
	if (!var->now.serial &&
	    (misspelt_variable(var->name) || (exports && unread_variable(var->name))))
		var->misspelt = at;
}

static struct span joined(struct shell *sh, struct span a, struct span b)
{
	struct strbuf buf = {0};
	struct span value = {"", 1}; /* SHELL_UNKNOWN */

	if (a.length + b.length + 1 > SHELL_EXPANDED || !shell_affords(sh, a.length + b.length + 1))
		return value;
	strbuf_add(&buf, a.text, a.length);
	if (memchr(a.text, SHELL_BORDER, a.length) || memchr(b.text, SHELL_BORDER, b.length))
		strbuf_add(&buf, (const char[]){SHELL_BORDER}, 1);
	strbuf_add(&buf, b.text, b.length);
	value.length = buf.length;
	value.text = strbuf_keep(&buf, &sh->arena);
	return value;
}

static void assign(struct shell *sh, const struct prefix *p, enum export_change change,
		   bool lasting)
{
	struct shell_var *var = shell_var(sh, p->name), *tracked = shell_tracked(sh, p->name);
	struct setting old = shell_setting(sh, var), setting = p->set;

	setting.exported = old.exported;
	note_misspelt(var, p->set.at, change == EXPORT_ADD || sh->allexport);
	if (p->adds && old.state == SET_VALUE)
		setting.value = joined(sh, old.value, p->set.value);
	else if (p->adds && old.state != SET_NOT)
		setting.state = SET_UNKNOWN;
	if (setting.state == SET_VALUE && tracked == &sh->vars[TRACKED_LIST])
		shell_check_list(sh, setting.value, p->set.at);
	else if (setting.state == SET_VALUE && tracked == &sh->vars[TRACKED_ORDER])
		shell_check_order(sh, setting.value, p->set.at);
	if (!lasting)
		return;
	if (!p->adds && tracked && tracked->now.serial)
		report_overwritten(sh, var, p->set.value, p->set.at);
	if (change == EXPORT_ADD || sh->allexport)
		setting.exported = EXPORT_YES;
	else if (change == EXPORT_REMOVE)
		setting.exported = EXPORT_NO;
	shell_set(sh, var, setting);
}

void shell_join(struct shell *sh, struct command *c)
{
	for (size_t i = 0; i < c->prefix_count; i++) {
		struct prefix *p = &c->prefixes[i];
		struct shell_var *var;
		struct setting old;

		if (!p->adds || p->argument)
			continue;
		var = shell_var(sh, p->name);
		old = shell_setting(sh, var);
		if (old.state == SET_VALUE)
			p->set.value = joined(sh, old.value, p->set.value);
		else if (old.state != SET_NOT)
			p->set.value = (struct span){"", 1}; /* SHELL_UNKNOWN */
		var->now.used = true;
		p->adds = false;
	}
}

void shell_assign(struct shell *sh, struct command *c, bool lasting)
{
	for (size_t i = 0; i < c->prefix_count; i++)
		assign(sh, &c->prefixes[i], EXPORT_KEEP, lasting);
}

static void change_export(struct shell *sh, struct span name, enum export_change change)
{
	struct shell_var *var = shell_var(sh, name);
	struct setting setting;

	if (change == EXPORT_KEEP)
		return;
	setting = shell_setting(sh, var);
	setting.exported = change == EXPORT_ADD ? EXPORT_YES : EXPORT_NO;
	if (change == EXPORT_ADD && unread_variable(name) && !var->misspelt.line)
		var->misspelt = setting.at;
	if (setting.exported == EXPORT_YES && var->misspelt.line)
		var->referenced = false;
	shell_set(sh, var, setting);
}

static void declare(struct shell *sh, const struct command *c, bool lasting)
{
	enum export_change change = span_is(word_text(c, 0), "export") ? EXPORT_ADD : EXPORT_KEEP;

	for (size_t i = 1; i < c->count; i++) {
		struct span s = word_text(c, i);

		/* srun may run such a function on every node. */
		sh->remote |= span_starts(s, "-") && memchr(s.text, 'f', s.length);
		if (span_starts(s, "-") && span_is(word_text(c, 0), "export"))
			change = memchr(s.text, 'n', s.length) ? EXPORT_REMOVE : change;
		else if (span_starts(s, "-") && memchr(s.text, 'x', s.length))
			change = EXPORT_ADD;
		else if (span_starts(s, "+") && memchr(s.text, 'x', s.length))
			change = EXPORT_REMOVE;
		else if (shell_name(s) == s.length && s.length && lasting)
			change_export(sh, s, change);
	}
	for (size_t i = 0; i < c->prefix_count; i++)
		if (c->prefixes[i].argument)
			assign(sh, &c->prefixes[i], change, lasting);
}

static void unset(struct shell *sh, const struct command *c)
{
	for (size_t i = 1; i < c->count; i++) {
		struct span s = word_text(c, i);
		struct shell_var *var;

		if (!s.length || shell_name(s) != s.length)
			continue;
		var = shell_var(sh, s);
		report_hidden(sh, var);
		shell_set(sh, var, (struct setting){.state = SET_NOT, .exported = EXPORT_NO});
	}
}

static void options(struct shell *sh, const struct command *c)
{
	for (size_t i = 1; i < c->count; i++) {
		struct span s = word_text(c, i);
		bool on = span_starts(s, "-");

		if (!on && !span_starts(s, "+"))
			return;
		if (span_is(word_text(c, i + 1), "allexport") ||
		    (s.length > 1 && s.text[1] != '-' && memchr(s.text, 'a', s.length)))
			sh->allexport = on;
	}
}

/* A file or a text that is read as part of the script may set anything. */
static void sourced(struct shell *sh, struct command *c)
{
	struct span file = base_name(word_text(c, 1));

	slurm_check_list(sh, &(struct run){.c = c});
	/* Those that set up an environment stay in the folder. */
	sh->moved |= span_is_any(word_text(c, 0), "source .") &&
		     !span_is_any(file, "activate conda.sh mamba.sh profile .profile .bashrc "
					"bashrc setvars.sh");
	sh->sourced = ++sh->serial;
	for (int i = 0; i < TRACKED_COUNT; i++)
		sh->vars[i].now.used = true;
}

static void leave_loops(struct shell *sh, bool waits)
{
	for (int i = 0; i < sh->frame_count; i++) {
		sh->frames[i].rounds = -1;
		sh->frames[i].waits |= waits;
	}
}

bool shell_builtin(struct shell *sh, struct command *c, bool lasting)
{
	struct span s = word_text(c, 0);

	if (span_is_any(s, "export declare typeset local readonly")) {
		declare(sh, c, lasting);
	} else if (span_is(s, "unset")) {
		if (lasting)
			unset(sh, c);
	} else if (span_is(s, "set")) {
		options(sh, c);
	} else if (span_is_any(s, "source . eval")) {
		sourced(sh, c);
	} else if (span_is_any(s, "read mapfile readarray getopts let") ||
		   (span_is(s, "printf") && span_is(word_text(c, 1), "-v"))) {
		for (size_t i = 1; i < c->count; i++)
			if (word_text(c, i).length)
				shell_forget(sh, (struct span){word_text(c, i).text,
							       shell_name(word_text(c, i))});
	} else if (span_is(s, "wait")) {
		jobs_waited(sh);
		leave_loops(sh, true);
	} else if (span_is_any(s, "break continue return exit")) {
		leave_loops(sh, false);
	} else if (span_is_any(s, "kill jobs fg bg trap pgrep")) {
		sh->watched = true;
		if (span_is_any(s, "kill fg pgrep"))
			jobs_may_have_ended(sh);
		leave_loops(sh, true);
	} else {
		return false;
	}
	return true;
}

void shell_unused(struct shell *sh)
{
	for (int i = 0; i < TRACKED_COUNT; i++) {
		const struct shell_var *var = &sh->vars[i];
		const struct setting *now = &var->now;

		report_hidden(sh, var);
		if (is_given(now) && !now->used && !now->over.line && sh->program &&
		    sh->program < now->serial)
			shell_report(sh, FINDING_SET_TOO_LATE, now->at, "S2",
				     "set it before the command that needs it",
				     "no program is started after %s is set here",
				     QUOTE(var->name));
	}
	for (size_t i = 0; i < sh->var_count; i++) {
		const struct shell_var *var = &sh->vars[i];

		if (var->misspelt.line && !var->referenced &&
		    (sh->program || misspelt_variable(var->name)))
			shell_report_unread(sh, var->name, var->misspelt);
	}
}

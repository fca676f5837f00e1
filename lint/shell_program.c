/* SPDX-License-Identifier: MIT */
/* Programs: their names, the variables that reach them, the script of a shell's -c, and wrappers
 * before the program, such as env, sudo and nohup, which may drop the environment (rule S8). */
#include "lint/shell_script.h"

bool is_program(struct span word, const char *name)
{
	return span_is(base_name(word), name);
}

bool is_python(struct span word)
{
	struct span s = base_name(word);

	if (!span_starts(s, "python"))
		return false;
	for (size_t i = strlen("python"); i < s.length; i++)
		if (!is_digit(s.text[i]) && s.text[i] != '.')
			return false;
	return true;
}

bool is_gpu_program(const struct command *c, size_t first)
{
	struct span s = base_name(word_text(c, first));

	return launcher_program(s) || is_python(s) || is_python_file(s);
}

const struct prefix *command_prefix(const struct command *c, struct span name)
{
	for (size_t i = c->prefix_count; i-- > 0;)
		if (!c->prefixes[i].argument && span_same(c->prefixes[i].name, name))
			return &c->prefixes[i];
	return NULL;
}

struct setting run_setting(struct shell *sh, const struct run *run, enum tracked tracked)
{
	const struct prefix *p = command_prefix(run->c, span_of(tracked_name(tracked)));

	return p ? p->set : shell_setting(sh, &sh->vars[tracked]);
}

/* Skips the options of a shell after word `first`. Returns the next word. */
static size_t behind_options(const struct command *c, size_t first, bool *commands)
{
	size_t i = first + 1;

	for (; i < c->count; i++) {
		struct span s = word_text(c, i);
		char last = s.length ? s.text[s.length - 1] : '\0';

		if (s.length < 2 || (*s.text != '-' && *s.text != '+'))
			break;
		if (span_is_any(s, "--rcfile --init-file"))
			i++;
		if (span_starts(s, "--"))
			continue;
		*commands |= *s.text == '-' && memchr(s.text, 'c', s.length);
		i += last == 'o' || last == 'O';
	}
	return i < c->count ? i : c->count;
}

size_t shell_string_word(const struct command *c, size_t first)
{
	bool commands = false;
	size_t word;

	if (first >= c->count ||
	    !span_is_any(base_name(word_text(c, first)), "sh bash dash ash ksh zsh"))
		return c->count;
	word = behind_options(c, first, &commands);
	return commands ? word : c->count;
}

/* --- wrappers before a program --------------------------------------------------------------- */

static const struct wrapper {
	const char *name;
	const char *values; /* letters of options that take the next word */
	int operands;       /* words before the program */
} wrappers[] = {
	{"nohup", "", 0},     {"time", "fo", 0},         {"nice", "n", 0},
	{"ionice", "cnp", 0}, {"timeout", "ks", 1},      {"stdbuf", "ioe", 0},
	{"setsid", "", 0},    {"taskset", "", 1},        {"numactl", "NmCip", 0},
	{"exec", "a", 0},     {"command", "", 0},        {"unbuffer", "", 0},
	{"env", "uCS", 0},    {"sudo", "ugpChrtTDR", 0},
};

static const struct wrapper *find(struct span word)
{
	word = base_name(word);
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (span_is(word, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

/* Reports the variables that the script sets, that the program needs, and that are lost. */
static void report_lost(struct shell *sh, struct run *run, size_t word, const char *how,
			const char *fix)
{
	static const enum tracked needed[] = {TRACKED_LIST, TRACKED_ORDER};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		struct setting now = run_setting(sh, run, needed[i]);

		if (is_given(&now))
			shell_report(sh, FINDING_LOST_VARIABLE, run->c->words[word].at, "S8", fix,
				     "%s of line %d is lost: %s",
				     SHOW(sh->vars[needed[i]].name, now.value), now.at.line, how);
	}
}

static void add_prefix(struct command *c, size_t word, struct span name, struct span value)
{
	*ARRAY_NEXT(c->prefixes, c->prefix_count, c->prefix_room) =
		(struct prefix){.name = name,
				.set = {.state = SET_VALUE,
					.exported = EXPORT_YES,
					.value = value,
					.at = c->words[word].at,
					.derived = c->words[word].derived}};
}

/* NAME=VALUE after env or sudo. */
static bool assignment(struct shell *sh, struct command *c, size_t i)
{
	struct span s = word_text(c, i);
	size_t n = shell_name(s);

	if (!n || n >= s.length || s.text[n] != '=')
		return false;
	add_prefix(c, i, (struct span){s.text, n}, shell_keep(sh, span_from(s, s.text + n + 1)));
	return true;
}

struct seen {
	bool clears, keeps; /* env -i, sudo -E */
	size_t prefixes;    /* before this wrapper */
};

static void option(struct run *run, size_t i, const char *name, struct seen *seen)
{
	struct span s = word_text(run->c, i);

	if (streq(name, "env") && span_is_any(s, "-i --ignore-environment"))
		seen->clears = true;
	if (streq(name, "env") && span_is(s, "-u"))
		add_prefix(run->c, i, word_text(run->c, i + 1), (struct span){"", 1});
	if (streq(name, "sudo") && span_starts_any(s, "--preserve-env -E"))
		seen->keeps = true;
}

static bool has_prefix_since(const struct command *c, size_t since, const char *name)
{
	for (size_t i = since; i < c->prefix_count; i++)
		if (span_is(c->prefixes[i].name, name))
			return true;
	return false;
}

static void boundary(struct shell *sh, struct run *run, const struct wrapper *w, size_t at,
		     const struct seen *seen)
{
	bool given = has_prefix_since(run->c, seen->prefixes, tracked_name(TRACKED_LIST));

	if (seen->clears)
		run->cleared = true;
	run->dropped |= seen->clears || (streq(w->name, "sudo") && !seen->keeps && !given);
	if (given || !is_gpu_program(run->c, run->first))
		return;
	if (seen->clears)
		report_lost(sh, run, at, "env -i clears the environment",
			    "name the variable after env -i");
	else if (streq(w->name, "sudo") && !seen->keeps)
		report_lost(sh, run, at, "sudo drops it unless sudoers keeps it",
			    "write sudo CUDA_VISIBLE_DEVICES=... before the program");
}

/* Moves run->first past one wrapper and its options. */
static void unwrap(struct shell *sh, struct run *run, const struct wrapper *w)
{
	struct command *c = run->c;
	struct seen seen = {.prefixes = c->prefix_count};
	int operands = w->operands;
	bool sets = streq(w->name, "env") || streq(w->name, "sudo");
	size_t at = run->first, i = at + 1;

	run->nohup |= streq(w->name, "nohup") || streq(w->name, "setsid");
	for (; i < c->count; i++) {
		struct span s = word_text(c, i);

		if (span_is(s, "--")) {
			i++;
			break;
		}
		if (is_option(s) || span_is(s, "-")) {
			option(run, i, w->name, &seen);
			i += s.length == 2 && strchr(w->values, s.text[1]);
		} else if (sets && assignment(sh, c, i)) {
			continue;
		} else if (operands-- <= 0) {
			break;
		}
	}
	run->first = i < c->count ? i : c->count;
	boundary(sh, run, w, at, &seen);
}

/* Whether a word of the command contains the name of a program or a variable. */
static bool mentions(const struct command *c, size_t first, const char *text)
{
	for (size_t i = first; i < c->count; i++)
		if (span_has(word_text(c, i), text))
			return true;
	return false;
}

/* Whether it may start ranks, or one. */
static bool mentions_launch(const struct command *c, size_t first)
{
	bool found = mentions(c, first, "python");

	for (const struct launcher_program *p = launcher_programs; !found && p->name; p++)
		found = mentions(c, first, p->name);
	return found;
}

/* ... and neither the list nor an option that passes it on is in the command. */
static bool starts_without_list(const struct command *c, size_t first, const char *option)
{
	return mentions_launch(c, first) && !mentions(c, first, tracked_name(TRACKED_LIST)) &&
	       !mentions(c, first, option);
}

/* ssh and containers: the program there does not get this environment. */
static void elsewhere(struct shell *sh, struct run *run)
{
	struct command *c = run->c;
	struct span s = word_text(c, run->first), second = word_text(c, run->first + 1);

	if (is_program(s, "ssh")) {
		run->foreign = true;
		if (starts_without_list(c, run->first, "SendEnv"))
			report_lost(sh, run, run->first, "ssh does not carry it to the other host",
				    "set it inside the remote command");
	} else if ((is_program(s, "docker") || is_program(s, "podman")) &&
		   span_is_any(second, "run exec")) {
		run->foreign = true;
		if (starts_without_list(c, run->first, "--env-file"))
			report_lost(sh, run, run->first, "the container does not get it",
				    "choose devices with --gpus '\"device=...\"'");
	} else if (is_program(s, "sbatch")) {
		run->foreign = true;
		if (mentions(c, run->first, "--export=NONE"))
			report_lost(sh, run, run->first, "--export=NONE keeps it from the job",
				    "set it in the batch script");
	}
}

/* conda run -n NAME, poetry run, uv run */
static size_t behind_run(const struct command *c, size_t first)
{
	size_t i = first + 2;

	if (!span_is(word_text(c, first + 1), "run") ||
	    !span_is_any(base_name(word_text(c, first)), "conda mamba micromamba poetry uv pipenv"))
		return first;
	for (; i < c->count && is_option(word_text(c, i)); i++)
		i += span_is_any(word_text(c, i), "-n -p");
	return i < c->count ? i : c->count;
}

void shell_unwrap(struct shell *sh, struct run *run)
{
	const struct wrapper *w;

	for (;;) {
		size_t behind = behind_run(run->c, run->first);

		if (behind != run->first)
			run->first = behind;
		else if (run->first < run->c->count && (w = find(word_text(run->c, run->first))))
			unwrap(sh, run, w);
		else
			break;
	}
	if (run->first < run->c->count)
		elsewhere(sh, run);
}

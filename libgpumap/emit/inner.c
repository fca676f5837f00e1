/* SPDX-License-Identifier: MIT */
/* The program after a launcher's own options: alone, or started by gpumap exec. */
#include "emit/emit.h"

#include "text/words.h"

bool emit_needs_exec(const struct emitter *e)
{
	bool needed = e->inside;

	EACH_PLAN_KEY (k)
		if (profile_key(k)->use & NEEDS_EXEC)
			needed =
				needed || !setting_is_default(k, SETTING_OF(&e->plan->settings, k));
	return needed;
}

void emit_plan_file(struct emitter *e)
{
	char *text = NULL;
	int r;

	if (!e->inside)
		return;
	r = gpumap_plan_format(&text, e->plan, GPUMAP_FORMAT_JSON, GPUMAP_FORMAT_FLAG_ORIGINS,
			       NULL);
	if (r == GPUMAP_OK)
		emit_file(e, EMIT_PLAN_FILE, text);
	else if (e->r == GPUMAP_OK)
		e->r = r;
	if (e->node_count > 1)
		emit_remark(e, FINDING_LAUNCHER_NEEDS, "start in a folder that all hosts share",
			    "%s is read on every host", EMIT_PLAN_FILE);
}

/* --- arguments --------------------------------------------------------------------------- */

/* Arguments that are the same for all ranks. gpumap exec appends what pass_local_rank asks for. */
static char **common_arguments(struct emitter *e, size_t *count)
{
	char **arguments = NULL;

	*count = 0;
	if (e->r == GPUMAP_OK)
		e->r = gpumap_plan_rank_arguments(&arguments, e->plan, 0, e->report);
	if (arguments)
		*count = e->plan->argument_count;
	return arguments;
}

static void put_words(struct emitter *e, char **words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		emit_word(e, words[i]);
}

/* --- gpumap exec --------------------------------------------------------------------------- */

static void put_option(struct emitter *e, enum profile_key_id id)
{
	const struct gpumap_key *key = &profile_key(id)->key;

	emit_wordf(e, "%s=%s", key->option, SETTING_OF(&e->plan->settings, id)->text);
}

static void put_options(struct emitter *e)
{
	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END; i++)
		if ((profile_key(i)->use & EXEC_DOES) && emit_is_set(e, i))
			put_option(e, i);
	if (e->plan->settings.gpus.word == PLAN_GPUS_NONE)
		put_option(e, PKEY_PROFILE_gpus);
}

/* The profile's settings of the rendezvous, unless the launcher sets their variables. */
static void put_rendezvous(struct emitter *e)
{
	if (e->plan->settings.master_addr.word != PLAN_MASTER_AUTO)
		put_option(e, PKEY_PROFILE_master_addr);
	if (e->plan->settings.master_port.word != PLAN_PORT_AUTO)
		put_option(e, PKEY_PROFILE_master_port);
}

void emit_run(struct emitter *e, const char *option)
{
	if (e->plan->run_named)
		emit_wordf(e, "%s=%s", option, e->plan->run);
	e->run_passed = true;
}

void emit_exec(struct emitter *e, int port)
{
	size_t count;
	CLEANUP(job_free_arguments) char **arguments = NULL;

	emit_word(e, "gpumap");
	emit_word(e, "exec");
	if (e->inside) {
		/* The number of Slurm's job goes before the plan's name. */
		e->run_passed = e->run_passed || port != EMIT_MEET;
		emit_word(e, "--plan=" EMIT_PLAN_FILE);
		return;
	}
	emit_run(e, "--rdzv-id");
	put_options(e);
	if (port < 0)
		put_rendezvous(e);
	if (port > 0) {
		emit_wordf(e, "--master-addr=%s", e->plan->master_addr);
		emit_wordf(e, "--master-port=%d", port);
	}
	arguments = common_arguments(e, &count);
	if (count && is_python_file(span_of(arguments[0])))
		emit_word(e, "--no-python");
	emit_word(e, "--");
	put_words(e, arguments, count);
}

/* --- launchers that know Python ------------------------------------------------------------ */

/* The number of words of "python3 -u" before the file that the launcher starts by Python itself. */
static size_t python_words(char **arguments, size_t count)
{
	if (count < 3 || !streq(arguments[0], "python3") || !streq(arguments[1], "-u"))
		return 0;
	if (streq(arguments[2], "-m"))
		return count > 3 && *arguments[3] != '-' ? 3 : 0;
	return *arguments[2] != '-' ? 2 : 0;
}

/* Python's argparse takes an option of the program for one of its own, unless
 * -- comes before. */
static void end_options(struct emitter *e, char **arguments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (*arguments[i] == '-') {
			emit_word(e, "--");
			return;
		}
}

void emit_python(struct emitter *e)
{
	size_t count, skipped;
	CLEANUP(job_free_arguments) char **arguments = NULL;

	if (emit_needs_exec(e)) {
		emit_no_python(e);
		return;
	}
	arguments = common_arguments(e, &count);
	skipped = python_words(arguments, count);
	if (skipped == 3)
		emit_word(e, "--module");
	else if (!skipped)
		emit_word(e, "--no_python");
	if (count) {
		end_options(e, arguments + skipped, count - skipped);
		put_words(e, arguments + skipped, count - skipped);
	}
}

void emit_no_python(struct emitter *e)
{
	size_t count;
	CLEANUP(job_free_arguments) char **arguments = NULL;

	emit_word(e, "--no_python");
	if (emit_needs_exec(e)) {
		emit_word(e, "--");
		emit_exec(e, 0);
		return;
	}
	arguments = common_arguments(e, &count);
	end_options(e, arguments, count);
	/* accelerate 1.15 dies of such a first argument of the program. */
	if (count > 1 && (streq(arguments[1], "-") || !*arguments[1]))
		emit_word(e, "env");
	put_words(e, arguments, count);
}

bool emit_is_plain(struct emitter *e)
{
	bool plain = true;

	for (size_t i = 0; plain && i < e->plan->argument_count; i++) {
		CLEANUP(strbuf_free) struct strbuf quoted = {0};

		words_quote(&quoted, e->plan->arguments[i]);
		e->out.failed = e->out.failed || quoted.failed;
		plain = quoted.text && *quoted.text != '\'';
	}
	return plain;
}

/* SPDX-License-Identifier: MIT */
/* A complete script for sbatch. */
#include "emit/slurm.h"

#include <signal.h>

static void directive(struct emitter *e, const char *option, const char *format, ...) PRINTF(3, 4);
static void directive(struct emitter *e, const char *option, const char *format, ...)
{
	va_list args;

	emit_printf(e, "#SBATCH --%s=", option);
	va_start(args, format);
	strbuf_vprintf(&e->out, format, args);
	va_end(args);
	emit_end(e);
}

/* The job's name: the profile or the program. Unusual characters become a dash. */
static void put_name(struct emitter *e)
{
	const char *name = e->plan->profile, *slash;
	const char **arguments = e->plan->arguments;
	size_t count = e->plan->argument_count, first = 0;

	if (!name) {
		/* "python3 -u FILE" is named FILE, and "-m MODULE" is named MODULE. */
		if (count > 2 && streq(arguments[1], "-u"))
			first = count > 3 && streq(arguments[2], "-m") ? 3 : 2;
		name = arguments[first];
		slash = strrchr(name, '/');
		name = slash && slash[1] ? slash + 1 : name;
	}
	emit_puts(e, "#SBATCH --job-name=");
	for (; *name; name++) {
		bool plain = is_digit(*name) || ((*name | 32) >= 'a' && (*name | 32) <= 'z') ||
			     strchr("._-", *name);

		strbuf_add(&e->out, plain ? name : "-", 1);
	}
	emit_end(e);
}

static void put_group(struct emitter *e, const struct slurm_shape *shape,
		      const struct slurm_group *group)
{
	const struct emit_node *node = &e->nodes[group->first];
	size_t cpus = slurm_cpus(e, group);

	directive(e, "nodes", "%zu", group->count);
	if (emit_named(e))
		directive(e, "nodelist", "%s", emit_names(e, group->first, group->count, false));
	if (shape->arbitrary)
		directive(e, "ntasks", "%zu", e->ranks);
	else
		directive(e, "ntasks-per-node", "%zu", node->ranks);
	if (node->gpus)
		directive(e, "gpus-per-node", "%zu", node->gpus);
	if (cpus)
		directive(e, "cpus-per-task", "%zu", cpus);
}

/* Puts the folder if sbatch takes its path unchanged. */
static bool put_folder(struct emitter *e)
{
	const char *workdir = e->plan->settings.workdir.text;

	if (e->inside || streq(workdir, "."))
		return true;
	for (const char *c = workdir; *c; c++)
		if ((unsigned char)*c < ' ' || strchr("\"'\\#%", *c))
			return false;
	directive(e, "chdir", "\"%s\"", workdir);
	return true;
}

/* Sends a signal a minute before the end, which is the unit in which Slurm checks. The signal may
 * come a minute earlier, and so at the start of a job below two minutes. USR1 ends a program that
 * has no handler for it, so the default of `forward` does not ask for it. */
static void put_signal(struct emitter *e)
{
	if (!emit_is_set(e, PKEY_PROFILE_forward) || !emit_forwards(e, SIGUSR1))
		return;
	if (emit_seconds(e, PKEY_PROFILE_timeout) >= 120)
		directive(e, "signal", "USR1@60");
	else
		emit_remark(e, FINDING_LAUNCHER_LOSES, "write two minutes or more",
			    "the job gets no USR1: Slurm sends it a minute before the end, "
			    "and " SETTING("timeout = %s") " is too short",
			    e->plan->settings.timeout.text);
}

static void put_header(struct emitter *e, const struct slurm_shape *shape)
{
	const char *limit = slurm_limit(e);

	put_name(e);
	emit_puts(e, "#SBATCH --output=%x-%j.log\n");
	if (limit) {
		directive(e, "time", "%s", limit);
		put_signal(e);
	}
	for (size_t i = 0; i < shape->count; i++) {
		if (i)
			emit_puts(e, "#SBATCH hetjob\n");
		put_group(e, shape, &shape->groups[i]);
	}
}

static void put_line(struct emitter *e, const char *command, const char *word)
{
	emit_puts(e, command);
	emit_word(e, word);
	emit_end(e);
}

/* Jobs that share a host get different ports. Outside of a job, as when the script is tried by sh,
 * the shell's process id replaces the job's. */
static void put_port(struct emitter *e)
{
	if (!job_sets_ranks(e->plan, (int64_t)e->ranks) ||
	    e->plan->settings.master_port.word != PLAN_PORT_AUTO)
		return;
	emit_printf(e, "export MASTER_PORT=$((%d + ${SLURM_JOB_ID:-$$} %% %d))\n", JOB_FIRST_PORT,
		    JOB_PORTS);
}

static void put_body(struct emitter *e, const struct slurm_shape *shape, bool folder)
{
	struct emit_variables variables;

	emit_puts(e, "\nset -eu\n");
	if (!folder)
		put_line(e, "cd --", e->plan->settings.workdir.text);
	slurm_variables(&variables, e);
	for (size_t i = 0; i < variables.count; i++) {
		emit_puts(e, variables.all[i].value ? "export" : "unset");
		if (variables.all[i].value)
			emit_assignment(e, variables.all[i].name, variables.all[i].value);
		else
			emit_word(e, variables.all[i].name);
		emit_end(e);
	}
	put_port(e);
	if (*e->plan->settings.log_dir.text && !strchr(e->plan->settings.log_dir.text, '%'))
		put_line(e, "mkdir -p --", e->plan->settings.log_dir.text);
	emit_plan_file(e);
	slurm_put_srun(e, shape, true);
}

void emit_sbatch(struct emitter *e)
{
	struct slurm_shape shape = slurm_shape(e);
	bool folder = put_folder(e);

	put_header(e, &shape);
	put_body(e, &shape, folder);
	slurm_remarks(e);
}

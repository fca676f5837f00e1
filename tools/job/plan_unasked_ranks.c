/* SPDX-License-Identifier: MIT */
/* A program that is started several times, although nobody asked for several ranks. */
#include "job/plan_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "plan/job.h"
#include "profile/profile.h"
#include "report/report.h"
#include "rootfile.h"

enum { MAX_CODE = 4 << 20 };

/* Words of code that works with ranks, or leaves that to a framework, in lower case. */
#define RANK_WORDS \
	"rank world_size distributed ddp fsdp accelerat deepspeed lightning transformers trainer " \
	"horovod mpi4py ompi_ pmi_ nccl jax ray gpumap slurm_ torchrun mpirun srun"

/* Settings of a job that works with ranks. */
static bool asks(const gpumap_plan *plan)
{
	static const enum profile_key_id keys[] = {
		PKEY_PROFILE_ranks,          PKEY_PROFILE_world_size, PKEY_PROFILE_ranks_per_gpu,
		PKEY_PROFILE_mode,           PKEY_PROFILE_share,      PKEY_PROFILE_hosts,
		PKEY_PROFILE_pass_local_rank};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (SETTING_OF(&plan->settings, keys[i])->origin)
			return true;
	EACH_PLAN_KEY (k)
		if (key_picks_device(k) && strchr(SETTING_OF(&plan->settings, k)->text, '%'))
			return true;
	return false;
}

/* Whether the file NAME.py or the folder NAME is beside the program. */
static bool is_beside(const char *path, struct span name)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	char other[4096];

	snprintf(other, sizeof(other), "%.*s%.*s.py", folder, path, (int)name.length, name.text);
	if (!access(other, F_OK))
		return true;
	other[strlen(other) - strlen(".py")] = '\0';
	return name.length && !access(other, F_OK);
}

/* Whether a line imports a module of the program's own, which may work with ranks. */
static bool imports_beside(const char *path, struct span line)
{
	struct span words = span_trim(line), word;
	size_t i = 0;

	if (!span_split(&words, ' ', &word) || !(span_is(word, "import") || span_is(word, "from")))
		return false;
	words = span_trim(words);
	if (words.length && *words.text == '.')
		return true;
	while (i < words.length && !strchr(" .,;#", words.text[i]))
		i++;
	return i && is_beside(path, (struct span){words.text, i});
}

/* Whether the code is known to work alone. */
static bool code_works_alone(const char *path, struct span code)
{
	struct span line, statement;
	bool alone = !span_has_any(code, RANK_WORDS);

	while (alone && span_split(&code, '\n', &line))
		while (alone && span_split(&line, ';', &statement))
			alone = !imports_beside(path, statement);
	return alone;
}

static bool works_alone(const char *path)
{
	size_t size = 0;
	CLEANUP_FREE char *text = NULL;

	if (root_read("", path, MAX_CODE, &text, &size))
		return false;
	return code_works_alone(path, (struct span){text, size});
}

/* Of a command of python without a file: whether it is python -c CODE that works alone. */
static bool command_works_alone(const char *const *arguments, size_t count)
{
	size_t i = 1;

	while (i + 1 < count && *arguments[i] == '-' && !streq(arguments[i], "-c"))
		i++;
	return i + 1 < count && streq(arguments[i], "-c") &&
	       code_works_alone("", span_of(arguments[i + 1]));
}

/* Whether the program may work with ranks. What is not Python has to name a rank in its command. */
static bool may_work(const gpumap_plan *plan)
{
	const char *const *arguments = plan->arguments;
	size_t count = plan->argument_count;
	const char *code = plan_code(arguments, count);
	CLEANUP_FREE char *path = NULL;

	if (!code && count && starts_with(file_name(arguments[0]), "python") &&
	    !command_works_alone(arguments, count))
		return true;
	for (size_t i = 0; i < count; i++)
		if (strchr(arguments[i], '%') || span_has_any(span_of(arguments[i]), RANK_WORDS))
			return true;
	if (!code)
		return false;
	path = plan_code_path(plan->settings.workdir.text, code);
	return path ? !works_alone(path) : plan_script(arguments, count) != NULL;
}

void plan_remark_ranks(const gpumap_plan *plan, gpumap_report *report)
{
	const struct speech speech = job_speech(plan);
	const struct plan_host *host = job_host(plan, 0);
	size_t ranks = host ? host->layout->count : 0;

	if (!plan->answered || ranks < 2 || !host->layout->ranks[0].device_count || asks(plan))
		return;
	/* They name the ranks and the remedy already. */
	if (report_has(report, FINDING_READ_DEVICE) || report_has(report, FINDING_COPIES))
		return;
	if (!may_work(plan))
		report_add(report, FINDING_RANKS_UNASKED,
			   ABOUT(.rule = "R4", .speech = &speech,
				 .fix = SETTING("ranks = 1") " starts the program once"),
			   "this makes %zu ranks, one for each GPU", ranks);
}

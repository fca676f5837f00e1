/* SPDX-License-Identifier: MIT */
/* Rules H1, L2, L3, L5, R3 and S4: variables and statements that are seen but decide nothing. */
#include "resolve/resolve.h"

#include "request/rank_identity.h"
#include "request/slurm_grant.h"

/* A list of plain numbers; NULL: it has other entries, or memory ran out. */
static int *plain_numbers(struct resolver *resolver, const char *list, size_t *count)
{
	struct span rest = span_of(list), token;
	size_t room = 1;
	int *numbers;

	for (const char *c = list; *c; c++)
		room += *c == ',';
	*count = 0;
	if (room > GPUMAP_MAX_DEVICES)
		return NULL;
	numbers = arena_alloc(resolver->arena, room, sizeof(*numbers));
	while (numbers && span_split(&rest, ',', &token)) {
		int64_t n = span_number(token, INT32_MAX);

		if (n < 0)
			return NULL;
		numbers[(*count)++] = (int)n;
	}
	return numbers;
}

/* Whether the numbers, in any order, are 0 to count - 1. */
static bool count_from_0(struct resolver *resolver, const int *numbers, size_t count)
{
	bool *seen = arena_alloc(resolver->arena, count, sizeof(*seen));

	for (size_t i = 0; seen && i < count; i++) {
		if (numbers[i] < 0 || (size_t)numbers[i] >= count || seen[numbers[i]])
			return false;
		seen[numbers[i]] = true;
	}
	return seen != NULL;
}

/* The option that converts the list's numbers to the job's; NULL: none. A host that shows only the
 * GPUs of the job is treated as a machine that is not visible. */
static const char *cgroup_option(struct resolver *resolver, const char *job, int last)
{
	const gpumap_inventory *inventory = resolver->inventory;
	struct arena *arena = resolver->arena;

	if (!inventory || (size_t)last < resolver->host_count)
		return arena_printf(arena, "--cgroup %s", job);
	if (resolver->list->source != SOURCE_ENVIRONMENT || inventory->assumed)
		return NULL;
	return arena_printf(arena, "--visible %s --cgroup %s", resolver->list->value, job);
}

enum { MAX_OF_NODE = 64 }; /* GPUs that a remedy names */

/* A job's list and one that counts from 0, as inside a device cgroup (rule L3). Of unequal
 * lengths there is no hint: Slurm 22.05 can name wrong GPUs then. */
static void inside_cgroup(struct resolver *resolver, const struct statement *job)
{
	const struct effective *list = resolver->list;
	const gpumap_entry *chosen = resolver->mapping->chosen;
	size_t count, job_count;
	int *numbers, *gpus;
	const char *option, *there = "";

	if (!list || resolver->request->values[KEY_cgroup] ||
	    resolver->request->values[KEY_container])
		return;
	numbers = plain_numbers(resolver, list->value, &count);
	gpus = plain_numbers(resolver, job->value, &job_count);
	if (!numbers || !gpus || count != job_count || count > MAX_OF_NODE ||
	    !count_from_0(resolver, numbers, count) || count_from_0(resolver, gpus, count))
		return;
	qsort(gpus, count, sizeof(*gpus), compare_int);
	for (size_t i = 1; i < count; i++)
		if (gpus[i] == gpus[i - 1])
			return;
	option = cgroup_option(resolver, job->value, gpus[count - 1]);
	if (!option)
		return;
	if (chosen && (size_t)chosen->logical < count)
		there = arena_printf(resolver->arena, ", where cuda:%d is GPU %d of the node",
				     chosen->logical, gpus[numbers[chosen->logical]]);
	report_add(resolver->report, FINDING_INSIDE_CGROUP,
		   ABOUT(.rule = "L3", .origin = list->origin,
			 .fix = arena_printf(resolver->arena, "for the node's numbers give %s",
					     option)),
		   "%s counts from 0, as inside a device cgroup of the GPUs of %s=%s%s",
		   QUOTE(span_of(list->value)), variable_name(job->variable),
		   QUOTE(span_of(job->value)), there);
}

static const char *value_of(const struct resolver *resolver, enum variable variable)
{
	const struct statement *s = request_variable(resolver->request, variable);

	return s && s->value && *s->value ? s->value : NULL;
}

/* Not in a view that the list counts in: of a container, a cgroup, or an outer list. */
static void foreign_list(struct resolver *resolver)
{
	const struct effective *list = &resolver->effective[VARIABLE_CUDA_VISIBLE];
	const struct slurm_grant grant = {value_of(resolver, VARIABLE_SLURM_STEP_GPUS),
					  value_of(resolver, VARIABLE_SLURM_JOB_GPUS)};

	if (list->set && list->value && !resolver->request->values[KEY_cgroup] &&
	    !resolver->request->values[KEY_container] &&
	    !resolver->effective[VARIABLE_ROCR_VISIBLE].set)
		slurm_grant_check(&grant, variable_name(VARIABLE_CUDA_VISIBLE), list->value,
				  list->origin, resolver->report);
}

static void slurm_lists(struct resolver *resolver)
{
	static const enum variable lists[] = {VARIABLE_SLURM_STEP_GPUS, VARIABLE_SLURM_JOB_GPUS};
	bool gpus = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct statement *s = request_variable(resolver->request, lists[i]);

		if (!s)
			continue;
		if (!gpus)
			inside_cgroup(resolver, s);
		gpus = true;
		step_add(resolver, "L3", s->origin,
			 arena_printf(resolver->arena,
				      "%s=%s is in the host's numbers: not used here",
				      variable_name(lists[i]), QUOTE(span_of(s->value))));
	}
	if (!gpus && request_variable(resolver->request, VARIABLE_SLURM_JOB) &&
	    !resolver->effective[VARIABLE_CUDA_VISIBLE].set &&
	    !resolver->request->values[KEY_cgroup])
		report_add(
			resolver->report, FINDING_ADVICE_ONLY,
			ABOUT(.rule = "L5", .origin = "environment",
			      .fix = "ask for GPUs: --gpus-per-node=N"),
			"this Slurm job was granted no GPU; if the cluster has no device cgroup, "
			"it can still open every GPU");
}

/* A host's list that leaked into a container counts in the wrong view. */
static void leaked_list(struct resolver *resolver)
{
	const struct effective *list = &resolver->effective[VARIABLE_CUDA_VISIBLE];
	const gpumap_mapping *mapping = resolver->mapping;

	if (!resolver->request->values[KEY_container] || !list->set || !mapping->ended_text ||
	    !resolver->view.count)
		return;
	if (!mapping->ended_reason || !streq(mapping->ended_reason, "no such device"))
		return;
	report_add(resolver->report, FINDING_LEAKED_LIST,
		   ABOUT(.rule = "L2", .origin = list->origin,
			 .fix = "do not pass the host's list into a container, or use UUIDs"),
		   "the container has %zu GPU%s, numbered from 0: %s looks like the host's numbers",
		   resolver->view.count, resolver->view.count == 1 ? "" : "s",
		   QUOTE(span_of(list->value)));
}

/* The process is a rank of a launcher, but the question is about a single process. */
static void rank_unused(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;
	static const enum key_id keys[] = {KEY_mode, KEY_device, KEY_set_device, KEY_local_rank};
	struct rank_identity rows[RANK_IDENTITY_ROWS];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (request->values[keys[i]])
			return;
	if (resolver->mapping->visible_count < 2 || !rank_identity_read(rows, request, NULL) ||
	    rows[0].local_rank <= 0)
		return;
	report_add(resolver->report, FINDING_UNKNOWN_USE,
		   ABOUT(.rule = "R3", .origin = rows[0].origin,
			 .fix = "if it uses its local rank, as with DistributedDataParallel, give "
				"--mode ddp"),
		   "%s=%lld, rank %lld of %lld: this is the answer for a program that uses cuda:0",
		   variable_name(rows[0].local_variable), (long long)rows[0].local_rank,
		   (long long)rows[0].rank, (long long)rows[0].size);
}

/* Changes that come too late (rule S4). */
static void report_late(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];
		enum variable variable = s->variable == VARIABLE_COUNT
						 ? dialect_variable(resolver->dialect)
						 : s->variable;
		gpumap_step *step;

		if (s->source != SOURCE_AFTER_INIT)
			continue;
		step = step_add(resolver, "S4", s->origin,
				arena_printf(resolver->arena,
					     "%s changed after CUDA was initialised: no effect",
					     variable_name(variable)));
		step_lose(resolver, step, source_name(s->source), shown_value(resolver, s->value));
		report_add(resolver->report, FINDING_TOO_LATE,
			   ABOUT(.rule = "S4", .origin = s->origin,
				 .fix = "set it before the first CUDA call, best before the start"),
			   "%s=%s has no effect in this process", variable_name(variable),
			   s->value ? QUOTE(span_of(s->value)) : "(unset)");
	}
}

/* Reports statements about a variable that this dialect never reads. Variables of the environment
 * are not the user's statements, and are not reported. */
static void report_unread(struct resolver *resolver)
{
	const gpumap_request *request = resolver->request;

	for (size_t i = 0; i < request->count; i++) {
		const struct statement *s = &request->statements[i];

		if (s->source != SOURCE_ENVIRONMENT && s->variable < VARIABLE_NVIDIA_VISIBLE &&
		    !dialect_reads(resolver->dialect, s->variable))
			report_add(resolver->report, FINDING_IGNORED_KEY,
				   ABOUT(.rule = "H1", .origin = s->origin,
					 .fix = "choose who reads it: --dialect"),
				   "%s is not read in dialect %s", variable_name(s->variable),
				   request_dialect_name(request));
	}
}

void ignored_statements_report(struct resolver *resolver)
{
	report_late(resolver);
	report_unread(resolver);
}

void hints_report(struct resolver *resolver)
{
	const struct statement *nvidia =
		request_variable(resolver->request, VARIABLE_NVIDIA_VISIBLE);

	slurm_lists(resolver);
	foreign_list(resolver);
	leaked_list(resolver);
	rank_unused(resolver);
	if (nvidia && !resolver->request->values[KEY_container])
		report_add(
			resolver->report, FINDING_REQUEST_NOT_PROOF,
			ABOUT(.rule = "L2", .origin = nvidia->origin,
			      .fix = "give --container LIST for the host's numbers"),
			"NVIDIA_VISIBLE_DEVICES=%s asks the container runtime for devices; what it "
			"granted is what nvidia-smi shows inside",
			QUOTE(span_of(nvidia->value)));
}

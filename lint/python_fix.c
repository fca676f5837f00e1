/* SPDX-License-Identifier: MIT */
/* The local rank as this launcher gives it, and the call of the framework that takes it. */
#include "lint/python_file.h"

static bool is_launcher(const struct python_judge *judge, const char *name)
{
	return python_launched(judge) && streq(judge->start->launcher, name);
}

/* The variable with the local rank of a process, beside the one with its rank. */
static const char *variable_beside(struct span rank)
{
	static const struct {
		const char *rank, *local;
	} pairs[] = {
		{"SLURM_", "SLURM_LOCALID"},
		{"OMPI_", "OMPI_COMM_WORLD_LOCAL_RANK"},
		{"PMIX_", "OMPI_COMM_WORLD_LOCAL_RANK"},
		{"PMI_", "MPI_LOCALRANKID"},
		{"MV2_", "MV2_COMM_WORLD_LOCAL_RANK"},
		{"PALS_", "PALS_LOCAL_RANKID"},
		{"FLUX_", "FLUX_TASK_LOCAL_ID"},
		{"JSM_", "JSM_NAMESPACE_LOCAL_RANK"},
	};

	for (size_t i = 0; rank.text && i < ARRAY_SIZE(pairs); i++)
		if (span_starts(rank, pairs[i].rank))
			return pairs[i].local;
	return NULL;
}

const char *fix_variable(const struct python_judge *judge, struct span rank)
{
	const char *beside = variable_beside(rank);

	if (is_launcher(judge, "srun"))
		return "SLURM_LOCALID";
	if (is_launcher(judge, "mpirun"))
		return "OMPI_COMM_WORLD_LOCAL_RANK";
	return beside && !python_launched(judge) ? beside : "LOCAL_RANK";
}

const char *fix_local_rank(const struct python_judge *judge, struct span rank, struct quoted *ret)
{
	const char *dot = rank.text ? memrchr(rank.text, '.', rank.length) : NULL;
	char path[MAX_PATH] = "";
	bool mpi;

	if (dot)
		python_path(judge->file, rank, path);
	if (starts_with(path, "horovod."))
		return format_text(ret, "%.*s.local_rank()",
				   (int)(dot - rank.text > 60 ? 60 : dot - rank.text), rank.text);
	mpi = text_ends(path, ".Get_rank") || text_ends(path, ".rank");
	return format_text(ret, "int(os.environ[\"%s\"])",
			   mpi && !python_launched(judge) ? "OMPI_COMM_WORLD_LOCAL_RANK"
							  : fix_variable(judge, rank));
}

const char *fix_ordinal(const struct python_judge *judge, const struct observation *s,
			const char *fix, struct quoted *ret)
{
	const struct python_start *start = judge->start;
	bool means = fix && starts_with(fix, "physical ");

	/* With a list of its own, or several devices, a rank counts in its list. */
	if (!python_launched(judge) || start->alone || start->ranks == 1 || start->visible == 1 ||
	    start->list_varies || judge->file->facts.several || judge->file->facts.own_list ||
	    s->kind == OBSERVED_PARALLEL)
		return fix;
	return format_text(ret, "%.60s%suse local_rank = %.120s, and f\"cuda:{local_rank}\"",
			   means ? fix : "", means ? "; " : "", FIX_LOCAL_RANK(judge, NO_SPAN));
}

const char *fix_device(const struct python_judge *judge, const struct observation *s,
		       struct quoted *ret)
{
	return format_text(ret, "use local_rank = %.120s%s%.*s",
			   FIX_LOCAL_RANK(judge, s->value.text), s->name.text ? ", and " : "",
			   s->name.text ? 80 : 0, s->name.text ? s->name.text : "");
}

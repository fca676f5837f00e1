/* SPDX-License-Identifier: MIT */
/* See rank_identity.h. */
#include "request/rank_identity.h"

#include "report/report.h"
#include "text/hostlist.h"

enum cell { CELL_RANK, CELL_SIZE, CELL_LOCAL, CELL_LOCAL_SIZE, CELL_NODE, CELL_NODES, CELLS };

/* A row is complete if its first three cells have values and the variable that it needs is set. A
 * cell has variables in order of preference, ended by 0, which is not a rank variable. */
struct rank_row {
	const char *name;
	enum variable cells[CELLS][3];
	enum variable needs;
	bool counts; /* the local size is a list of counts, one for each node (rule R4) */
};

static const struct rank_row rank_rows[] = {
	{.name = "torch",
	 .cells = {{VARIABLE_RANK},
		   {VARIABLE_WORLD_SIZE},
		   {VARIABLE_LOCAL_RANK},
		   {VARIABLE_LOCAL_WORLD_SIZE, VARIABLE_LOCAL_SIZE},
		   {VARIABLE_GROUP_RANK, VARIABLE_NODE_RANK, VARIABLE_CROSS_RANK},
		   {VARIABLE_GROUP_WORLD_SIZE, VARIABLE_CROSS_SIZE}}},
	/* OMPI_COMM_WORLD_NODE_RANK is a rank within the node, not a node's number. */
	{.name = "Open MPI",
	 .cells = {{VARIABLE_OMPI_COMM_WORLD_RANK},
		   {VARIABLE_OMPI_COMM_WORLD_SIZE},
		   {VARIABLE_OMPI_COMM_WORLD_LOCAL_RANK},
		   {VARIABLE_OMPI_COMM_WORLD_LOCAL_SIZE}}},
	{.name = "MPICH",
	 .cells = {{VARIABLE_PMI_RANK},
		   {VARIABLE_PMI_SIZE},
		   {VARIABLE_MPI_LOCALRANKID},
		   {VARIABLE_MPI_LOCALNRANKS}}},
	{.name = "MVAPICH2",
	 .cells = {{VARIABLE_MV2_COMM_WORLD_RANK},
		   {VARIABLE_MV2_COMM_WORLD_SIZE},
		   {VARIABLE_MV2_COMM_WORLD_LOCAL_RANK},
		   {VARIABLE_MV2_COMM_WORLD_LOCAL_SIZE}}},
	{.name = "PALS",
	 .cells = {{VARIABLE_PALS_RANKID, VARIABLE_PMI_RANK},
		   {VARIABLE_PMI_SIZE},
		   {VARIABLE_PALS_LOCAL_RANKID, VARIABLE_PMI_LOCAL_RANK},
		   {VARIABLE_PMI_LOCAL_SIZE},
		   {VARIABLE_PALS_NODEID}}},
	{.name = "jsrun",
	 .cells = {{VARIABLE_JSM_NAMESPACE_RANK},
		   {VARIABLE_JSM_NAMESPACE_SIZE},
		   {VARIABLE_JSM_NAMESPACE_LOCAL_RANK}}},
	{.name = "Flux",
	 .cells = {{VARIABLE_FLUX_TASK_RANK},
		   {VARIABLE_FLUX_JOB_SIZE},
		   {VARIABLE_FLUX_TASK_LOCAL_ID},
		   {0},
		   {0},
		   {VARIABLE_FLUX_JOB_NNODES}}},
	{.name = "Slurm step",
	 .cells = {{VARIABLE_SLURM_PROCID},
		   {VARIABLE_SLURM_STEP_NUM_TASKS},
		   {VARIABLE_SLURM_LOCALID},
		   {VARIABLE_SLURM_STEP_TASKS_PER_NODE},
		   {VARIABLE_SLURM_NODEID},
		   {VARIABLE_SLURM_STEP_NUM_NODES}},
	 .needs = VARIABLE_SLURM_STEP_ID,
	 .counts = true},
};

/* Slurm's steps that are not tasks (batch script, interactive shell) have the last numbers of 32
 * bits. */
enum { SLURM_LAST_STEP = 0x7ffffff0 };

_Static_assert(ARRAY_SIZE(rank_rows) < RANK_IDENTITY_ROWS, "one more for Kubernetes");

const char *rank_identity_variable(size_t i)
{
	size_t v = VARIABLE_KUBERNETES_SERVICE_HOST + 1 + i;

	return v < VARIABLE_COUNT ? variable_name((enum variable)v) : NULL;
}

static bool in_cell(const enum variable cell[3], enum variable v)
{
	for (size_t i = 0; i < 3 && cell[i]; i++)
		if (cell[i] == v)
			return true;
	return false;
}

enum rank_variable_meaning rank_variable_meaning(struct span name)
{
	size_t i = 0;

	while (rank_identity_variable(i) && !span_is(name, rank_identity_variable(i)))
		i++;
	if (!rank_identity_variable(i))
		return RANK_VARIABLE_NOTHING;
	for (size_t row = 0; row < ARRAY_SIZE(rank_rows); row++) {
		enum variable v = (enum variable)(VARIABLE_KUBERNETES_SERVICE_HOST + 1 + i);

		if (in_cell(rank_rows[row].cells[CELL_RANK], v))
			return RANK_VARIABLE_RANK;
		if (in_cell(rank_rows[row].cells[CELL_LOCAL], v))
			return RANK_VARIABLE_LOCAL_RANK;
	}
	return RANK_VARIABLE_OTHER;
}

const char *rank_identity_row_variable(const char *row, size_t i)
{
	const struct rank_row *r = rank_rows;
	enum { PLACES = ARRAY_SIZE(r->cells[0]) };

	while (r < rank_rows + ARRAY_SIZE(rank_rows) && !streq(r->name, row))
		r++;
	if (r == rank_rows + ARRAY_SIZE(rank_rows))
		return NULL;
	for (size_t k = 0; k < CELLS * PLACES; k++)
		if (r->cells[k / PLACES][k % PLACES] && !i--)
			return variable_name(r->cells[k / PLACES][k % PLACES]);
	return r->needs && !i ? variable_name(r->needs) : NULL;
}

static const struct statement *cell_statement(const gpumap_request *request,
					      const struct rank_row *row, enum cell cell)
{
	const struct statement *s = NULL;

	for (size_t i = 0; !s && i < ARRAY_SIZE(row->cells[cell]) && row->cells[cell][i]; i++)
		s = request_variable(request, row->cells[cell][i]);
	return s;
}

static bool complete(const gpumap_request *request, const struct rank_row *row)
{
	const struct statement *step = row->needs ? request_variable(request, row->needs) : NULL;

	for (enum cell cell = CELL_RANK; cell <= CELL_LOCAL; cell++)
		if (!cell_statement(request, row, cell))
			return false;
	return !row->needs || (step && span_number(span_of(step->value), SLURM_LAST_STEP) >= 0);
}

/* The number in a cell, -1 after a warning; `size` is the cell that bounds it, NULL: none. */
static int64_t read_number(const struct statement *s, const struct statement *size,
			   const char *lost, gpumap_report *report)
{
	int64_t bound = size ? span_number(span_of(size->value), INT32_MAX) : -1;
	int64_t n = span_number(span_of(s->value), INT32_MAX);
	const char *name = variable_name(s->variable);

	if (n < 0)
		report_add(report, FINDING_BAD_RANK,
			   ABOUT(.rule = "R1", .origin = s->origin,
				 .fix = "unset it, or start the program by its launcher"),
			   "%s=%s is not a number from 0 to 2147483647: %s", name,
			   QUOTE(span_of(s->value)), lost);
	else if (bound >= 0 && n >= bound)
		report_add(report, FINDING_BAD_RANK,
			   ABOUT(.rule = "R1", .origin = s->origin,
				 .fix = "unset both, or start the program by its launcher"),
			   "%s=%lld is not below %s=%lld: %s", name, (long long)n,
			   variable_name(size->variable), (long long)bound, lost);
	return bound >= 0 && n >= bound ? -1 : n;
}

/* Rule R4: what a row has besides rank, size and local rank. */
static void read_place(struct rank_identity *ret, const gpumap_request *request,
		       const struct rank_row *row, gpumap_report *report)
{
	const struct statement *local_size = cell_statement(request, row, CELL_LOCAL_SIZE);
	const struct statement *node = cell_statement(request, row, CELL_NODE);
	const struct statement *nodes = cell_statement(request, row, CELL_NODES);
	const char *lost = "it is ignored";

	if (nodes)
		ret->nodes = read_number(nodes, NULL, lost, report);
	if (node)
		ret->node_rank = read_number(node, nodes, lost, report);
	if (local_size && !row->counts)
		ret->local_size = read_number(local_size, NULL, lost, report);
	else if (local_size && ret->node_rank >= 0)
		ret->local_size = counts_at(span_of(local_size->value), ret->node_rank);
	if (local_size && ((row->counts && ret->node_rank >= 0 && ret->local_size < 0) ||
			   (ret->local_size >= 0 && ret->local_rank >= ret->local_size))) {
		ret->local_size = -1;
		report_add(report, FINDING_BAD_RANK,
			   ABOUT(.rule = "R4", .origin = local_size->origin,
				 .fix = "start the program by its launcher"),
			   "%s=%s has no place for %s=%lld: it is ignored",
			   variable_name(local_size->variable), QUOTE(span_of(local_size->value)),
			   variable_name(ret->local_variable), (long long)ret->local_rank);
	}
}

#define NO_NUMBERS \
	.rank = -1, .size = -1, .local_rank = -1, .local_size = -1, .node_rank = -1, .nodes = -1

static bool read_row(struct rank_identity *ret, const gpumap_request *request,
		     const struct rank_row *row, gpumap_report *report)
{
	const struct statement *rank = cell_statement(request, row, CELL_RANK);
	const struct statement *size = cell_statement(request, row, CELL_SIZE);
	const struct statement *local = cell_statement(request, row, CELL_LOCAL);
	struct rank_identity identity = {
		.row = row->name,
		.origin = local->origin,
		.rank_variable = rank->variable,
		.size_variable = size->variable,
		.local_variable = local->variable,
		NO_NUMBERS,
	};
	const char *lost = "the ranks of that launcher are ignored";

	identity.size = read_number(size, NULL, lost, report);
	identity.rank = read_number(rank, size, lost, report);
	identity.local_rank = read_number(local, size, lost, report);
	if (identity.size < 0 || identity.rank < 0 || identity.local_rank < 0)
		return false;
	read_place(&identity, request, row, report);
	*ret = identity;
	return true;
}

/* Rule R2: a pod's RANK and WORLD_SIZE. torchrun replaces them for its ranks. */
static bool read_pod(struct rank_identity *ret, const gpumap_request *request,
		     gpumap_report *report)
{
	const struct statement *rank = request_variable(request, VARIABLE_RANK);
	const struct statement *size = request_variable(request, VARIABLE_WORLD_SIZE);
	bool pod = request_variable(request, VARIABLE_PET_NNODES) ||
		   request_variable(request, VARIABLE_KUBERNETES_SERVICE_HOST);
	struct rank_identity identity = {
		.row = "Kubernetes",
		.rank_variable = VARIABLE_RANK,
		.size_variable = VARIABLE_WORLD_SIZE,
		.local_variable = VARIABLE_LOCAL_RANK,
		NO_NUMBERS,
	};

	if (!pod || !rank || !size || request_variable(request, VARIABLE_LOCAL_RANK))
		return false;
	identity.origin = rank->origin;
	identity.nodes = read_number(size, NULL, "it is ignored", report);
	identity.node_rank = read_number(rank, size, "it is ignored", report);
	if (identity.nodes < 0 || identity.node_rank < 0)
		return false;
	report_add(
		report, FINDING_NODE_NUMBERS,
		ABOUT(.rule = "R2", .origin = rank->origin,
		      .fix = "start the ranks of this node by torchrun, or give --local-rank N"),
		"RANK=%lld and WORLD_SIZE=%lld without LOCAL_RANK number the pods, not the ranks",
		(long long)identity.node_rank, (long long)identity.nodes);
	*ret = identity;
	return true;
}

/* Processes inherit the row of the daemon that started them. There are more of them than of
 * daemons. */
static void compare(const struct rank_identity *now, const struct rank_identity *other,
		    gpumap_report *report)
{
	bool nested = now->size > other->size;

	if (now->rank == other->rank && now->size == other->size &&
	    now->local_rank == other->local_rank)
		return;
	report_add(report, nested ? FINDING_RANKS_NESTED : FINDING_RANKS_DISAGREE,
		   ABOUT(.rule = "R1", .origin = now->origin,
			 .fix = nested ? NULL
				       : "unset the variables of the launcher that did not start "
					 "this process, or give --local-rank N"),
		   "%s gives rank %lld of %lld, local rank %lld; %s gives rank %lld of %lld, local "
		   "rank %lld: %s wins",
		   now->row, (long long)now->rank, (long long)now->size, (long long)now->local_rank,
		   other->row, (long long)other->rank, (long long)other->size,
		   (long long)other->local_rank, now->row);
}

size_t rank_identity_read(struct rank_identity rows[RANK_IDENTITY_ROWS],
			  const gpumap_request *request, gpumap_report *report)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rank_rows); i++) {
		const struct rank_row *row = &rank_rows[i];

		if (complete(request, row) && read_row(&rows[count], request, row, report))
			count++;
	}
	for (size_t i = 1; i < count; i++)
		compare(&rows[0], &rows[i], report);
	if (!count && read_pod(&rows[0], request, report))
		count++;
	return count;
}

/* --- the public view ------------------------------------------------------------------ */

EXPORT const char *gpumap_request_identity_str(const gpumap_request *request,
					       enum gpumap_identity_str_attr attr)
{
	struct rank_identity rows[RANK_IDENTITY_ROWS];

	if (!request || attr != GPUMAP_IDENTITY_LAUNCHER ||
	    !rank_identity_read(rows, request, NULL))
		return NULL;
	return rows[0].row;
}

static int64_t local_rank(const gpumap_request *request, const struct rank_identity *identity)
{
	int64_t given = request_number(request, KEY_local_rank);

	return given >= 0 ? given : identity->local_rank;
}

EXPORT int64_t gpumap_request_identity_int(const gpumap_request *request,
					   enum gpumap_identity_int_attr attr)
{
	struct rank_identity rows[RANK_IDENTITY_ROWS] = {{NO_NUMBERS}};

	if (!request)
		return -1;
	rank_identity_read(rows, request, NULL);
	return NUMBER_AT(attr, NUMBERED(GPUMAP_IDENTITY_RANK) = rows[0].rank,
			 NUMBERED(GPUMAP_IDENTITY_WORLD_SIZE) = rows[0].size,
			 NUMBERED(GPUMAP_IDENTITY_LOCAL_RANK) = local_rank(request, &rows[0]),
			 NUMBERED(GPUMAP_IDENTITY_LOCAL_SIZE) = rows[0].local_size,
			 NUMBERED(GPUMAP_IDENTITY_NODE_RANK) = rows[0].node_rank,
			 NUMBERED(GPUMAP_IDENTITY_NODES) = rows[0].nodes);
}

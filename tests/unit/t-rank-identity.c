/* SPDX-License-Identifier: MIT */
/* Rules R1, R2 and R4 on environments as launchers make them. */
#include <stdio.h>

#include "machines.h"
#include "request/rank_identity.h"
#include "unit.h"

#define TORCH "RANK=5|LOCAL_RANK=1|WORLD_SIZE=8"
#define AGENT "|LOCAL_WORLD_SIZE=4|GROUP_RANK=1|GROUP_WORLD_SIZE=2|ROLE_RANK=5|ROLE_WORLD_SIZE=8"
#define OMPI \
	"OMPI_COMM_WORLD_RANK=3|OMPI_COMM_WORLD_SIZE=4|OMPI_COMM_WORLD_LOCAL_RANK=1|" \
	"OMPI_COMM_WORLD_LOCAL_SIZE=2|OMPI_COMM_WORLD_NODE_RANK=1|PMIX_RANK=3"
#define SLURM(proc, local, node, tasks, nodes, counts) \
	"SLURM_JOB_ID=7|SLURM_NTASKS=" tasks "|SLURM_PROCID=" proc "|SLURM_LOCALID=" local \
	"|SLURM_NODEID=" node "|SLURM_STEP_ID=0|SLURM_STEP_NUM_TASKS=" tasks \
	"|SLURM_STEP_NUM_NODES=" nodes "|SLURM_STEP_TASKS_PER_NODE=" counts
#define NOBODY "", -1, -1, -1, -1, -1, -1, ""

/* The row that holds ("": none), its numbers, and all findings' ids. */
static const struct row {
	const char *name, *environment, *row;
	int rank, size, local, local_size, node, nodes;
	const char *findings;
} rows[] = {
	{"nothing", "PATH=/bin", NOBODY},
	{"torchrun", TORCH AGENT, "torch", 5, 8, 1, 4, 1, 2, ""},
	{"torch, three alone", TORCH, "torch", 5, 8, 1, -1, -1, -1, ""},
	{"DeepSpeed", TORCH "|LOCAL_SIZE=4|CROSS_RANK=1|CROSS_SIZE=2", "torch", 5, 8, 1, 4, 1, 2,
	 ""},
	{"torch, no local rank", "RANK=5|WORLD_SIZE=8", NOBODY},
	{"mpirun", OMPI, "Open MPI", 3, 4, 1, 2, -1, -1, ""},
	{"mpiexec.hydra", "PMI_RANK=2|PMI_SIZE=4|MPI_LOCALRANKID=0|MPI_LOCALNRANKS=2", "MPICH", 2,
	 4, 0, 2, -1, -1, ""},
	{"mpirun_rsh",
	 "MV2_COMM_WORLD_RANK=1|MV2_COMM_WORLD_SIZE=4|MV2_COMM_WORLD_LOCAL_RANK=1|"
	 "MV2_COMM_WORLD_LOCAL_SIZE=2",
	 "MVAPICH2", 1, 4, 1, 2, -1, -1, ""},
	{"PALS",
	 "PALS_RANKID=6|PMI_RANK=6|PMI_SIZE=8|PALS_LOCAL_RANKID=2|PMI_LOCAL_RANK=2|"
	 "PMI_LOCAL_SIZE=4|PALS_NODEID=1",
	 "PALS", 6, 8, 2, 4, 1, -1, ""},
	{"PALS, PMI's names", "PMI_RANK=6|PMI_SIZE=8|PMI_LOCAL_RANK=2|PMI_LOCAL_SIZE=4", "PALS", 6,
	 8, 2, 4, -1, -1, ""},
	{"jsrun",
	 "JSM_NAMESPACE_RANK=5|JSM_NAMESPACE_SIZE=12|JSM_NAMESPACE_LOCAL_RANK=5|PMIX_RANK=5",
	 "jsrun", 5, 12, 5, -1, -1, -1, ""},
	{"Flux", "FLUX_TASK_RANK=3|FLUX_JOB_SIZE=4|FLUX_TASK_LOCAL_ID=1|FLUX_JOB_NNODES=2", "Flux",
	 3, 4, 1, -1, -1, 2, ""},

	/* srun -n1, -N2 -n4, -N2 -n4 with 3,1, and cyclic */
	{"srun, one task", SLURM("0", "0", "0", "1", "1", "1"), "Slurm step", 0, 1, 0, 1, 0, 1, ""},
	{"srun, last of four", SLURM("3", "1", "1", "4", "2", "2(x2)"), "Slurm step", 3, 4, 1, 2, 1,
	 2, ""},
	{"srun, uneven", SLURM("3", "0", "1", "4", "2", "3,1"), "Slurm step", 3, 4, 0, 1, 1, 2, ""},
	{"srun, cyclic", SLURM("1", "0", "1", "4", "2", "2(x2)"), "Slurm step", 1, 4, 0, 2, 1, 2,
	 ""},
	{"srun, seven tasks", SLURM("6", "0", "3", "7", "4", "2(x3),1"), "Slurm step", 6, 7, 0, 1,
	 3, 4, ""},
	{"srun --mpi=pmi2", SLURM("3", "1", "1", "4", "2", "2(x2)") "|PMI_RANK=3|PMI_SIZE=4",
	 "Slurm step", 3, 4, 1, 2, 1, 2, ""},
	{"srun --mpi=pmix", SLURM("3", "1", "1", "4", "2", "2(x2)") "|PMIX_RANK=3", "Slurm step", 3,
	 4, 1, 2, 1, 2, ""},
	{"PMIX_RANK alone", "PMIX_RANK=3", NOBODY},
	{"salloc", "SLURM_JOB_ID=7|SLURM_NTASKS=8|SLURM_TASKS_PER_NODE=4(x2)", NOBODY},
	{"batch script",
	 "SLURM_JOB_ID=7|SLURM_NTASKS=8|SLURM_PROCID=0|SLURM_LOCALID=0|SLURM_NODEID=0", NOBODY},
	{"interactive step",
	 "SLURM_STEP_ID=4294967290|SLURM_STEP_NUM_TASKS=1|SLURM_PROCID=0|SLURM_LOCALID=0", NOBODY},
	{"srun without counts",
	 "SLURM_STEP_ID=0|SLURM_STEP_NUM_TASKS=4|SLURM_PROCID=3|SLURM_LOCALID=1", "Slurm step", 3,
	 4, 1, -1, -1, -1, ""},

	/* several rows */
	{"mpirun inside Slurm", OMPI "|" SLURM("1", "0", "1", "2", "2", "1(x2)"), "Open MPI", 3, 4,
	 1, 2, -1, -1, "GM153"},
	{"torchrun inside srun", TORCH "|" SLURM("1", "0", "1", "2", "2", "1(x2)"), "torch", 5, 8,
	 1, -1, -1, -1, "GM153"},
	{"torch row written by srun's task",
	 "RANK=3|WORLD_SIZE=4|LOCAL_RANK=1|" SLURM("3", "1", "1", "4", "2", "2(x2)"), "torch", 3, 4,
	 1, -1, -1, -1, ""},
	{"torch row exported in the batch script",
	 "RANK=0|WORLD_SIZE=4|LOCAL_RANK=0|" SLURM("3", "1", "1", "4", "2", "2(x2)"), "torch", 0, 4,
	 0, -1, -1, -1, "GM152"},
	{"stale torch row", "RANK=0|WORLD_SIZE=1|LOCAL_RANK=0|" OMPI, "torch", 0, 1, 0, -1, -1, -1,
	 "GM152"},
	{"three rows", TORCH "|" OMPI "|" SLURM("1", "0", "1", "2", "2", "1(x2)"), "torch", 5, 8, 1,
	 -1, -1, -1, "GM153 GM153"},

	/* Kubernetes */
	{"pod", "RANK=1|WORLD_SIZE=2|KUBERNETES_SERVICE_HOST=10.0.0.1", "Kubernetes", -1, -1, -1,
	 -1, 1, 2, "GM154"},
	{"pod, PET", "RANK=0|WORLD_SIZE=2|PET_NNODES=2", "Kubernetes", -1, -1, -1, -1, 0, 2,
	 "GM154"},
	{"torchrun in a pod", TORCH "|KUBERNETES_SERVICE_HOST=10.0.0.1", "torch", 5, 8, 1, -1, -1,
	 -1, ""},
	{"mpirun in a pod", OMPI "|RANK=1|WORLD_SIZE=2|PET_NNODES=2", "Open MPI", 3, 4, 1, 2, -1,
	 -1, ""},
	{"pod, nonsense", "RANK=2|WORLD_SIZE=2|PET_NNODES=2", "", -1, -1, -1, -1, -1, -1, "GM151"},

	/* values without meaning */
	{"negative", "RANK=5|LOCAL_RANK=-1|WORLD_SIZE=8", "", -1, -1, -1, -1, -1, -1, "GM151"},
	{"empty", "RANK=5|LOCAL_RANK=|WORLD_SIZE=8", "", -1, -1, -1, -1, -1, -1, "GM151"},
	{"a word", "RANK=five|LOCAL_RANK=1|WORLD_SIZE=8", "", -1, -1, -1, -1, -1, -1, "GM151"},
	{"blank", "RANK= 5|LOCAL_RANK=1|WORLD_SIZE=8", "", -1, -1, -1, -1, -1, -1, "GM151"},
	{"huge", "RANK=5|LOCAL_RANK=1|WORLD_SIZE=99999999999999999999", "", -1, -1, -1, -1, -1, -1,
	 "GM151"},
	{"2^31", "RANK=5|LOCAL_RANK=1|WORLD_SIZE=2147483648", "", -1, -1, -1, -1, -1, -1, "GM151"},
	{"rank past the size", "RANK=8|LOCAL_RANK=1|WORLD_SIZE=8", "", -1, -1, -1, -1, -1, -1,
	 "GM151"},
	{"local rank past the size", "RANK=0|LOCAL_RANK=8|WORLD_SIZE=8", "", -1, -1, -1, -1, -1, -1,
	 "GM151"},
	{"no ranks at all", "RANK=0|LOCAL_RANK=0|WORLD_SIZE=0", "", -1, -1, -1, -1, -1, -1,
	 "GM151 GM151"},
	{"the next row holds", "RANK=x|LOCAL_RANK=1|WORLD_SIZE=8|" OMPI, "Open MPI", 3, 4, 1, 2, -1,
	 -1, "GM151"},
	{"RANK of something else", "RANK=gold|" OMPI, "Open MPI", 3, 4, 1, 2, -1, -1, ""},
	{"bad local size", TORCH "|LOCAL_WORLD_SIZE=four", "torch", 5, 8, 1, -1, -1, -1, "GM151"},
	{"local size too small", TORCH "|LOCAL_WORLD_SIZE=1", "torch", 5, 8, 1, -1, -1, -1,
	 "GM151"},
	{"node past the nodes", TORCH "|GROUP_RANK=2|GROUP_WORLD_SIZE=2", "torch", 5, 8, 1, -1, -1,
	 2, "GM151"},
	{"counts cut", SLURM("3", "1", "1", "4", "2", "2(x"), "Slurm step", 3, 4, 1, -1, 1, 2,
	 "GM151"},
	{"counts too short", SLURM("3", "1", "1", "4", "2", "2"), "Slurm step", 3, 4, 1, -1, 1, 2,
	 "GM151"},
	{"step id a word",
	 "SLURM_STEP_ID=batch|SLURM_STEP_NUM_TASKS=4|SLURM_PROCID=3|SLURM_LOCALID=1", NOBODY},
};

static void check_findings(const char *name, const gpumap_report *report, const char *want)
{
	char got[256] = "";

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		size_t length = strlen(got);

		snprintf(got + length, sizeof(got) - length, "%s%s", i ? " " : "",
			 gpumap_finding_str(f, GPUMAP_FINDING_ID));
		ck_assert_msg(gpumap_finding_str(f, GPUMAP_FINDING_RULE)[0] == 'R', "%s", name);
	}
	ROW_EQ_STR(name, got, want);
}

static void check_identity(const char *name, const gpumap_request *request, const struct row *row)
{
	const char *launcher = gpumap_request_identity_str(request, GPUMAP_IDENTITY_LAUNCHER);

	ROW_EQ_STR(name, launcher ? launcher : "", row->row);
	ROW_EQ_INT(name, gpumap_request_identity_int(request, GPUMAP_IDENTITY_RANK), row->rank);
	ROW_EQ_INT(name, gpumap_request_identity_int(request, GPUMAP_IDENTITY_WORLD_SIZE),
		   row->size);
	ROW_EQ_INT(name, gpumap_request_identity_int(request, GPUMAP_IDENTITY_LOCAL_RANK),
		   row->local);
	ROW_EQ_INT(name, gpumap_request_identity_int(request, GPUMAP_IDENTITY_LOCAL_SIZE),
		   row->local_size);
	ROW_EQ_INT(name, gpumap_request_identity_int(request, GPUMAP_IDENTITY_NODE_RANK),
		   row->node);
	ROW_EQ_INT(name, gpumap_request_identity_int(request, GPUMAP_IDENTITY_NODES), row->nodes);
	/* An attribute of the other kind is an unknown one. */
	ck_assert_ptr_null(gpumap_request_identity_str(
		request, (enum gpumap_identity_str_attr)GPUMAP_IDENTITY_RANK));
	ROW_EQ_INT(name,
		   gpumap_request_identity_int(
			   request, (enum gpumap_identity_int_attr)GPUMAP_IDENTITY_LAUNCHER),
		   -1);
}

START_TEST(environments)
{
	const char *name = rows[_i].name;
	struct rank_identity found[RANK_IDENTITY_ROWS];
	gpumap_request *request;
	gpumap_report *report;
	size_t count;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(surround(request, rows[_i].environment, report), GPUMAP_OK);
	count = rank_identity_read(found, request, report);
	check_findings(name, report, rows[_i].findings);
	ROW_EQ_STR(name, count ? found[0].row : "", rows[_i].row);
	if (count) {
		ROW_EQ_INT(name, found[0].rank, rows[_i].rank);
		ROW_EQ_INT(name, found[0].size, rows[_i].size);
		ROW_EQ_INT(name, found[0].local_rank, rows[_i].local);
		ROW_EQ_INT(name, found[0].local_size, rows[_i].local_size);
		ROW_EQ_INT(name, found[0].node_rank, rows[_i].node);
		ROW_EQ_INT(name, found[0].nodes, rows[_i].nodes);
		ROW_EQ_STR(name, found[0].origin, "environment");
	}
	/* Without a report the answer is the same. */
	ROW_EQ_INT(name, rank_identity_read(found, request, NULL), count);
	check_identity(name, request, &rows[_i]);
	gpumap_request_free(request);
	gpumap_report_free(report);
}
END_TEST

/* Variables before the command are set later than the environment. */
START_TEST(statements_in_time)
{
	struct rank_identity found[RANK_IDENTITY_ROWS];
	gpumap_request *request;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(set_statements(request, "prefix=LOCAL_RANK=3|in_code=RANK?=1", NULL),
			 GPUMAP_OK);
	ck_assert_int_eq(surround(request, TORCH, NULL), GPUMAP_OK);
	ck_assert_uint_eq(rank_identity_read(found, request, NULL), 1);
	ck_assert_int_eq(found[0].local_rank, 3);
	ck_assert_int_eq(found[0].rank, 5);
	ck_assert_int_eq(set_statements(request, "in_code=-RANK", NULL), GPUMAP_OK);
	ck_assert_uint_eq(rank_identity_read(found, request, NULL), 0);
	ck_assert_int_eq(set_statements(request, "after_init=RANK=1", NULL), GPUMAP_OK);
	ck_assert_uint_eq(rank_identity_read(found, request, NULL), 0);
	gpumap_request_free(request);
}
END_TEST

/* --local-rank comes before the launcher's, and a request without one knows nothing. */
START_TEST(identity_of_an_option)
{
	gpumap_request *request;

	ck_assert_ptr_null(gpumap_request_identity_str(NULL, GPUMAP_IDENTITY_LAUNCHER));
	ck_assert_int_eq(gpumap_request_identity_int(NULL, GPUMAP_IDENTITY_RANK), -1);
	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(set_statements(request, "local_rank=3", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_identity_int(request, GPUMAP_IDENTITY_LOCAL_RANK), 3);
	ck_assert_int_eq(gpumap_request_identity_int(request, GPUMAP_IDENTITY_RANK), -1);
	ck_assert_int_eq(surround(request, TORCH, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_identity_int(request, GPUMAP_IDENTITY_LOCAL_RANK), 3);
	ck_assert_int_eq(gpumap_request_identity_int(request, GPUMAP_IDENTITY_RANK), 5);
	gpumap_request_free(request);
}
END_TEST

static bool listed(const char *name)
{
	for (size_t i = 0; rank_identity_variable(i); i++)
		if (streq(rank_identity_variable(i), name))
			return true;
	return false;
}

/* A launcher unsets ranks, and nothing that describes the job or the cluster. */
START_TEST(variables)
{
	static const char *const stale[] = {"RANK",          "LOCAL_RANK",
					    "WORLD_SIZE",    "GROUP_RANK",
					    "SLURM_PROCID",  "OMPI_COMM_WORLD_NODE_RANK",
					    "SLURM_STEP_ID", "PMIX_RANK"};
	static const char *const kept[] = {"SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "PET_NNODES",
					   "CUDA_VISIBLE_DEVICES"};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(stale); i++)
		ck_assert_msg(listed(stale[i]), "%s", stale[i]);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		ck_assert_msg(!listed(kept[i]), "%s", kept[i]);
	while (rank_identity_variable(count))
		count++;
	ck_assert_uint_ge(count, 40);
	ck_assert_ptr_null(rank_identity_variable(100000));
}
END_TEST

static size_t row_size(const char *row)
{
	size_t count = 0;

	while (rank_identity_row_variable(row, count))
		ck_assert_msg(listed(rank_identity_row_variable(row, count++)), "%s", row);
	return count;
}

/* What exec unsets of a launcher that did not start this process. */
START_TEST(variables_of_rows)
{
	ck_assert_uint_eq(row_size("Slurm step"), 7);
	ck_assert_str_eq(rank_identity_row_variable("Slurm step", 0), "SLURM_PROCID");
	ck_assert_str_eq(rank_identity_row_variable("Slurm step", 6), "SLURM_STEP_ID");
	ck_assert_uint_eq(row_size("Open MPI"), 4);
	ck_assert_uint_eq(row_size("torch"), 10);
	ck_assert_uint_eq(row_size("Kubernetes"), 0);
	ck_assert_ptr_null(rank_identity_row_variable("torch", 100000));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rank_identity");
	TCase *tests = tcase_create("rank_identity");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, environments, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tests, identity_of_an_option);
	tcase_add_test(tests, statements_in_time);
	tcase_add_test(tests, variables);
	tcase_add_test(tests, variables_of_rows);
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* The start of ranks: environments and arguments. A plan that is read equals the plan that was
 * written. */
#include <stdio.h>

#include "inventory/inventory.h"
#include "jobs.h"
#include "plans.h"
#include "profiles.h"
#include "unit.h"

#define DDP "[profile p]\nprogram=t\n[program t]\ndevice=cuda:%l\ncommand=train --lr 1\n"
#define USES(device) "[profile p]\nprogram=t\n[program t]\ncommand=t\ndevice=" device "\n"
#define ONE(mode) "[profile p]\nmode=" mode "\nprogram=t\n[program t]\ndevice=cuda:0\n"
#define STALE \
	"RANK=7;WORLD_SIZE=9;LOCAL_RANK=3;OMPI_COMM_WORLD_RANK=7;SLURM_PROCID=7;PMI_RANK=2;" \
	"MASTER_ADDR=old;MASTER_PORT=1;TORCHELASTIC_RUN_ID=old;TORCHELASTIC_ERROR_FILE=/f;" \
	"TORCHELASTIC_USE_AGENT_STORE=True;ROLE_NAME=r"
#define UNLIKE "GPU-a0 =A @10 n=0 c=0-3;GPU-b0 =B @20 n=1 c=4-7 m=MIG-x m=MIG-y"

static const struct {
	const char *name, *files, *hosts, *environment, *holds, *findings;
} rows[] = {
	{"one host", DDP, "a=4", "",
	 "answered=1|world=4|hosts=1|port=0|addr=127.0.0.1|run=(null)|mode=ddp|profile=p|"
	 "0.host=a|3.node=0|3.local=3|3.size=4|3.gpu=3|3.logical=3|3.mig=-1|3.visible=0,1,2,3|"
	 "3.uuid=(null)|3.cpus=(null)|3.threads=0|4.gpu=-1|4.host=(null)|3>"
	 "<train><--lr><1>",
	 ""},
	/* torchrun 2.15.0 sets three more, and no NODE_RANK; gpumap-run(1) says so. */
	{"variables of a rank", DDP, "a=4 + b=2", "",
	 "4$TORCHELASTIC_ERROR_FILE!|4$TORCHELASTIC_SIGNALS_TO_HANDLE!|"
	 "4$TORCH_NCCL_ASYNC_ERROR_HANDLING!|"
	 "4$RANK=4|4$WORLD_SIZE=6|4$LOCAL_RANK=0|4$LOCAL_WORLD_SIZE=2|4$GROUP_RANK=1|"
	 "4$GROUP_WORLD_SIZE=2|4$NODE_RANK=1|4$ROLE_RANK=4|4$ROLE_WORLD_SIZE=6|"
	 "4$ROLE_NAME=default|4$MASTER_ADDR=a|4$MASTER_PORT=29500|4$TORCHELASTIC_RUN_ID!|"
	 "4$TORCHELASTIC_RESTART_COUNT=0|4$TORCHELASTIC_MAX_RESTARTS=0|"
	 "4$TORCHELASTIC_USE_AGENT_STORE=False|4$CUDA_VISIBLE_DEVICES=0,1|"
	 "4$CUDA_DEVICE_ORDER=PCI_BUS_ID|4$OMP_NUM_THREADS!|4$SLURM_PROCID!",
	 "GM192"},
	{"a free port is set at the start", DDP, "a=2", "MASTER_PORT=1",
	 "0$MASTER_ADDR=127.0.0.1|0$MASTER_PORT-", ""},
	{"another launcher's variables", DDP, "a=4", STALE,
	 "1$RANK=1|1$WORLD_SIZE=4|1$OMPI_COMM_WORLD_RANK-|1$SLURM_PROCID-|1$PMI_RANK-|"
	 "1$TORCHELASTIC_RUN_ID-|1$TORCHELASTIC_ERROR_FILE-|1$MASTER_ADDR=127.0.0.1|"
	 "1$TORCHELASTIC_USE_AGENT_STORE=False|1$ROLE_NAME=default",
	 ""},
	{"a single rank", ONE("single"), "a=4", STALE,
	 "world=1|0$RANK-|0$WORLD_SIZE-|0$LOCAL_RANK-|0$SLURM_PROCID-|0$MASTER_ADDR-|"
	 "0$MASTER_PORT-|0$TORCHELASTIC_RUN_ID-|0$TORCHELASTIC_USE_AGENT_STORE-|0$ROLE_NAME-|"
	 "0$GROUP_RANK!|0$CUDA_VISIBLE_DEVICES=0,1,2,3",
	 ""},
	{"a single rank of dp", ONE("dp"), "a=4", "", "world=1|0$RANK!|0$MASTER_ADDR!", ""},
	{"a single rank of mp", ONE("mp"), "a=4", "", "world=1|0$RANK!|0$MASTER_ADDR!", ""},
	{"a single rank of ddp", DDP, "a=1", "", "world=1|0$RANK=0|0$WORLD_SIZE=1", ""},
	{"single, once on each of two hosts", ONE("single"), "a=1 + b=1", "",
	 "world=2|1$RANK=1|1$WORLD_SIZE=2", "GM192"},
	{"env and unset", DDP "[env p]\nA=%r of %h %%\nEMPTY=\n[unset p]\nHOME=\n", "tux[1-2]=2",
	 "SLURM_JOB_ID=5", "3$A=3 of tux2 %|3$EMPTY=|3$HOME-", ""},
	{"an empty machine", DDP, "a=0", "", "answered=0|world=0|0.visible=(null)", "GM010"},
	{"ranks without GPUs", DDP "[override x]\nprofile=p\nranks=2\n", "a=0", "",
	 "answered=1|world=2|0.visible=|0.gpu=-1|0$CUDA_VISIBLE_DEVICES=", "GM110"},
	{"threads of a number", DDP "[override x]\nprofile=p\nthreads=3\n", "a=2",
	 "OMP_NUM_THREADS=9", "0.threads=3|0$OMP_NUM_THREADS=3", ""},
	{"the argument of old scripts", DDP "[override x]\nprofile=p\npass_local_rank=yes\n", "a=2",
	 "", "1><train><--lr><1><--local_rank=1>", ""},
	{"the argument by another name", DDP "[override x]\nprofile=p\npass_local_rank=--lrank\n",
	 "a=2", "", "0><train><--lr><1><--lrank=0>", ""},
	{"the argument of one rank",
	 DDP "[override x]\nprofile=p\nwhen_rank=1\npass_local_rank=yes\n", "a=2", "",
	 "0><train><--lr><1>|1><train><--lr><1><--local_rank=1>", ""},
	{"macros in arguments",
	 "[profile p]\nprogram=t\n[program t]\ndevice=cuda:%l\ncommand=t %r/%n %l 'a %r' \"b "
	 "%h\"\n",
	 "a=1 + b=2", "SLURM_JOB_ID=7", "2><t><2/1><1><a %r><b b>", ""},
	{"no program", "[profile p]\nranks=2\n", "a=2", "", "0>|world=2", "GM187"},
	{"overrides by rank",
	 DDP "[override x]\nprofile=p\nwhen_rank=2-3\nworkdir=/w/%r\n[override "
	     "y]\nprofile=p\nwhen_host=b\n"
	     "kill_grace=1s\n[override z]\nprofile=p\nwhen_local_rank=0\nworkdir=/l\n",
	 "a=2 + b=2", "SLURM_JOB_ID=1",
	 "3:workdir=/w/3|0:kill_grace=30s|3:kill_grace=1s|"
	 "0:workdir=/l|1:workdir=.|2:workdir=/l|-1:workdir=.",
	 ""},
	{"overrides by host",
	 DDP "[override x]\nprofile=p\nwhen_host=b*\nranks=1\nshare=isolate\n[override "
	     "y]\nprofile=p\nwhen_node=0\n"
	     "gpus=3,1\n",
	 "a=4 + b1=2 + b2=2", "SLURM_JOB_ID=1",
	 "world=4|0.gpu=3|1.gpu=1|0.visible=3,1|2.visible=0|3.host=b2|3.size=1|3.gpu=0", ""},
	{"log names", DDP "[override x]\nprofile=p\nlog_dir=logs/%j\nlog_file=%h.%r.%s\n", "a=2",
	 "SLURM_JOB_ID=12", "1:log_dir=logs/12|1:log_file=a.1.out|run=12|1$TORCHELASTIC_RUN_ID=12",
	 ""},
	{"a job's id is not a path", DDP "[override x]\nprofile=p\nlog_dir=logs/%j\n", "a=2",
	 "SLURM_JOB_ID=../../12", "port=0", ""},
	{"restarts", DDP "[override x]\nprofile=p\non_fail=restart:3\n", "a=2", "",
	 "1$TORCHELASTIC_MAX_RESTARTS=3", ""},
	{"slots of a hostfile", DDP, "@4 a slots=2\nb:3\nc\n", "SLURM_JOB_ID=1",
	 "world=9|0.size=2|2.host=b|2.size=3|5.size=4", ""},
	{"slots where an override leaves the counting to them",
	 DDP "[override x]\nprofile=p\nranks=1\n[override y]\nprofile=p\nranks=auto\n"
	     "when_host=a,b\n",
	 "@4 a slots=2\nb:3\nc:4\n", "SLURM_JOB_ID=1", "world=6|4.host=b|5.host=c", ""},
	{"the profile counts before slots", DDP "[override x]\nprofile=p\nranks=1\n",
	 "@4 a slots=2\nb:3\n", "SLURM_JOB_ID=1", "world=2|1.host=b", ""},
	{"all ranks count before slots", DDP "[override x]\nprofile=p\nworld_size=5\n",
	 "@4 a slots=2\nb slots=1\n", "SLURM_JOB_ID=1", "world=5|0.size=4|4.host=b", ""},
	{"uneven hosts", DDP, "a=3 + b=1 + c=2", "SLURM_JOB_ID=100",
	 "world=6|3.host=b|3.local=0|4.node=2|5.gpu=1|port=12100|0$MASTER_PORT=12100", ""},
	{"a job's port by its name", DDP, "a=1 + b=1", "PBS_JOBID=4711.pbs", "port=16711", ""},
	{"a job that another node is in", DDP, "a=1 + b=1", "1!SLURM_JOB_ID=100",
	 "port=12100|run=100", ""},
	{"port of the job", DDP "[override x]\nprofile=p\nmaster_port=job\n", "a=2",
	 "SLURM_JOB_ID=16001", "port=12001", ""},
	{"a port", DDP "[override x]\nprofile=p\nmaster_port=4000\nmaster_addr=head\n", "a=2", "",
	 "port=4000|addr=head|1$MASTER_ADDR=head|1$MASTER_PORT=4000", ""},
	{"unlike GPUs by UUID", DDP, "a=" UNLIKE, "",
	 "answered=1|0.uuid=GPU-a0|0.name=A|0.pci=0000:10:00.0|1.gpu=1|1.mig=0|1.uuid=MIG-x|"
	 "2.uuid=MIG-y|2.mig=1|0$CUDA_DEVICE_ORDER!",
	 "GM043"},
	{"isolated", USES("cuda") "[override x]\nprofile=p\nshare=isolate\n", "a=2", "",
	 "1.visible=1|1.logical=0|1.gpu=1|1$CUDA_VISIBLE_DEVICES=1", ""},
	{"an inherited list", DDP, "a=4", "CUDA_VISIBLE_DEVICES=3,1",
	 "world=2|0.gpu=3|1.gpu=1|1.visible=3,1", ""},
	{"a collision", USES("cuda:0"), "a=2", "", "answered=0|1.gpu=0", "GM186"},
	{"outside a grant", DDP "[override x]\nprofile=p\ngpus=0,2\n", "a=4",
	 "SLURM_JOB_GPUS=1,2;CUDA_VISIBLE_DEVICES=1,2", "answered=0", "GM182"},
	{"a list that is not Slurm's", DDP, "a=4", "SLURM_JOB_GPUS=1,2;CUDA_VISIBLE_DEVICES=1,3",
	 "answered=1|world=2|0.gpu=1|1.gpu=3", "GM354"},
	{"it is not a grant", DDP "[override x]\nprofile=p\ngpus=0,2\n", "a=4",
	 "SLURM_JOB_GPUS=1,2;CUDA_VISIBLE_DEVICES=1,3", "answered=0", "GM354 GM183"},
	{"a list inside a cgroup", DDP, "a=4", "SLURM_JOB_GPUS=2,3;CUDA_VISIBLE_DEVICES=0,1",
	 "answered=1|world=2|0.gpu=0|1.gpu=1", ""},
	{"what ranks know about their run", DDP, "a=4", "SLURM_JOB_ID=7",
	 "1$GPUMAP_RUN_GPUS=1|1$GPUMAP_RUN_RANK=1|1$GPUMAP_RUN_ID=7", ""},
	{"own GPUs by UUID", DDP, "a=" UNLIKE, "GPUMAP_RUN_ID=old",
	 "1$GPUMAP_RUN_GPUS=MIG-x|1$GPUMAP_RUN_ID-", "GM043"},
	{"a rank of another run", DDP, "a=4",
	 "CUDA_VISIBLE_DEVICES=3,2,1,0;GPUMAP_RUN_GPUS=0,1;GPUMAP_RUN_RANK=2;GPUMAP_RUN_ID=x",
	 "answered=1|world=2|0.gpu=1|1.gpu=0|0.visible=1,0|1$GPUMAP_RUN_GPUS=0|"
	 "1$GPUMAP_RUN_RANK=1|1$GPUMAP_RUN_ID-",
	 ""},
	{"a rank of another run takes another's", DDP "[override x]\nprofile=p\ngpus=all\n", "a=4",
	 "GPUMAP_RUN_GPUS=0,1;GPUMAP_RUN_RANK=2", "answered=0", "GM271"},
	{"a rank of another run without GPUs", DDP, "a=4", "GPUMAP_RUN_GPUS=", "answered=0",
	 "GM271"},
	{"more ranks than GPUs", DDP "[override x]\nprofile=p\nranks=3\n", "a=2", "", "answered=0",
	 "GM185"},
	{"ranks that share a GPU on purpose",
	 USES("cuda:modulo") "[override x]\nprofile=p\nranks=4\nranks_per_gpu=2\n", "a=2", "",
	 "answered=1|2.gpu=0|3.gpu=1", "GM043"},
};

/* Ids of errors, warnings and remarks, each once. */
static char *ids(const gpumap_report *report)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const char *id =
			gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_ID);

		if (!buf.text || !strstr(buf.text, id))
			strbuf_printf(&buf, "%s%s", buf.length ? " " : "", id);
	}
	return strbuf_take(&buf);
}

static char *json_of(const char *name, const gpumap_plan *plan, const gpumap_report *report)
{
	char *text = NULL;

	ROW_EQ_INT(name,
		   gpumap_plan_format(&text, plan, GPUMAP_FORMAT_JSON, GPUMAP_FORMAT_FLAG_ORIGINS,
				      report),
		   GPUMAP_OK);
	return text;
}

START_TEST(ranks)
{
	const char *name = rows[_i].name;
	struct job_scene scene;
	gpumap_report *report;
	gpumap_plan *again = NULL;
	char *first, *second, *found;

	job_set(&scene, rows[_i].files, rows[_i].hosts, rows[_i].environment);
	job_plan(&scene);
	found = ids(scene.report);
	ROW_EQ_INT(name, scene.code, GPUMAP_OK);
	job_holds(name, scene.plan, scene.environ, rows[_i].holds);
	ROW_EQ_STR(name, found, rows[_i].findings);
	first = json_of(name, scene.plan, scene.report);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_plan_parse(&again, first, strlen(first), "t.json", report),
		   GPUMAP_OK);
	job_holds(name, again, scene.environ, rows[_i].holds);
	second = json_of(name, again, report);
	ROW_EQ_STR(name, second, first);
	gpumap_plan_free(again);
	gpumap_report_free(report);
	free(first);
	free(second);
	free(found);
	job_free(&scene);
}
END_TEST

static const struct {
	const char *name, *files, *hosts, *environment;
	int code;
	const char *finding;
} bad_rows[] = {
	{"no host", DDP, "", "", GPUMAP_EINPUT, ""},
	{"a job's port without a job", DDP "[override x]\nprofile=p\nmaster_port=job\n", "a=1", "",
	 GPUMAP_EINPUT, "master_port = job, but no scheduler's job is running this"},
	{"a variable that is not set", DDP "[override x]\nprofile=p\nworkdir=${NOWHERE}\n", "a=1",
	 "", GPUMAP_EINPUT, "NOWHERE"},
};

START_TEST(no_plan)
{
	const char *name = bad_rows[_i].name;
	struct job_scene scene;
	char *found;

	job_set(&scene, bad_rows[_i].files, bad_rows[_i].hosts, bad_rows[_i].environment);
	job_plan(&scene);
	ROW_EQ_INT(name, scene.code, bad_rows[_i].code);
	ck_assert_msg(!scene.plan, "%s", name);
	found = findings_text(scene.report);
	ck_assert_msg(strstr(found, bad_rows[_i].finding), "%s: %s", name, found);
	ROW_EQ_INT(name, gpumap_report_worst(scene.report), GPUMAP_SEVERITY_ERROR);
	free(found);
	job_free(&scene);
}
END_TEST

static int stop(const char *name, const char *value, void *data)
{
	return --*(int *)data ? 0 : 42;
}

/* What only the start knows, and the edges of every getter. */
START_TEST(start)
{
	struct job_scene scene;
	char **arguments = NULL, *value = NULL;
	int left = 3;

	job_set(&scene, DDP "[override x]\nprofile=p\nlog_dir=l/%j\n", "a=2", "");
	job_plan(&scene);
	ck_assert_int_eq(scene.code, GPUMAP_OK);
	ck_assert_int_eq(gpumap_plan_set_run(scene.plan, NULL, 0), GPUMAP_OK);
	job_holds("before", scene.plan, NULL, "port=0|run=(null)|0$MASTER_PORT!");
	ck_assert_int_eq(gpumap_plan_set_run(scene.plan, "r1", 4242), GPUMAP_OK);
	job_holds("after", scene.plan, NULL,
		  "port=4242|run=r1|1$MASTER_PORT=4242|1$TORCHELASTIC_RUN_ID=r1|1:log_dir=l/r1");
	ck_assert_int_eq(gpumap_plan_variable_each(scene.plan, 0, NULL, stop, &left), 42);
	ck_assert_int_eq(left, 0);
	ck_assert_int_eq(gpumap_plan_variable_each(scene.plan, -1, NULL, stop, &left),
			 GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_plan_variable_each(scene.plan, 2, NULL, stop, &left),
			 GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_plan_rank_arguments(&arguments, scene.plan, 2, NULL),
			 GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_plan_expand_setting(&value, scene.plan, "nothing", 0, NULL, NULL),
			 GPUMAP_EKEY);
	ck_assert_ptr_null(arguments);
	ck_assert_ptr_null(value);
	ck_assert_ptr_null(gpumap_plan_setting(scene.plan, "nothing", 0));
	ck_assert_ptr_null(gpumap_plan_str(NULL, GPUMAP_PLAN_MODE));
	ck_assert_int_eq(gpumap_plan_int(NULL, GPUMAP_PLAN_HOSTS), -1);
	ck_assert_int_eq(gpumap_plan_rank_int(scene.plan, INT64_MAX, GPUMAP_RANK_NODE), -1);
	job_free(&scene);
}
END_TEST

/* There is no host past the end, also where there is none at all. */
START_TEST(hosts)
{
	const int one[] = {0};
	gpumap_hosts *list = NULL;

	ck_assert_int_eq(gpumap_hosts_new(&list), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_set_cpus(list, 7, "0", one, one, 1), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_hosts_set_environ(list, 0, NULL, NULL), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_hosts_set_inventory(list, 3, NULL), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_hosts_set_like(list, 0, 0), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_hosts_parse_list(list, "a[1-3]", "x", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_parse_list(list, "b,a2", "x", NULL), GPUMAP_EINPUT);
	ck_assert_uint_eq(gpumap_hosts_count(list), 3);
	ck_assert_str_eq(gpumap_hosts_name(list, 2), "a3");
	ck_assert_ptr_null(gpumap_hosts_name(list, 3));
	ck_assert_int_eq(gpumap_hosts_parse_list(list, "c[1-99998]", "x", NULL), GPUMAP_ELIMIT);
	ck_assert_uint_eq(gpumap_hosts_count(list), 3);
	gpumap_hosts_free(list);
	gpumap_hosts_free(NULL);
}
END_TEST

/* Hosts a to d have 1 to 4 GPUs of their own; what each has when some are like others. */
static const struct {
	const char *name;
	size_t pairs[4][2]; /* host, other */
	size_t count;
	const char *holds;
} like_rows[] = {
	{"none", {{0}}, 0, "world=10|0.size=1|1.size=2|3.size=3|6.size=4"},
	{"one", {{1, 0}}, 1, "world=9|1.host=b|1.size=1|2.size=3"},
	{"like one that is like a third",
	 {{1, 0}, {2, 1}},
	 2,
	 "world=7|1.size=1|2.host=c|2.size=1"},
	{"like one that then is like a third", {{2, 1}, {1, 0}}, 2, "world=7|1.size=1|2.size=1"},
	{"four in a row", {{3, 2}, {2, 1}, {1, 0}}, 3, "world=4|3.host=d|3.size=1"},
	{"in a circle", {{0, 1}, {1, 0}}, 2, "world=11|0.size=2|2.host=b|2.size=2"},
	{"in a circle of three",
	 {{0, 1}, {1, 2}, {2, 0}},
	 3,
	 "world=13|0.size=3|3.size=3|6.size=3"},
	{"itself", {{2, 2}}, 1, "world=10|3.size=3"},
	{"itself again", {{2, 0}, {2, 2}}, 2, "world=10|3.host=c|3.size=3"},
	{"a host that is not there", {{2, 4}, {4, 2}}, 2, "world=10|3.size=3"},
};

START_TEST(like)
{
	const char *name = like_rows[_i].name;
	struct job_scene scene;

	job_set(&scene, DDP, "a=1 + b=2 + c=3 + d=4", "SLURM_JOB_ID=1");
	for (size_t i = 0; i < like_rows[_i].count; i++) {
		size_t host = like_rows[_i].pairs[i][0], other = like_rows[_i].pairs[i][1];

		ROW_EQ_INT(name, gpumap_hosts_set_like(scene.hosts, host, other),
			   host < 4 && other < 4 ? GPUMAP_OK : GPUMAP_EINPUT);
	}
	job_plan(&scene);
	ROW_EQ_INT(name, scene.code, GPUMAP_OK);
	job_holds(name, scene.plan, scene.environ, like_rows[_i].holds);
	job_free(&scene);
}
END_TEST

/* A plan does not use GPUs that no program can use, and reports why. */
static const struct {
	const char *name, *files, *holds, *text, *fix;
} unusable_rows[] = {
	{"a rank for each", DDP, "answered=0|world=0", "no GPU on a, because no driver is loaded",
	 "load it; or write ranks = N"},
	{"named", DDP "[override x]\nprofile=p\ngpus=0,1\n", "answered=0",
	 "no GPU on a, because no driver is loaded", "load it; or write"},
	{"counted ranks", DDP "[override x]\nprofile=p\nranks=2\n",
	 "answered=1|world=2|0.gpu=-1|0$CUDA_VISIBLE_DEVICES=",
	 "no GPU on a, because no driver is loaded: its ranks start without", NULL},
};

START_TEST(unusable)
{
	const char *name = unusable_rows[_i].name;
	gpumap_inventory *inventory = plan_machine("2");
	struct job_scene scene;
	const gpumap_finding *f;

	ck_assert(member_set(&inventory->no_gpu, span_of("no driver is loaded")));
	inventory->no_gpu_fix = "load it";
	job_set(&scene, unusable_rows[_i].files, "a=2", "");
	ck_assert_int_eq(gpumap_hosts_set_inventory(scene.hosts, 0, inventory), GPUMAP_OK);
	job_plan(&scene);
	ROW_EQ_INT(name, scene.code, GPUMAP_OK);
	job_holds(name, scene.plan, scene.environ, unusable_rows[_i].holds);
	f = gpumap_report_get(scene.report, 0);
	ck_assert_ptr_nonnull(f);
	ck_assert_msg(strstr(gpumap_finding_str(f, GPUMAP_FINDING_TEXT), unusable_rows[_i].text),
		      "%s: %s", name, gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	if (unusable_rows[_i].fix)
		ck_assert_msg(starts_with(gpumap_finding_str(f, GPUMAP_FINDING_FIX),
					  unusable_rows[_i].fix),
			      "%s: %s", name, gpumap_finding_str(f, GPUMAP_FINDING_FIX));
	job_free(&scene);
	gpumap_inventory_free(inventory);
}
END_TEST

/* What gpus = free:2 stands for. */
#define FREE DDP "[override x]\nprofile=p\ngpus=free:2\n"
static const struct {
	const char *name, *files, *hosts, *list, *environment, *holds, *findings, *lease;
} free_rows[] = {
	{"two", FREE, "a=4", "1,3", "",
	 "answered=1|world=2|0.gpu=1|1.gpu=3|0.visible=1,3|1.logical=1", "", "1,3"},
	{"in an order", FREE, "a=4", "3,1", "", "answered=1|0.gpu=3|1.gpu=1", "", "3,1"},
	{"inside the inherited list", FREE, "a=4", "1,3", "CUDA_VISIBLE_DEVICES=3,1,0",
	 "answered=1|world=2|0.gpu=1|1.gpu=3", "", "1,3"},
	{"outside of it", FREE, "a=4", "1,2", "CUDA_VISIBLE_DEVICES=3,1", "answered=0", "GM183",
	 "1,2"},
	{"in a rank of a run", FREE, "a=4", "1,2", "GPUMAP_RUN_GPUS=0;GPUMAP_RUN_RANK=0",
	 "answered=0", "GM271", "1,2"},
	{"not chosen", FREE, "a=4", NULL, "", "answered=0|world=0", "GM329", NULL},
	{"of two hosts", FREE, "a=4 + b=4", "1,2", "SLURM_JOB_ID=1", "answered=0", "GM329", NULL},
	{"a GPU that is not there", FREE, "a=4", "1,7", "", "answered=0", "GM180", "1,7"},
	{"twice the same", FREE, "a=4", "1,1", "", "answered=0", "GM180", "1,1"},
	{"no list of numbers", FREE, "a=4", "x", "", "answered=0", "GM180", "x"},
	{"a GPU with MIG", FREE, "a=" UNLIKE, "0,1", "", "answered=0", "GM180", "0,1"},
	{"unused", DDP, "a=2", "1", "", "answered=1|world=2|0.gpu=0", "", NULL},
};

static void has_lease(const char *name, const gpumap_plan *plan, const char *lease)
{
	if (lease)
		ROW_EQ_STR(name, plan->lease, lease);
	else
		ck_assert_msg(!plan->lease, "%s: %s", name, plan->lease);
}

START_TEST(free_gpus)
{
	const char *name = free_rows[_i].name;
	gpumap_plan *again = NULL;
	struct job_scene scene;
	char *found, *text;

	job_set(&scene, free_rows[_i].files, free_rows[_i].hosts, free_rows[_i].environment);
	ROW_EQ_INT(name, gpumap_hosts_set_free(scene.hosts, 0, free_rows[_i].list), GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_hosts_set_free(scene.hosts, 7, "1"), GPUMAP_EINPUT);
	job_plan(&scene);
	ROW_EQ_INT(name, scene.code, GPUMAP_OK);
	job_holds(name, scene.plan, scene.environ, free_rows[_i].holds);
	found = ids(scene.report);
	ROW_EQ_STR(name, found, free_rows[_i].findings);
	has_lease(name, scene.plan, free_rows[_i].lease);
	text = json_of(name, scene.plan, scene.report);
	ROW_EQ_INT(name, gpumap_plan_parse(&again, text, strlen(text), "t.json", NULL),
		   free_rows[_i].lease && !is_digit(*free_rows[_i].lease) ? GPUMAP_EINPUT
									  : GPUMAP_OK);
	if (again)
		has_lease(name, again, free_rows[_i].lease);
	gpumap_plan_free(again);
	free(text);
	free(found);
	job_free(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-job");
	TCase *tests = tcase_create("plan-job");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, ranks, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, no_plan, 0, (int)ARRAY_SIZE(bad_rows));
	tcase_add_loop_test(tests, unusable, 0, (int)ARRAY_SIZE(unusable_rows));
	tcase_add_loop_test(tests, like, 0, (int)ARRAY_SIZE(like_rows));
	tcase_add_loop_test(tests, free_gpus, 0, (int)ARRAY_SIZE(free_rows));
	tcase_add_test(tests, start);
	tcase_add_test(tests, hosts);
	return unit_run(suite);
}

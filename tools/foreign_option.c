/* SPDX-License-Identifier: MIT */
#include "foreign_option.h"

#include <string.h>

#include "base.h"

#define LOGS "write --log-dir DIR for a file of each rank; --console selects what is shown"
#define ALONE "leave it out: nothing here needs it"
#define COUNT "write --ranks N for the ranks of each host, or --world-size N for those of all hosts"
#define LIMIT "write --timeout DURATION, such as --timeout 2h"
#define OF_SLURM \
	"it is not an option of gpumap: give it to sbatch or srun, or add it to the script of " \
	"gpumap emit " \
	"sbatch"
#define SET "write it before: NAME=VALUE gpumap ...; or into [env NAME] of a profile"

const struct foreign foreign_options[] = {
	/* torchrun and torch.distributed.launch */
	{"--rdzv-conf", "leave it out: ranks set their own time limits"},
	{"--local-addr", "leave it out; --node-rank N sets the number of this host"},
	{"--local-ranks-filter", "write --console rank0"},
	{"--role", "leave it out: ROLE_NAME is default"},
	{"--start-method", ALONE},
	{"--monitor-interval", "leave it out: the end of a rank is seen at once"},
	{"--run-path", "leave it out, and write the program"},
	{"--logs-specs", LOGS},
	{"--event-log-handler", ALONE},
	{"--signals-to-handle", "write --forward SIGNAL,... for those that ranks are to get"},
	{"--virtual-local-rank", "write --share isolate"},
	{"--numa-binding", "write --cpu-bind numa"},
	{"--use-env", "leave it out: LOCAL_RANK is always set"},
	/* accelerate and deepspeed */
	{"--num-processes", "write --world-size N"},
	{"--num-machines", "write --nnodes N"},
	{"--num-nodes", "write --nnodes N"},
	{"--num-gpus", COUNT},
	{"--ngpus", COUNT},
	{"--n-gpus", COUNT},
	{"--ngpu", COUNT},
	{"--gpus-per-node", COUNT},
	{"--machine-rank", "write --node-rank N"},
	{"--main-process-ip", "write --master-addr HOST"},
	{"--main-process-port", "write --master-port PORT"},
	{"--multi-gpu", ALONE},
	{"--gpu-ids", "write --gpus 2,3"},
	{"--include", "write --gpus 2,3"},
	{"--devices", "write --gpus 2,3; --device is what the program uses"},
	{"-g", "write --gpus 2,3"},
	{"--visible", "write --gpus 2,3: ranks are given their lists"},
	{"--visible-devices", "write --gpus 2,3"},
	{"--cuda-visible-devices", "write --gpus 2,3"},
	/* mpirun and srun */
	{"-n", COUNT},
	{"-np", COUNT},
	{"--np", COUNT},
	{"--nprocs", COUNT},
	{"--ntasks", "write --world-size N"},
	{"--ntasks-per-node", "write --ranks N"},
	{"--nodes", "write --nnodes N"},
	{"-N", "write --nnodes N"},
	{"--nodelist", "write --hosts HOST,..."},
	{"-w", "write --hosts HOST,..."},
	{"--cpus-per-task", "write --cpu-bind cores:N"},
	{"-c", "write --cpu-bind cores:N"},
	{"--time", LIMIT},
	{"--time-limit", LIMIT},
	{"--walltime", LIMIT},
	{"--gres", "write --ranks N: gpumap emit asks Slurm for the GPUs of the ranks"},
	{"--partition", OF_SLURM},
	{"-p", OF_SLURM},
	{"--account", OF_SLURM},
	{"-A", OF_SLURM},
	{"--qos", OF_SLURM},
	{"--job-name", OF_SLURM},
	{"-J", OF_SLURM},
	{"--mem", OF_SLURM},
	{"--constraint", OF_SLURM},
	{"--exclusive", OF_SLURM},
	{"-H", "write --hosts HOST,..."},
	{"--host", "write --hosts HOST,..."},
	{"--hostfile", "write --hosts file:FILE"},
	{"-x", SET},
	{"-e", SET},
	{"--env", SET},
	/* options of one command */
	{"--dry-run", "gpumap plan starts nothing in any case"},
	{"--sweep", "it belongs to gpumap run"},
	{"--output",
	 "write --log-dir DIR for the output of ranks; gpumap plan and emit write their "
	 "answer with -o FILE"},
	{"--version", "gpumap --version shows it"},
	{NULL, NULL},
};

/* Words that people try as options of explain. */
static const struct {
	const char *names; /* separated by blanks */
	const char *remedy;
} explain_options[] = {
	{"--gpu --gpus --gpu-ids --gpu-id --devices --include -g",
	 "write --visible 2,3 for the list, or --device 1 for a device in it; gpumap run has "
	 "--gpus"},
	{"--cuda-visible-devices --cuda --visible-devices --nvidia-visible-devices",
	 "write --visible 2,3"},
	{"--hip-visible-devices --rocr-visible-devices", "write --visible 2,3 --dialect hip"},
	{"--id --ids --index --idx --ordinal --logical --dev -d", "write --device N"},
	{"-i", "write --device N for a device, --inventory FILE for a machine"},
	{"--physical", "write --visible N; the answer names the physical GPU"},
	{"--nproc --nproc-per-node --ranks --num-gpus --gpus-per-node --world-size -n -np",
	 "gpumap plan shows the ranks of a job, gpumap run starts them: gpumap run --ranks 2 "
	 "train.py"},
	{"--list -l --list-gpus --gpus-list -q --query-gpu", "write gpumap inventory"},
	{"--machine --hardware --gpu-model", "write --inventory 8xH100, FILE or host"},
	{"-p --process", "write --pid N"},
	{"--local-rank-id --rank -r", "write --local-rank N"},
	{"--verbose -v --debug --why", "leave it out: every step is shown; --json has more"},
	{"--quiet -q", "leave it out; --json is for programs"},
	{"--order --device-order", "write --prefix CUDA_DEVICE_ORDER=PCI_BUS_ID"},
	{"--output -o", "write > FILE after the command; --format selects the form"},
	{"--version", "gpumap --version shows it"},
};

const char *explain_option(struct span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(explain_options); i++)
		if (span_among(name, explain_options[i].names))
			return explain_options[i].remedy;
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *foreign_launcher(const char *const *arguments, size_t count)
{
	static const char *const programs[] = {"torchrun", "deepspeed", "mpirun", "mpiexec",
					       "srun"};
	const char *program = count ? last_part(arguments[0]) : "";

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (streq(program, programs[i]))
			return programs[i];
	if (count > 1 && streq(program, "accelerate") && streq(arguments[1], "launch"))
		return "accelerate";
	/* Skips python's own options, which are short. */
	for (size_t i = 1; i + 1 < count && *arguments[i] == '-'; i++)
		if (streq(arguments[i], "-m") &&
		    (streq(arguments[i + 1], "torch.distributed.run") ||
		     streq(arguments[i + 1], "torch.distributed.launch")))
			return arguments[i + 1];
	return NULL;
}

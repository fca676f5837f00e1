/* SPDX-License-Identifier: MIT */
/* See foreign_option.h. */
#include "cli/foreign_option.h"

#include <string.h>

#include "base.h"

#define LOGS "write --log-dir DIR for a file of each rank; --console selects what is shown"
#define ALONE "leave it out: nothing here needs it"
#define COUNT "write --ranks N for the ranks of each host, or --world-size N for those of all hosts"
#define LIMIT \
	"write --timeout DURATION, such as --timeout 2h; gpumap emit sbatch then writes #SBATCH " \
	"--time"
#define OF_SLURM(line) \
	"it is not an option of gpumap: give it to sbatch or srun, or add it to the script of " \
	"gpumap emit sbatch: #SBATCH " line
#define FOLDER "write --workdir DIR"
#define RESTART "write --max-restarts N"
#define NOHUP \
	"write nohup gpumap run --log-dir DIR ... & for a run in the background, with its output " \
	"in DIR"
#define BEHIND "leave it out, and " NOHUP
#define CHECK "gpumap plan checks it, and starts nothing"
#define MORE \
	"leave it out: gpumap plan --origin shows all settings, and --log-dir DIR keeps the " \
	"output"
#define GPUS_OF_NODE \
	"write --inventory {--gpus-per-node|N} if each host has {--gpus-per-node|N} GPUs: a rank " \
	"runs " \
	"on each; --ranks N sets another number of ranks for each host"
#define PROFILE \
	"gpumap config --config /dev/null --profile {--save-profile --profile|NAME} " \
	"--gpus{=--gpus|=inherit} --ranks{=--ranks --nproc-per-node|=auto} --command " \
	"{.py|train.py} " \
	">>gpumap.ini adds a new profile, also with other settings in that line; then gpumap run " \
	"--profile " \
	"{--save-profile --profile|NAME}"
#define MODEL "write --inventory 8xH100"
#define SLOTS(gpu) \
	"two jobs may use GPU {" gpu "|0}: start each with gpumap pick 1 --from {" gpu \
	"|0} --slots 2 -- PROGRAM; memory is not divided"
#define GPUS(names) "write --gpus {" names "|2,3}"
#define JOBS \
	"write jobs = N into [sweep NAME]: gpumap run --sweep NAME then has N runs at a time; " \
	"or " SLOTS("--gpus")
#define SET "write it before: NAME=VALUE gpumap ...; or into [env NAME] of a profile"

/* As a command that can be typed. */
#define SWEEP_LINES(values) \
	"printf '%s\\n' '[program p]' 'command = train.py --lr ${lr}' '[profile p]' 'program = " \
	"p' 'gpus = free:1' '[sweep lr]' 'profile = p' 'jobs = 4' 'lr = " values "' >lr.ini"
#define SWEEP(values) \
	"gpumap run --config lr.ini --sweep lr starts a run for each value of such a " \
	"file: " SWEEP_LINES(values)
#define PARAMETER(name) \
	"write it behind the program: {.py|train.py} " name " {" name \
	"|0.1}; " SWEEP("{" name "|0.1, 0.2}")

const struct foreign foreign_options[] = {
	/* torchrun and torch.distributed.launch */
	{"--local-addr", "leave it out; --node-rank N sets the number of this host"},
	{"--run-path", "leave it out, and write the program"},
	{"--logs-specs", LOGS},
	{"--event-log-handler", ALONE},
	{"--signals-to-handle", "write --forward SIGNAL,... for those that ranks are to get"},
	{"--virtual-local-rank", "write --share isolate"},
	{"--numa-binding", "write --cpu-bind numa"},
	/* accelerate and deepspeed */
	{"--num-processes", "write --world-size N"},
	{"--num-machines", "write --nnodes N"},
	{"--num-nodes", "write --nnodes N"},
	{"--num-gpus", COUNT},
	{"--ngpus", COUNT},
	{"--n-gpus", COUNT},
	{"--ngpu", COUNT},
	{"--nproc", COUNT},
	{"--gpus-per-node", GPUS_OF_NODE},
	{"--gpus-per-task", "write --share isolate, with which each rank sees one GPU"},
	{"--machine-rank", "write --node-rank N"},
	{"--main-process-ip", "write --master-addr HOST"},
	{"--main-process-port", "write --master-port PORT"},
	{"--multi-gpu", ALONE},
	{"--gpu-ids", GPUS("--gpu-ids")},
	{"--include", GPUS("--include")},
	{"--devices", GPUS("--devices") "; --device is what the program uses"},
	{"-g", GPUS("-g")},
	{"--cuda", GPUS("--cuda")},
	{"--visible", GPUS("--visible") ": ranks are given their lists"},
	{"--visible-devices", GPUS("--visible-devices")},
	{"--cuda-visible-devices", GPUS("--cuda-visible-devices")},
	/* mpirun and srun */
	{"-n", COUNT},
	{"-np", COUNT},
	{"--np", COUNT},
	{"--nprocs", COUNT},
	{"--ntasks", "write --world-size N"},
	{"--ntasks-per-node", "write --ranks N"},
	{"--nodes", "write --nnodes N for their number, --hosts HOST,... for their names"},
	{"-N", "write --nnodes N"},
	{"--nodelist", "write --hosts HOST,..."},
	{"-w", "write --hosts HOST,..."},
	{"--cpus-per-task", "write --cpu-bind cores:N"},
	{"-c", "write --cpu-bind cores:N; a profile file is --config FILE"},
	{"--time", LIMIT},
	{"--time-limit", LIMIT},
	{"--walltime", LIMIT},
	{"--gres", GPUS_OF_NODE},
	{"--partition", OF_SLURM("--partition={--partition|VALUE}")},
	{"-p", OF_SLURM("-p {-p|VALUE}")},
	{"--account", OF_SLURM("--account={--account|VALUE}")},
	{"-A", OF_SLURM("-A {-A|VALUE}")},
	{"--qos", OF_SLURM("--qos={--qos|VALUE}")},
	{"--job-name", OF_SLURM("--job-name={--job-name|VALUE}")},
	{"-J", OF_SLURM("-J {-J|VALUE}")},
	{"--constraint", OF_SLURM("--constraint={--constraint|VALUE}")},
	{"--exclusive", OF_SLURM("--exclusive")},
	{"-H", "write --hosts HOST,..."},
	{"--host", "write --hosts HOST,..."},
	{"--hostfile", "write --hosts file:FILE"},
	{"--bind-to", "write --cpu-bind numa, cores:N or none"},
	{"--map-by", COUNT},
	{"--oversubscribe", "write --ranks-per-gpu N"},
	{"--wdir", FOLDER},
	{"--chdir", FOLDER},
	{"--cwd", FOLDER},
	{"-x", SET},
	{"-e", SET},
	{"--env", SET},
	/* options of many programs */
	{"--verbose", MORE},
	{"-v", MORE},
	{"--quiet", "write --console none"},
	{"-q", "write --console none"},
	{"--log", LOGS},
	{"--logs", LOGS},
	{"--restart", RESTART},
	{"--restarts", RESTART},
	{"--retries", RESTART},
	{"--detach", BEHIND},
	{"--background", BEHIND},
	{"-d", BEHIND},
	{"--check", CHECK},
	{"--validate", CHECK},
	{"--save-profile", PROFILE},
	{"--gpu-type", MODEL},
	{"--gpu-model", MODEL},
	{"--machine", MODEL},
	/* options of one command */
	{"--dry-run", "gpumap plan starts nothing in any case"},
	{"--sweep", "it belongs to gpumap run"},
	{"--lr", PARAMETER("--lr")},
	{"--learning-rate", PARAMETER("--learning-rate")},
	{"--jobs", JOBS},
	{"--parallel", JOBS},
	{"--output",
	 "write --log-dir DIR for the output of ranks; gpumap plan and emit write their "
	 "answer with -o FILE"},
	{"--version", "gpumap --version shows it"},
	{NULL, NULL},
};

/* Words that people try as options, separated by blanks. */
struct guess {
	const char *names;
	const char *fix;
};

#define PRETEND(command) \
	"write gpumap pretend --inventory {--inventory --machine|8xH100} -- gpumap " command

#define IGNORE \
	"the comment # gpumap: ignore={GM*|GM030} at the end of a line of a script hides that " \
	"finding " \
	"of gpumap lint"

#define MEMORY \
	"--memory --mem --limit --min-memory --min-mem --free --gpu-memory --mem-limit " \
	"--memory-limit " \
	"--max-memory --mem-per-gpu --vram"

/* As options of a command that starts no ranks, or of its own: rows without a fix name it. */
static const struct guess guesses[] = {
	{"explain", NULL},
	{"--gpu --gpus --gpu-ids --gpu-id --devices --include -g",
	 "write --visible {--gpus --gpu --gpu-ids --gpu-id --devices --include -g|2,3} for the "
	 "list, or --device 1 for a device in it; gpumap run has --gpus"},
	{"--cuda-visible-devices --cuda --visible-devices",
	 "write --visible {--cuda-visible-devices --cuda --visible-devices|2,3}"},
	{"--nvidia-visible-devices --docker",
	 "write --container 2,3: the container has these GPUs, and counts them from 0"},
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
	{"inventory", NULL},
	{"-L --list --list-gpus -l -q -a --all --gpus --gpu --device --devices -i --id",
	 "leave it out: gpumap inventory lists all GPUs"},
	{"--pid --process --processes --procs -p",
	 "gpumap --pid N explains the running process N; nvidia-smi lists the processes of a GPU"},
	{"--watch -w --loop --memory --utilization --usage",
	 "nvidia-smi shows what is in use; gpumap inventory shows the GPUs once"},
	{"--topo --topology -m", "write --json: it has the links between GPUs"},
	{"-o --output --file --write",
	 "write --save FILE for a snapshot, or > FILE after the command"},
	{"pretend", NULL},
	{"--gpus --gpu --num-gpus --gpu-model --devices --machine --hardware -n -g -i",
	 "write --inventory 8xH100"},
	{"config", NULL},
	{"-o --output --file --write --save --init", "write >gpumap.ini after the command"},
	{"plan", NULL},
	{"--svg --picture", "write --format svg, and >plan.svg after the command"},
	{"ps", NULL},
	{"--inventory --machine", PRETEND("ps")},
	{"--pid --process -p", "write gpumap --pid N for the process N"},
	{"--id --gpu --device --devices --index -i -g", "write --gpus 2 for GPU 2"},
	{"--watch --loop --interval -w -l -n -d", "write --follow, or --follow=5 for every 5 s"},
	{"lint", NULL},
	{"--ignore", IGNORE},
	{"--exclude", "name the files and folders to check: gpumap lint $(git ls-files '*.py' "
		      "':!{--exclude|DIR}')"},
	{"--fix --write", "leave it out: gpumap lint changes no file; each finding has its remedy"},
	{"--all -a -r --recursive", "name a folder: gpumap lint ."},
	{"exec", NULL},
	{"--verbose -v", "write --dry-run to see what would be started"},
	{"--quiet -q --log --logs --output --detach --background -d",
	 "it belongs to the launcher that started the job; gpumap exec becomes the program"},
	{"--restart --restarts --retries", "it belongs to the launcher that started the job"},
	{"leases", NULL},
	{"--end --kill --stop --cancel --release --free --drop --delete --remove -d",
	 "write --revoke 3 for the lease of GPU 3, or --revoke pid:PID"},
	{"doctor", NULL},
	{"--inventory --machine --gpus", PRETEND("doctor")},
	{"pick", NULL},
	{"--inventory --machine", PRETEND("pick {#|2}")},
	{MEMORY,
	 "write --min-free {" MEMORY "|20G} for GPUs with that much memory free; memory is not "
	 "limited by gpumap"},
	{"--share --shared --jobs", SLOTS("--from")},
	{"--gpus --num-gpus --ngpus --count -n -g --nproc",
	 "the number of GPUs is a word: gpumap pick 2 -- PROGRAM"},
	{"--timeout --time --walltime --time-limit",
	 "write --for 2h for the job; --wait 10m for the time that it waits"},
	{"emit", NULL},
	{"--sbatch --srun --slurm --torchrun --mpirun --accelerate --deepspeed --shell --format "
	 "--target --to",
	 "the launcher is a word: gpumap emit sbatch ..."},
};

#define COUNTED "--reserve --gpus #"
#define WAIT \
	"gpumap pick {" COUNTED "|2} --wait{=--timeout --wait|} -- PROGRAM waits for {" COUNTED \
	"|2} free GPUs and reserves them, and so does gpumap run --gpus free:{" COUNTED \
	"|2} --wait{=--timeout --wait|} PROGRAM"
#define ONE_GPU "# --gpu --gpus -g -i --id"
/* What is wanted, as a word for a command or as an option of any. */
static const struct guess intents[] = {
	{"wait reserve reservation allocate alloc lock acquire book queue get", WAIT},
	{"share shared slots mps oversubscribe", SLOTS("--gpus #")},
	{"nohup bg background detach daemon", NOHUP},
	{"ssh remote", "each host starts its own ranks: n=0; for h in node1 node2; do ssh $h "
		       "gpumap run --hosts node1,node2 "
		       "--inventory 8 --node-rank $n PROGRAM & n=$((n+1)); done"},
	{"save store", PROFILE},
	{"ignore disable noqa suppress silence", IGNORE},
	{"sweep sweeps grid search tune hparam hparams", SWEEP("{--lr --learning-rate|0.1, 0.2}")},
	{"limit mem mem-per-gpu mem-limit min-mem min-memory memory memory-limit gpu-memory "
	 "max-memory vram",
	 "memory is not limited by gpumap; "
	 "torch.cuda.set_per_process_memory_fraction({*" MEMORY
	 " #G|20G} / torch.cuda.get_device_properties(0).total_memory) in the "
	 "program does, and so does an instance of MIG; gpumap pick 1 --min-free {" MEMORY
	 " #G|20G} -- PROGRAM "
	 "takes a GPU with that much free, gpumap ps shows what is in use"},
	{"stale gc clean cleanup kill zombie zombies orphan orphans prune reap",
	 "gpumap ps --stale lists the processes whose run has ended, with their PIDs, and ends "
	 "none; to end one: kill PID; Ctrl-C in gpumap run ends a run"},
	{"import pip module api", PYTHON_JSON "; " PYTHON_MODULE},
	{"driver drivers torch pytorch tensorflow jax cupy compat compatible compatibility "
	 "versions cuda cudnn nccl",
	 "gpumap doctor compares the driver with the PyTorch of this environment; gpumap run "
	 "train.py starts a program"},
	{"visible visibles indexes list-indices",
	 "gpumap indices prints the visible list, gpumap uuids its UUIDs; write --visible 2,3 to "
	 "ask about a list"},
	{"uuid uuids indices index physical ordinal pci",
	 "gpumap uuid {" ONE_GPU "|3} prints that of GPU {" ONE_GPU
	 "|3} of this machine, gpumap uuid cuda:1 that of a device "
	 "of this environment, and so does pci; gpumap indices and gpumap uuids print the list"},
	{"mig instance instances", "gpumap inventory lists the MIG instances, and gpumap pick 1 "
				   "--mig -- PROGRAM takes a free "
				   "one"},
	{"picture image draw diagram svg plot graph viz visualize",
	 "gpumap --format svg >gpus.svg draws this environment, gpumap --visible 2,3 --device 1 "
	 "--format svg >gpus.svg another list, gpumap plan "
	 "--format svg train.py >plan.svg a plan"},
	{"failed failure crash crashed traceback log logs output postmortem post-mortem report "
	 "last",
	 "gpumap run --log-dir DIR writes a file for each rank and a record of the run, and names "
	 "the rank that failed first, with its last lines"},
	{"stop cancel end scancel abort terminate",
	 "end gpumap run itself, with Ctrl-C or kill PID, and it ends its ranks; "
	 "pgrep -af 'gpumap run' shows its PID, gpumap leases that of a program of gpumap pick"},
};

const char *intended(struct span word)
{
	for (; word.length && *word.text == '-'; word.length--)
		word.text++;
	for (size_t i = 0; i < ARRAY_SIZE(intents); i++)
		if (span_among(word, intents[i].names))
			return intents[i].fix;
	return NULL;
}

const char *guessed_option(const char *command, struct span name)
{
	bool own = false;

	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++)
		if (!guesses[i].fix)
			own = streq(guesses[i].names, command);
		else if (own && span_among(name, guesses[i].names))
			return guesses[i].fix;
	return NULL;
}

const char *foreign_launcher(const char *const *arguments, size_t count)
{
	static const char *const programs[] = {"torchrun", "deepspeed", "mpirun", "mpiexec",
					       "srun"};
	const char *program = count ? file_name(arguments[0]) : "";

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

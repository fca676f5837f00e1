/* SPDX-License-Identifier: MIT */
/* The plan that a command uses: read from a file, or made from a profile and options over hosts. */
#ifndef GM_PLAN_OPEN_H
#define GM_PLAN_OPEN_H

#include "job/rdzv_options.h"

struct launch_rank;
struct options;
struct speech;

struct plan_options {
	struct profile_options profile;
	const char *file;         /* --plan */
	const char *nnodes;       /* --nnodes */
	const char *node_rank;    /* --node-rank */
	const char *module;       /* -m or --module, as written; NULL: neither */
	bool no_python;           /* --no-python */
	bool standalone;          /* --standalone */
	const char *ranks_filter; /* --local-ranks-filter */
	struct rendezvous rendezvous;
	bool starts;    /* the ranks are started now */
	bool one;       /* this process is one rank of a plan that is read from a file */
	bool scheduled; /* a scheduler's job, which does not exist yet, will start the ranks */
	bool lints;     /* the program's code is compared with the plan */
	bool again;     /* one of a sweep's later runs: what holds for all was said */
	bool looks;     /* at what other jobs compute on its GPUs, by the setting on_busy */
	bool chooses;   /* gpus = free:COUNT: chooses GPUs of this host; else it is refused */
	gpumap_lease **lease; /* gets the lease of these GPUs; NULL: the plan only shows them */
	char **machine;       /* gets this host's `inventory`, for free(); NULL: it is not wanted */
	char on_fail[32];     /* of --max-restarts */
	char **program; /* the words of the program, ended by NULL; NULL: the profile's program */
};

/* The options that plan_option takes besides those of a profile's keys; for the tables of commands.
 */
#define PLAN_OPTION_ROWS(type, member) \
	PROFILE_OPTION_ROWS(type, member.profile), \
		{"--plan", "FILE", \
		 "use the plan that gpumap plan -o wrote to FILE, instead of making one", \
		 TEXT_TO(type, member.file)}, \
		{"--nproc-per-node", "gpu|COUNT", \
		 "as torchrun: the same as --ranks COUNT; gpu means --ranks auto. If both are " \
		 "given, the last one counts", \
		 0}, \
		{"--nnodes", "COUNT", \
		 "as torchrun: the number of hosts; each has the same GPUs as this host", \
		 TEXT_TO(type, member.nnodes)}, \
		{"--node-rank", "N", "as torchrun: the number of this host, from 0", \
		 TEXT_TO(type, member.node_rank)}, \
		{"--max-restarts", "COUNT", "as torchrun: the same as --on-fail restart:COUNT", \
		 0}, \
		{"--standalone", NULL, "as torchrun: use only this host", \
		 FLAG_TO(type, member.standalone)}, \
		RENDEZVOUS_OPTION_ROWS(type, member.rendezvous), \
		{"-m", NULL, \
		 "as torchrun: PROGRAM is the name of a module, which python3 -u -m runs", 0}, \
		{"--module", NULL, "the same as -m", 0}, \
		{"--local-ranks-filter", "N,...", \
		 "as torchrun: 0 is the same as --console rank0; other values are ignored", \
		 TEXT_TO(type, member.ranks_filter)}, \
		{"--role", "NAME", "accepted for torchrun's command lines, and ignored", 0}, \
		{"--monitor-interval", "SECONDS", \
		 "accepted for torchrun's command lines, and ignored", 0}, \
		{"--start-method", "NAME", "accepted for torchrun's command lines, and ignored", \
		 0}, \
		{"--rdzv-conf", "SETTINGS", "accepted for torchrun's command lines, and ignored", \
		 0}, \
		{"--use-env", NULL, "accepted for torch.distributed.launch, and ignored", 0}, \
		{"-r", "STREAMS", "as torchrun: the same as --redirects", 0}, \
		{"-t", "STREAMS", "as torchrun: the same as --tee", 0}, \
	{ \
		"--no-python", NULL, \
			"as torchrun: execute FILE.py itself, instead of python3 -u FILE.py", \
			FLAG_TO(type, member.no_python) \
	}

/* Takes one of these options, or of those of profile_option(). GPUMAP_EINPUT. */
int plan_option(struct plan_options *options, const char *name, const char *value,
		gpumap_report *report);

/* Applies what follows from several options together. Call it after the last option. `here`: this
 * command starts the ranks of one node. GPUMAP_EINPUT. */
int plan_options_settle(struct plan_options *options, bool here, gpumap_report *report);
/* Refuses --standalone for a plan of `count` hosts, the first of which is `first` (NULL: there is
 * no host), if it is not of this node alone. */
int plan_check_standalone(const struct plan_options *options, size_t count, int64_t node,
			  const char *first, gpumap_report *report);

/* Fails if an option would change a profile: the plan in `file` already has all settings. */
int plan_check_alone(const struct plan_options *options, const char *option, const char *file,
		     gpumap_report *report);

/* The profile with the options applied and their program. */
int plan_profile_open(gpumap_profile **ret, const struct plan_options *options,
		      gpumap_report *report);
/* Gives a profile the program of the options, if they have one, and the interpreter of FILE.py. */
int plan_set_program(gpumap_profile *profile, const struct plan_options *options,
		     gpumap_report *report);

/* FILE.py of "python3 -u FILE.py"; NULL: it is another command. */
const char *plan_script(const char *const *arguments, size_t count);
/* Reports why the rank's python cannot read its FILE.py, which python's own exit status would not
 * show. Returns an errno; 0: python can read it, or the rank has no FILE.py. */
int plan_check_script(const struct launch_rank *rank, const struct speech *speech,
		      gpumap_report *report);
/* Makes the checks of the start on this host, the plan's host `node`. GPUMAP_EINPUT after its
 * error: a rank's folder, FILE.py or program cannot be used. */
int plan_check_programs(const gpumap_plan *plan, int64_t node, gpumap_report *report);
/* Makes the same checks for the first rank only, if the plan is about the host's own GPUs, and
 * reports a remark instead of an error. */
int plan_seek_program(const gpumap_plan *plan, int64_t node, gpumap_report *report);
/* A remark if the profile's program is a file of this host that cannot be executed. Without a plan:
 * what is not here may be on the host of the run. */
int plan_seek_file(const gpumap_profile *profile, gpumap_report *report);
/* Sets the profile's `device` to what the program does, if the profile has no value and the program
 * can be read. *missing (unless NULL) becomes the FILE.py if it does not exist here. */
int plan_read_program(gpumap_profile *profile, const char **missing, gpumap_report *report);
/* Reports an option of gpumap after FILE.py, which gets it, if FILE.py does not mention it and no
 * -- was written. */
void plan_remark_options(const struct options *options, const struct plan_options *plan,
			 gpumap_report *report);
/* Names such a file beside the finding that how it picks its device is not known. A plan for this
 * host has the findings of plan_seek_program instead. */
void plan_remark_missing(const gpumap_plan *plan, const char *missing, gpumap_report *report);

/* Reads or makes the plan, and judges it. *node is the number of the node that is this machine; -1:
 * no node is, or it is not known. */
int plan_open(gpumap_plan **ret, int64_t *node, const struct plan_options *options,
	      gpumap_report *report);

/* Refuses a plan that the code of its program does not fit, by the setting lint. `inventory` is
 * that of its first host. */
void plan_lint(gpumap_plan *plan, const gpumap_inventory *inventory, gpumap_report *report);
/* The file that the program's code is in: FILE.py of a Python, or a script; NULL: it is another
 * program. */
const char *plan_code(const char *const *arguments, size_t count);
/* Reports that several ranks are started which no setting asked for, if the program is not known to
 * work with ranks. */
void plan_remark_ranks(const gpumap_plan *plan, gpumap_report *report);
struct python_start;
/* What the plan gives its program, as lint sees a job. It lives as long as the plan. `arguments`
 * are the program's. */
void plan_picture(struct python_start *ret, const gpumap_plan *plan);
/* The path of a file with code, as a program that is started in `folder` finds it, for free();
 * NULL: it is no code, or reading it could take long. */
char *plan_code_path(const char *folder, const char *file);

struct plan_layout;
/* Whether a rank uses the GPU of this number, or this instance of it (-1: any). */
bool plan_uses_gpu(const struct plan_layout *layout, int gpu, int64_t mig);
/* Whether the use of the GPUs has to be known, by two settings. */
bool plan_looks(const char *on_busy, const char *inventory);
/* A warning, or by on_busy = refuse an error, if other jobs compute on GPUs of the plan's host
 * `node`, which is this machine. `here` is its inventory with usage; NULL: it is read. GPUs that
 * are leased for the plan are not looked at. */
void plan_check_busy(gpumap_plan *plan, int64_t node, const gpumap_inventory *here,
		     gpumap_report *report);

/* Refuses a plan that no machine could start; the report has the reason. */
void plan_judge(gpumap_plan *plan, gpumap_report *report);
/* Does the same inside a rank of another run, for a plan that was read from a file. A plan that was
 * made there has the GPUs of that rank already. Checks rank `rank`; -1: all ranks of the node. */
void plan_judge_inside(gpumap_plan *plan, int64_t node, int64_t local_rank, gpumap_report *report);
/* Whether the program is another launcher, which is then an error: started in each of `ranks`
 * ranks, it would start its own ranks that many times. */
bool plan_nests(const char *const *arguments, size_t count, size_t ranks, gpumap_report *report);

/* gpumap_plan_make() for ranks that start now. A remark about how the program picks its device is
 * dropped, unless another share than the list was asked for. */
int plan_make_quietly(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		      gpumap_report *report);

/* Makes the plan of an open profile, and judges it. */
int plan_from(gpumap_plan **ret, int64_t *node, gpumap_profile *profile,
	      const struct plan_options *options, gpumap_report *report);

#endif

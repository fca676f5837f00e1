/* SPDX-License-Identifier: MIT */
/* The plan that a command works on: a file of one, or a profile and options over hosts. */
#ifndef GM_PLAN_OPEN_H
#define GM_PLAN_OPEN_H

#include "rendezvous.h"

struct launch_rank;
struct speech;

struct plan_options {
	struct profile_options profile;
	const char *file;      /* --plan */
	const char *nnodes;    /* --nnodes */
	const char *node_rank; /* --node-rank */
	const char *module;    /* -m or --module, as it was written; NULL: neither */
	bool no_python;        /* --no-python */
	bool standalone;       /* --standalone */
	struct rendezvous rendezvous;
	bool starts;      /* the ranks are started now */
	bool one;         /* this process is one rank of a plan that is read */
	bool scheduled;   /* a scheduler's job that is not there yet starts the ranks */
	char on_fail[32]; /* of --max-restarts */
	char **program;   /* its words as given, ended by NULL; NULL: the profile's */
};

/* The options that plan_option takes beside those of a profile's keys; for the tables of
 * commands. */
#define PLAN_OPTION_ROWS \
	{"--config", "FILE", "the profile file, instead of the default files"}, \
		{"--profile", "NAME", \
		 "the profile, not the file's default; or set GPUMAP_PROFILE"}, \
		{"--plan", "FILE", \
		 "use this plan, written by gpumap plan -o, instead of making one"}, \
		{"--nproc-per-node", "N", "as torchrun: --ranks N; gpu is auto"}, \
		{"--nnodes", "N", "as torchrun: the number of nodes, all like this one"}, \
		{"--node-rank", "N", "as torchrun: the number of this node"}, \
		{"--max-restarts", "N", "as torchrun: the same as --on-fail restart:N"}, \
		{"--standalone", NULL, "as torchrun: use only this node"}, RENDEZVOUS_OPTION_ROWS, \
		{"-m", NULL, "as torchrun: PROGRAM is a module, run by python3 -u -m"}, \
		{"--module", NULL, "the same as -m"}, \
		{"-r", "STREAMS", "the same as --redirects"}, \
		{"-t", "STREAMS", "the same as --tee"}, \
	{ \
		"--no-python", NULL, "as torchrun: execute FILE.py itself, not python3 -u FILE.py" \
	}

/* Takes one of these, or one of profile_option's; false: another one. *failed after a
 * finding. */
bool plan_option(struct plan_options *options, const char *name, const char *value,
		 gpumap_report *report, bool *failed);

/* After the last of them: what several say together. `here`: one of the nodes is started, by this
 * command line. GPUMAP_EINPUT. */
int plan_options_settle(struct plan_options *options, bool here, gpumap_report *report);

/* Fails where an option changes a profile: `file` has all settings. */
int plan_check_alone(const struct plan_options *options, const char *option, const char *file,
		     gpumap_report *report);

/* The profile with what options change, their program in it. */
int plan_profile_open(gpumap_profile **ret, const struct plan_options *options,
		      gpumap_report *report);
/* Gives a profile the options' program, if they have one. */
int plan_set_program(gpumap_profile *profile, const struct plan_options *options,
		     gpumap_report *report);

/* FILE.py of "python3 -u FILE.py"; NULL: the command is another. */
const char *plan_script(const char *const *arguments, size_t count);
/* Says why the rank's python cannot read that FILE.py; it would end with a status that says
 * nothing. An errno; 0: it can, or there is none. */
int plan_check_script(const struct launch_rank *rank, const struct speech *speech,
		      gpumap_report *report);
/* GPUMAP_EINPUT after the error that the start on this host, the plan's host `node`, would give: a
 * rank's folder, FILE.py or program cannot be used. */
int plan_check_programs(const gpumap_plan *plan, int64_t node, gpumap_report *report);
/* A remark for the first rank alone, where the plan is about the host's own GPUs. */
int plan_seek_program(const gpumap_plan *plan, int64_t node, gpumap_report *report);
/* How the program picks its device becomes the profile's `device`, where that says nothing and the
 * program can be read. */
int plan_read_program(gpumap_profile *profile, gpumap_report *report);

/* Reads or makes the plan, and judges it. *node is which of its nodes this machine is, -1: none of
 * them, or not known. */
int plan_open(gpumap_plan **ret, int64_t *node, const struct plan_options *options,
	      gpumap_report *report);

/* What no machine could start is a plan without an answer, and the report says why. */
void plan_judge(gpumap_plan *plan, gpumap_report *report);
/* The same for a plan that was read, inside a rank of another run: one that was made has that
 * rank's GPUs. Of the node all ranks are looked at, or one; -1: all. */
void plan_judge_inside(gpumap_plan *plan, int64_t node, int64_t local_rank, gpumap_report *report);
/* Whether the program is another launcher: started in each of `ranks`, it would start all of its
 * own as many times. Then that is an error. */
bool plan_nests(const char *const *arguments, size_t count, size_t ranks, gpumap_report *report);
/* Whether ranks can write a log file of that name; false after a finding. */
bool plan_log_name(const gpumap_plan *plan, const char *file, gpumap_report *report);

/* gpumap_plan_make for ranks that are started now: how the program picks its device matters to
 * whoever asked for another share than the list. */
int plan_make_quietly(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		      gpumap_report *report);

/* Makes the plan of a profile that is open, and judges it. */
int plan_from(gpumap_plan **ret, int64_t *node, gpumap_profile *profile,
	      const struct plan_options *options, gpumap_report *report);

#endif

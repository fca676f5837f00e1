/* SPDX-License-Identifier: MIT */
/*
 * The lint of shell scripts, one walk over the tokens. shell_walk has the grammar and the frames,
 * and shell_vars has the value of each variable at this point. shell_word expands words as far as
 * the script defines them. shell_set has the builtins that set variables. shell_program removes
 * wrappers before a program (env, sudo, nohup). shell_command judges the variables that reach the
 * program. shell_string walks the commands of bash -c, and shell_launch reads launchers.
 *
 * The effects of a branch or a loop are unknown after it. What is unknown gives no finding.
 */
#ifndef GM_LINT_SHELL_SCRIPT_H
#define GM_LINT_SHELL_SCRIPT_H

#include "hash.h"
#include "lint/shell.h"
#include "lint/shell_lex.h"
#include "lint/slurm.h"
#include "report/report.h"
#include "strbuf.h"

enum {
	SHELL_FRAMES = 256,     /* nested compound commands */
	SHELL_COMMANDS = 8,     /* levels of $(...) that are walked */
	SHELL_VARS = 65536,     /* different names */
	SHELL_LONGEST = 1024,   /* bytes of a value that is tracked */
	SHELL_EXPANDED = 16384, /* bytes of a command's words */
	SHELL_SPENT = 16 << 20  /* bytes of all values that are longer than SHELL_LONGEST */
};

/* Signs in expanded text for an unknown part, and for the border of two elements of an array. */
#define SHELL_UNKNOWN '\0'
#define SHELL_BORDER '\1'

/* The variables that matter for the start of programs. They are the first of a script's variables.
 */
enum tracked {
	TRACKED_LIST,
	TRACKED_ORDER,
	TRACKED_THREADS,
	TRACKED_PORT,
	TRACKED_ADDRESS,
	TRACKED_SIZE,
	TRACKED_RANK,
	TRACKED_LOCAL_RANK,
	TRACKED_COUNT
};

struct setting {
	enum {
		SET_INHERITED, /* the script has not touched it */
		SET_VALUE,
		SET_UNKNOWN,
		SET_NOT /* it is unset here */
	} state;
	enum {
		EXPORT_INHERITED, /* exported if the caller exported it */
		EXPORT_YES,
		EXPORT_NO,
		EXPORT_UNKNOWN
	} exported;
	struct span value;
	struct place at; /* of the statement that set it */
	unsigned serial; /* its position in time */
	unsigned scope;  /* and in the grammar */
	bool used;       /* by a program, since it was set */
	bool reported;   /* it was reported that it is not exported */
	bool derived;    /* from another variable, which may change in a loop */
	bool granted;    /* Slurm sets it, so a file that is read does not */
	bool judged;     /* it was compared with what Slurm grants */
	const char
		*source;   /* what it is derived from: source_variable(), source_devices; or NULL */
	struct place over; /* a prefix that hid it from a program; line 0: none */
};

/* Whether a program gets the value, from a variable or an option. */
static inline bool is_given(const struct setting *s)
{
	return s->state == SET_VALUE && s->exported == EXPORT_YES;
}

struct shell_var {
	struct span name;
	struct setting now;
	unsigned saved;        /* the scope that saved its previous setting */
	bool by_function;      /* some function sets it */
	bool function;         /* a function has this name */
	bool referenced;       /* $NAME occurs somewhere */
	struct place misspelt; /* where it was first set; line 0: its name is correct */
};

/* NAME=value before a command. */
struct prefix {
	struct span name;
	struct setting set;
	bool adds;     /* NAME+=value */
	bool argument; /* of export and the like, after the command's name */
};

struct word {
	size_t start, length; /* in the command's buffer */
	struct place at;
	bool loose;         /* may become any number of words */
	bool derived;       /* from a variable */
	const char *source; /* as of a setting */
	struct span quoted; /* shell_quoted() of it, in the script's text */
};

struct command {
	struct strbuf text;
	struct word *words;
	size_t count, room;
	struct prefix *prefixes;
	size_t prefix_count, prefix_room;
	struct inner {
		struct lexer lexer; /* on the commands of a substitution */
	} * inner;
	size_t inner_count, inner_room;
	const char *begin; /* in the script's text */
	bool reads_list;   /* it contains $CUDA_VISIBLE_DEVICES */
};

enum frame_kind {
	FRAME_SCRIPT,
	FRAME_BRACES,
	FRAME_SUBSHELL,
	FRAME_IF,
	FRAME_BRANCH, /* of if, case, && and || */
	FRAME_CASE,
	FRAME_LOOP,
	FRAME_FUNCTION
};

struct frame {
	enum frame_kind kind;
	unsigned scope, serial;
	size_t trail, jobs;
	struct place at;
	bool chain;           /* a branch begun by && or || */
	bool patterns;        /* of a case: patterns follow */
	bool waits;           /* of a loop: it limits the number of its programs */
	bool waiting;         /* ... and it is while or until, which may wait for something */
	int64_t rounds;       /* of a loop; -1: not known */
	struct place started; /* of a loop: a program in the background; line 0: none */
};

struct saved {
	size_t var;
	struct setting setting;
	unsigned saved;
};

/* GPUs of the numbers 0 to 63; 0: not known. */
struct gpus {
	uint64_t bits;
	bool relative; /* counted in a list that is not known */
	unsigned base; /* when that was set */
	bool derived;  /* from a variable, which may change */
};

struct job {
	int64_t port;
	struct place at;
	struct gpus gpus;
	enum lint_launcher launcher;
	bool default_port; /* as of a launch */
	bool background, literal;
	size_t start; /* its place among the started programs, plus one; 0: it has none */
};

enum { SHELL_JOBS = 64 };

struct shell {
	struct span text;
	const char *origin;
	gpumap_report *report;
	struct lint_started *started;
	struct arena arena;
	int64_t visible;
	bool crowded;   /* more than SHELL_VARS */
	bool functions; /* the script defines functions */

	struct shell_var *vars;
	size_t var_count, var_room;
	struct hash_index index; /* of vars, by name */
	struct saved *trail;
	size_t trail_count, trail_room;
	unsigned serial, scopes, sourced, called;

	struct frame frames[SHELL_FRAMES];
	int frame_count;
	struct command commands[SHELL_COMMANDS];
	int level;

	bool allexport; /* set -a */
	bool moved;     /* it may have changed its folder, or have got files from elsewhere */
	bool watched;   /* $!, kill, jobs or trap: the script manages its jobs */
	bool batch;     /* it has #SBATCH lines */
	bool queued;    /* it has lines of a scheduler, such as #PBS: another host runs it */
	bool in_step;   /* inside srun bash -c, so `slurm` is of the step */
	bool in_job;    /* inside sbatch --wrap, so `slurm` is of that job */
	bool spread;    /* inside a shell that a launcher starts, perhaps on other nodes */
	bool remote;    /* it starts programs on other nodes in some way */
	struct slurm slurm;
	struct place tasks_at; /* of --ntasks or --ntasks-per-node, of which is later */
	struct {
		struct place at; /* line 0: none */
		enum lint_launcher launcher;
		int64_t nodes;
	} waiting;        /* a launcher that waits for other nodes */
	bool deprecated;  /* the warning was reported */
	bool broken;      /* the last command was the rest of a line that is not continued */
	size_t spent;     /* bytes of long values, see shell_affords() */
	unsigned program; /* when the last program started that may use GPUs */
	struct job jobs[SHELL_JOBS];
	size_t job_count;
	struct place left; /* a background program that is never waited for; line 0: none */
	struct {
		struct span value;
		const char *launcher;
		int64_t count;
	} counted;        /* the last list that was counted */
	struct span good; /* the last list that has no faults */
};

/* A finding at a place of the script. */
#define shell_report(sh, id, where, rule_id, remedy, ...) \
	report_add((sh)->report, id, \
		   ABOUT(.rule = rule_id, .origin = (sh)->origin, .line = (where).line, \
			 .column = (where).column, .fix = remedy), \
		   __VA_ARGS__)

/* shell_walk.c: walks to the lexer's end. */
void shell_walk(struct shell *sh, struct lexer *lx);

/* shell_walk.c: the words of a command, in the buffers of this level. */
struct command *shell_fresh(struct shell *sh);
/* Reads a word, or an assignment before the first word. */
void shell_word(struct shell *sh, struct command *c, struct token t);
/* Walks the commands of $(...), which run before the command, in a subshell. */
void shell_inner(struct shell *sh, struct command *c);
/* The number of iterations of a loop over these words, the first of which is "in"; -1: not known.
 */
int64_t shell_rounds(const struct command *c);

/* shell_vars.c: state that ends with a bracket of the grammar. */
struct frame *shell_frame(struct shell *sh);
/* NULL: too many. */
struct frame *shell_push(struct shell *sh, enum frame_kind kind, struct place at);
void shell_pop(struct shell *sh);
struct frame *shell_in(struct shell *sh, enum frame_kind kind); /* the innermost; NULL: none */

/* shell_vars.c */
const char *tracked_name(enum tracked tracked);
/* Among the tracked variables; NULL: not tracked. */
struct shell_var *shell_tracked(struct shell *sh, struct span name);
struct shell_var *shell_var(struct shell *sh, struct span name);
struct setting shell_setting(struct shell *sh, struct shell_var *var);
/* Changes the variable from here on; frames restore it. */
void shell_set(struct shell *sh, struct shell_var *var, struct setting setting);
void shell_forget(struct shell *sh, struct span name);       /* its value is unknown now */
void shell_forget_names(struct shell *sh, struct span text); /* all that stand in it */
struct span shell_keep(struct shell *sh, struct span text);

/* shell_origin.c */
/* The name of a variable of Slurm that matters as the origin of a value; NULL: it is another one.
 */
const char *source_variable(struct span name);
/* The same for what commands print. */
const char *source_commands(const struct shell *sh, struct span commands);
/* Whether each task of srun has its own value of it. */
bool is_task_variable(const char *source);
/* The source of what nvidia-smi counts, and of arithmetic with SLURM_ARRAY_TASK_ID. */
extern const char source_devices[], source_array_sum[];
/* Of the name of the node, in a task of srun. */
extern const char source_host[];

/* shell_word.c: expands a token into words of the command. */
void shell_expand(struct shell *sh, struct command *c, struct token token, bool split);
/* Expands a value without splitting it into words, in the arena, and what it is derived from.
 * Unknown pieces are SHELL_UNKNOWN. */
void shell_value(struct shell *sh, struct command *c, struct token token, struct setting *ret);
struct span word_text(const struct command *c, size_t i);
static inline bool is_option(struct span word)
{
	return word.length > 1 && *word.text == '-';
}
bool span_known(struct span text);

/* NAME=VALUE for a message; only NAME if the value is not known. */
const char *shell_show(struct quoted *ret, struct span name, struct span value);
#define SHOW(name, value) shell_show(&(struct quoted){{0}}, name, value)

/* Whether one more value of this length may be kept, so that memory and time stay in bounds. */
bool shell_affords(struct shell *sh, size_t length);
/* Notes as used the variables for the start of programs that a text names. */
void shell_mention(struct shell *sh, struct span text);

/* shell_arithmetic.c: the value of what is between $(( and )); -1: not known, or negative. */
int64_t shell_calculate(struct shell *sh, struct span text);

/* The text between the quotes of a word; .text is NULL if it may differ when the command runs. */
struct span shell_quoted(struct span word);

/* shell_set.c */
/* Reports a name that was invented: unread_variable(). */
void shell_report_unread(struct shell *sh, struct span name, struct place at);
/* NAME+=VALUE before a command becomes the whole value. */
void shell_join(struct shell *sh, struct command *c);
/* The assignments before an empty command. */
void shell_assign(struct shell *sh, struct command *c, bool lasting);
/* export, unset, read and the like; false: another command. */
bool shell_builtin(struct shell *sh, struct command *c, bool lasting);
/* Reports, at the end of the script, variables that were set for no program. */
void shell_unused(struct shell *sh);

/* shell_mistake.c: statements that the shell reads as something else. True: the command is such a
 * statement. */
bool shell_mistake(struct shell *sh, struct command *c);

/* shell_list.c: the number of devices of a list, by gpumap_resolve; -1: not known. `launcher`: the
 * key's value, or NULL. */
int64_t shell_count(struct shell *sh, struct span list, const char *launcher);
/* The largest number of a list; -1: it has none. */
int64_t shell_largest(struct span list);
/* 0,1,2; of many the first. */
const char *first_numbers(struct quoted *ret, int64_t count);
/* The GPUs of the first entries of a list, which are all numbers below 64; 0: they are not. */
uint64_t shell_devices(struct shell *sh, struct span list, int64_t entries);
/* Reports faults of a list. */
void shell_check_list(struct shell *sh, struct span list, struct place at);
/* Reports an order of devices without effect. */
void shell_check_order(struct shell *sh, struct span order, struct place at);
/* Reports the effect of DeepSpeed on a list: DeepSpeed fails, or the order is lost (rule S10). */
void shell_check_deepspeed(struct shell *sh, struct span list, struct place at);

/* A command that starts a program, as shell_command.c splits it. */
struct run {
	struct command *c;
	size_t first; /* the word that is the program's name */
	bool background, nohup, srun;
	bool cleared;       /* env -i */
	bool dropped;       /* ... or sudo: it does not get the list */
	bool foreign;       /* ssh, docker: the rest runs elsewhere */
	struct slurm slurm; /* of srun */
};

/* shell_command.c */
void shell_run(struct shell *sh, struct command *c, bool background);

/* shell_program.c */
/* NAME=value before the command, the last of this name; NULL: there is none. */
const struct prefix *command_prefix(const struct command *c, struct span name);
/* The setting of a variable that reaches the program, from a prefix or by export. */
struct setting run_setting(struct shell *sh, const struct run *run, enum tracked tracked);
bool is_python(struct span word);
bool is_program(struct span word, const char *name);
bool is_gpu_program(const struct command *c, size_t first);
/* The word with the script of a shell's -c, where `first` is the word of the shell. If there is no
 * such word, it is the number of the command's words. */
size_t shell_string_word(const struct command *c, size_t first);
/* Moves run->first past wrappers before the program. */
void shell_unwrap(struct shell *sh, struct run *run);

/* shell_container.c: what docker or podman run gives to the container, if it is at run->first. */
void shell_container(struct shell *sh, const struct run *run);

/* shell_command_string.c: walks the commands of bash -c, if there are any and they are known. */
void shell_string(struct shell *sh, const struct run *run, size_t first);
/* Reads sbatch at run->first, and walks the commands of its --wrap. */
void shell_wrap(struct shell *sh, const struct run *run);

/* shell_launch.c */
void shell_program(struct shell *sh, struct run *run);

/* shell_launcher.c */
struct launch {
	enum lint_launcher launcher;
	struct place at;
	int64_t nproc; /* -1: not known */
	int64_t nnodes;
	int64_t port; /* -1: not known, or none */
	bool no_port, cpu;
	bool default_port;  /* the port is only that of some versions, or of one that is free */
	bool filtered;      /* other options choose devices */
	bool loose;         /* an unknown part may have an option */
	bool passes;        /* passes --local_rank */
	bool hosts;         /* other hosts than this one may take part */
	bool rendezvous_id; /* --rdzv-id */
	bool agrees;        /* a rendezvous numbers the nodes */
	bool numbered;      /* the number of this node is given, or may be by the rendezvous */
	bool endpoint;      /* the address is of --rdzv-endpoint */
	struct setting ids, ranks, port_option, address; /* as options give them */
	size_t program; /* its word; the number of the command's words: there is no program */
	bool module;
};
static inline bool by_torch(const struct launch *launch)
{
	return launch->launcher == LINT_TORCHRUN || launch->launcher == LINT_TORCH_LAUNCH;
}

/* Reads a launcher's arguments from word `first` on. */
void launch_read(const struct command *c, size_t first, struct launch *launch);

/* shell_sharing.c */
/* The GPUs that a program uses. */
struct gpus sharing_gpus(struct shell *sh, const struct run *run, const struct launch *launch);
/* Reports another program that uses some of them at the same time. */
void sharing_check(struct shell *sh, const struct job *job);
/* Reports a program that every round of a loop starts on the same GPUs. */
void sharing_rounds(struct shell *sh, const struct job *job, const struct frame *loop);
/* shell_start.c: the started program, with what is known of its job. Returns its place among those
 * started, plus one; 0: it is not a file that is known. `visible`: the GPUs that its ranks see; -1:
 * not known. */
size_t shell_start(struct shell *sh, const struct run *run, const struct launch *launch,
		   int64_t visible);
/* The file that python runs, from the word after its name on; c->count: none. */
size_t shell_python_file(const struct command *c, size_t i, const char **module);
/* Ranks on this host; -1: not known. */
int64_t launch_ranks(const struct launch *launch);

/* shell_background.c */
/* `start`: as of a job. */
void jobs_start(struct shell *sh, const struct run *run, const struct launch *launch, size_t start);
void jobs_waited(struct shell *sh);
/* The script has done something that may be to wait. */
void jobs_may_have_ended(struct shell *sh);
/* Ends a group that started jobs, with & or not; for a loop, an iteration. */
void jobs_close(struct shell *sh, const struct frame *frame, bool background);
void jobs_end(struct shell *sh);

/* shell_slurm.c: what a job or a step asks Slurm for. */
/* Reads #SBATCH lines, and sets the variables that Slurm derives from them. */
void slurm_comments(struct shell *sh);
/* Reads the options of sbatch, which is word `first`. Returns the word that is its script. */
size_t slurm_sbatch(struct shell *sh, const struct command *c, size_t first, struct slurm *slurm);
/* Reads the options of srun. Returns the word that is its program. */
size_t slurm_srun(struct shell *sh, struct run *run, size_t first);

/* shell_job.c */
/* The number of srun's tasks on a node, each of which starts the program; -1: not known. */
int64_t slurm_tasks(const struct slurm *slurm);
/* Whether srun starts one task. */
bool slurm_one_task(const struct shell *sh, const struct slurm *slurm);
/* How many GPUs each task of srun sees, if these are its own; 0: not known; -1: it sees all of the
 * step's. */
int64_t slurm_own_gpus(const struct slurm *slurm);
bool slurm_has_gpus(const struct slurm *slurm);
/* Sets the variables of Slurm to the values that a job or a step has. */
void slurm_set_variables(struct shell *sh, const struct slurm *slurm, bool step);

/* shell_grant.c */
/* Judges a number of ranks that is a variable of Slurm. */
void slurm_check_number(struct shell *sh, const struct launch *launch);
/* Judges a launcher whose number of ranks is that of the tasks which start it. */
void slurm_check_square(struct shell *sh, const struct launch *launch, int64_t ranks,
			int64_t tasks);
/* Judges the devices that a launcher is given inside a job. */
void slurm_check_ids(struct shell *sh, const struct run *run, const struct launch *launch);
/* Judges the list that reaches a program inside a job. */
void slurm_check_list(struct shell *sh, const struct run *run);

/* shell_nodes.c */
void nodes_check(struct shell *sh, const struct run *run, const struct launch *launch);
void nodes_end(struct shell *sh);

/* shell_step.c */
/* The step that the program runs in; NULL: it is in none. */
const struct slurm *shell_step(const struct shell *sh, const struct run *run);
/* Compares the tasks on a node with its GPUs. */
void slurm_check_tasks(struct shell *sh, const struct run *run, const struct launch *launch);
/* Judges srun at word `word`; `launch` is of the launcher that srun starts. */
void slurm_check(struct shell *sh, struct run *run, size_t word, const struct launch *launch);

#endif

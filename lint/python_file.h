/* SPDX-License-Identifier: MIT */
/*
 * The use of GPUs in a Python file. The scan collects observations in the order of the source; the
 * judges make findings of them when the whole file is known.
 */
#ifndef GM_PYTHON_FILE_H
#define GM_PYTHON_FILE_H

#include "arena.h"
#include "lint/python.h"
#include "lint/python_names.h"
#include "lint/python_text.h"
#include "lint/python_training.h"

enum {
	MAX_BLOCKS = 100,
	MAX_PATH = 96,
	MAX_VALUE = 64,
	MAX_OBSERVATIONS = 4096,
	MAX_STARTERS = 32
};

enum observation_kind {
#define OBSERVED(kind, judge) OBSERVED_##kind,
#define NOTED(kind) OBSERVED_##kind,
#include "lint/observations.def"
#undef OBSERVED
#undef NOTED
	OBSERVED_KINDS
};

enum observation_verb { OBSERVED_SETS, OBSERVED_DEFAULTS, OBSERVED_REMOVES };

struct observation {
	enum observation_kind kind;
	int line, column;
	struct span name; /* of the variable or option */
	struct python_value value;
	enum observation_verb verb;
	bool may;                /* it is in only one of several branches */
	bool otherwise;          /* that branch is an else */
	bool member;             /* in a method of a class */
	bool patched;            /* the environment is put back after it */
	size_t uses;             /* of `struct python_functions`, that came before it */
	int function;            /* 0: the file */
	bool guarded;            /* executed only by some ranks */
	bool both;               /* an option in both spellings */
	bool loose;              /* a device that is named here, and may be used nowhere */
	bool doubtful;           /* a condition in the statement decides, or an error is caught */
	bool argument;           /* the value is an argument of the command line */
	struct span initialised; /* the CUDA call that ran before; .text NULL: none */
	int initialised_line;
	const char *imported; /* the import of that module ran it: "helper.py:2"; NULL: no import */
	const char *list;     /* the visible list that an earlier line set; NULL: not known */
	size_t lister;        /* the observation of what set it: its position, plus one; 0: none */
	bool listed;          /* an earlier line may have set it */
	int64_t least;        /* a condition asks for so many devices; -1: that is not known */
	const char *ids;      /* device_ids, if they are numbers; NULL: not known */
	size_t id_count;
	bool all_ids;               /* device_ids is not given, which means all visible ones */
	struct python_value module; /* of DataParallel: its argument, or where it is moved to */
	const struct python_count *size; /* world_size of a group; how many processes are started */
	struct span ranked; /* the name that a group gets as rank, that is in device_ids, or that
			     * counts the processes; .text NULL: none */
	struct span target; /* what the processes execute */
	const struct python_count **given; /* the arguments that they get, in its order */
	size_t given_count;
	bool nested;       /* their loop is in another loop */
	bool own;          /* a group of which each process may have its own */
	bool elsewhere;    /* a group that does not meet by MASTER_ADDR */
	bool wrapped;      /* of keys: those of the file begin with module. */
	int other_line;    /* ... the line that saves them */
	struct span maker; /* ... the class of the module, if it is elsewhere */
};

/* Facts about the whole file. */
struct python_facts {
	bool torch, cuda;      /* torch is imported; a CUDA device is used */
	bool spawns;           /* it starts processes that may be ranks */
	bool spawns_ranks;     /* it starts processes that are ranks, or a test starts its ranks */
	bool numbers_ranks;    /* init_process_group gets a rank that is not the launcher's */
	bool finds_port;       /* MASTER_PORT is computed */
	bool frameworks;       /* a framework chooses devices */
	bool accelerator;      /* that framework is accelerate.Accelerator() */
	bool chooses;          /* a named device differs between ranks */
	bool several;          /* more than one device is named by number */
	int64_t number;        /* the first of these numbers, plus one; 0: none */
	bool sets_device;      /* a call sets the current device, to any value */
	bool distributed;      /* DistributedDataParallel or init_process_group */
	bool groups;           /* calls init_process_group */
	bool reads_local_rank; /* reads it from the environment */
	bool names_variables;  /* a string names a rank's variable or the visible list */
	bool own_list;         /* each rank sets its own visible list */
	bool sets_list;        /* sets or removes the visible list */
	bool reads_arguments;  /* reads arguments by sys.argv or another parser */
	bool odd_options;      /* options have other defaults or words than they show */
	bool reads_argument;   /* reads the argument local_rank */
	bool known_alone;      /* uses parse_known_args */
	bool deepspeed;        /* is written for the deepspeed launcher */
	bool ray;              /* Ray starts the processes */
	bool tests;            /* a framework of tests starts it */
	bool mocks;            /* it imports mock */
	bool names_tests;      /* it has functions that are tests by their names */
	bool one_process;      /* its group has one rank */
};

/* How a device is picked, for python_choice.c. */
enum python_pick { PICK_SETS, PICK_NAMES, PICK_CURRENT };
enum { MAX_PICKS = 256 };

struct python_choice {
	struct {
		enum python_pick pick;
		struct python_value value;
		int function, line;
		bool may;
		bool used; /* the device; false: it is only named */
	} picks[MAX_PICKS];
	size_t count;
	bool doubtful; /* another device may be picked */
	bool passed;   /* a device is used whose name is not known */
	bool foreign;  /* an imported package may pick a device */
	bool numbers;  /* the program itself numbers ranks */
};

/* Variables of the environment: the visible list, and any that a launcher sets. */
struct python_looked {
	bool list, launcher;
};

struct python_block {
	int indent, function;
	bool may, otherwise, guarded;
	bool branch;                       /* of if, else and except */
	bool cut;                          /* a branch in it returned */
	bool ended;                        /* the program may have ended in it */
	bool left;                         /* as cut, or a branch inside of its blocks returned */
	bool lacking;                      /* executed only where GPUs are missing */
	bool repeated;                     /* in the body of a loop */
	bool member;                       /* in the body of a class */
	bool patched;                      /* the environment is put back at its end */
	int attempt;                       /* the block of the try that it is in; 0: none */
	int64_t least;                     /* as of an observation */
	bool caught;                       /* an error in it is caught, or is wanted */
	const struct python_count *rounds; /* of a loop */
	struct span counter;               /* ... and its variable */
	struct python_looked tested;       /* what conditions have looked at */
	struct python_looked read;         /* of a try: what was read in it */
	struct span initialised;
	int initialised_line;
	int number;         /* in the order of the file, from 1 on */
	int owner;          /* the class around it; 0: none */
	struct span method; /* the name of the function around it */
	bool selected;      /* perhaps executed only by some ranks */
	bool epochs;        /* the body of a loop over a range */
	bool listed;        /* the list here is known; with a NULL list, known to be unknown */
	const char *list;
	size_t lister;
};

/* A number as the program computes it. */
enum count_kind {
	COUNT_NUMBER,
	COUNT_DEVICE, /* cuda:N */
	COUNT_NAME,
	COUNT_OPERATION,
	COUNT_DEVICES
};

struct python_count {
	enum count_kind kind;
	int function; /* in which it stands */
	bool nested;  /* that one is in another function, which may have its names */
	int64_t number;
	struct span name;
	char sign; /* + - * / */
	const struct python_count *left, *right;
};

/* An option of the command line, as add_argument declares it. */
struct python_option {
	struct span name, alias;          /* with their dashes; .text of `alias` NULL: none */
	const struct python_count *value; /* its default; NULL: not known */
	bool is_letter;                   /* the name has one dash */
	bool odd;                         /* its value is not the one word behind it */
};

enum { MAX_GIVEN = 64 };

/* What becomes of the arguments of the command line, in a file that declares --local_rank. */
struct python_arguments {
	bool watched; /* it does */
	bool parsed, used;
	bool elsewhere;               /* other files may read them */
	struct span holder;           /* the name that has them */
	struct span given[MAX_GIVEN]; /* the functions that get them */
	size_t given_count;
};

struct python_function {
	int number;                 /* of the first function with this name */
	bool cuda;                  /* one with this name uses CUDA */
	bool called, may_be_called; /* by its name, without and with a condition */
	bool run;                   /* one with this name is certainly executed */
	bool several;               /* the name may stand for another function too */
	bool ends;                  /* the program may end in it */
	int first_call;             /* the line of the file itself that may lead to it first; 0 */
	bool wrapped;               /* a decorator decides what its name means */
	bool spawned;               /* ... or is executed by processes that are started */
	size_t itself, through;     /* its last use of CUDA, and through a call, plus one */
	bool member;                /* defined in a class */
	bool again;                 /* there is another one with this name */
	bool blocked;               /* perhaps only some ranks execute it */
	bool loose;                 /* what calls it may be about another one */
	bool reached;               /* all ranks execute it */
};

/* A call of a function by its name, wherever it stands, or a use of CUDA in a function. */
struct python_called {
	struct span name; /* .text NULL: CUDA */
	int number;       /* of the called function; 0: it is elsewhere, or another object's */
	int function;     /* that it is in; 0: the file */
	int line;
	bool may;      /* a condition decides */
	bool selected; /* only some ranks may come there */
	bool method;   /* behind a dot */
	bool own;      /* behind self. */
	bool spawned;  /* it is given to a call that starts a process for each rank */
};

struct python_functions {
	struct python_called *calls; /* in the order of the file */
	size_t call_count, call_room;
	struct python_function *list; /* by number, from 1 on */
	size_t room;
};

/* An import that every run of the file executes. */
struct python_import {
	struct span name; /* a.b */
	int line;
};
enum { MAX_IMPORTS = 64 };

struct python_file {
	struct python_import imports[MAX_IMPORTS];
	size_t import_count;
	struct python_text text;
	struct python_names names;
	struct arena arena;
	struct python_block blocks[MAX_BLOCKS + 1]; /* [0] is the file */
	int depth, functions;
	/* The last functions that looked at the visible list, and that kept it, plus one; 0: none.
	 */
	int lister, keeper;
	bool deferred;    /* the statement has a lambda */
	bool conditional; /* ... has a condition: a if c else b, a and b */
	bool definition;  /* ... is the head of a function */
	bool ends;        /* ... may end the program */
	bool wrapped;     /* ... follows a decorator of unknown purpose */
	bool chosen;      /* ... has a condition, beside that of its block */
	/* the statement is a decorator that puts the environment back, or follows one */
	bool patched;
	struct python_functions own;
	struct python_facts facts;
	struct python_arguments arguments;
	struct python_option *options;
	size_t option_count, option_room;
	int numbered; /* how many OBSERVED_NUMBERED there are */
	int starters; /* how many start processes, or make a group of them */
	struct observation *observations;
	size_t count, room;
	/* the first observation of each kind: its position, plus one; 0: there is none */
	size_t firsts[OBSERVED_KINDS];
	bool full;                    /* there are more than MAX_OBSERVATIONS */
	struct observation spare;     /* one that is not kept */
	struct python_choice *choice; /* NULL: not wanted */
	struct python_training training;
};

/* Whether a call that initialises CUDA may only count devices instead, as PyTorch does with
 * PYTORCH_NVML_BASED_CUDA_CHECK=1 (rule S1). */
static inline bool python_may_count(struct span call)
{
	return call.length >= 12 &&
	       span_is((struct span){call.text + call.length - 12, 12}, "is_available");
}

/* torch.cuda.device_count() */
static inline bool python_counts_devices(const char *path)
{
	return span_is_any(span_of(path), "torch.cuda.device_count torch.accelerator.device_count");
}

static inline struct python_block *block_now(struct python_file *f)
{
	return &f->blocks[f->depth];
}

/* Whether only some ranks may execute the current statement. */
static inline bool guard_selected(const struct python_file *f)
{
	return f->blocks[f->depth].selected || f->deferred || f->chosen;
}

/* Whether the program may have ended before this place, in the blocks around it. */
static inline bool python_may_have_ended(const struct python_file *f)
{
	for (int i = f->depth; i >= 0; i--)
		if (f->blocks[i].ended)
			return true;
	return false;
}

static inline const struct python_token *token_at(const struct python_file *f, unsigned i)
{
	return &f->text.tokens[i];
}

/* The first observation of a kind; NULL: there is none. */
static inline const struct observation *observation_first(const struct python_file *f,
							  enum observation_kind kind)
{
	return f->firsts[kind] ? &f->observations[f->firsts[kind] - 1] : NULL;
}

/* Whether it starts processes that execute a function by its name, `target`. */
static inline bool observation_starts(const struct observation *s)
{
	return (s->kind == OBSERVED_SPAWN || s->kind == OBSERVED_PROCESS) && s->target.text;
}

/* Whether the token at `i`, before `past`, is this sign or name. */
static inline bool is_at(const struct python_file *f, unsigned i, unsigned past, const char *text)
{
	return i < past && token_is(token_at(f, i), text);
}

/* Whether [first, past) is one bracket of these kinds, "( [", with what is in it. */
static inline bool is_bracket(const struct python_file *f, unsigned first, unsigned past,
			      const char *kinds)
{
	return first < past && token_at(f, first)->past == past &&
	       token_is_any(token_at(f, first), kinds);
}

/* --- python_value.c: expressions of the current statement, [first, past) of its tokens --- */

/* The first token that is one of the words; `past`: none. */
unsigned python_find(const struct python_file *f, unsigned first, unsigned past, const char *words);
/* The same, outside of brackets. */
unsigned python_find_beside(const struct python_file *f, unsigned first, unsigned past,
			    const char *words);
/* The bracket that the expression ends with; `past`: it ends with none. */
unsigned python_last_bracket(const struct python_file *f, unsigned first, unsigned past);
/* Where the value that begins at `first` ends: before a comma, a bracket or =. */
unsigned python_value_end(const struct python_file *f, unsigned first, unsigned past);

/* Reads a.b.c from `at` on and returns the token after it; 0 if there is no name. */
unsigned python_chain(const struct python_file *f, unsigned at, struct span *ret);
/* The chain that is exactly [first, past); .text NULL: they are something else. */
struct span python_whole_chain(const struct python_file *f, unsigned first, unsigned past);

/* The chain with its first name replaced by the full name of the import. It is empty if it is
 * longer than any name with a meaning. Returns ret. */
const char *python_path(const struct python_file *f, struct span chain, char ret[MAX_PATH]);

struct python_value python_value(const struct python_file *f, unsigned first, unsigned past);

/* The meaning of an environment variable. */
struct python_value python_variable(struct span name);

/* python_ids.c: a list of device ordinals, as MEANS_IDS with their number; MEANS_UNKNOWN: it is
 * another expression. */
struct python_value python_ids(struct python_file *f, unsigned first, unsigned past);

/* python_count.c: the expression as a number; NULL: it is not one, as far as this file shows. */
const struct python_count *python_count(struct python_file *f, unsigned first, unsigned past);
const struct python_count *python_argument_count(struct python_file *f, unsigned open,
						 const char *name, int place);
/* The iterations of `for ... in range(N)`, where `in` is that token; NULL: not known. */
const struct python_count *python_rounds(struct python_file *f, unsigned in, unsigned past);
/* Handles add_argument(), whose bracket is `open`. */
void python_option(struct python_file *f, unsigned open);

/* An argument of the call or list whose bracket is `open`. */
struct python_argument {
	struct span name; /* of a keyword; .text NULL: positional */
	unsigned first, past;
};

/* The next argument after *at, which begins as open + 1; false: there is none. */
bool python_argument(const struct python_file *f, unsigned open, unsigned *at,
		     struct python_argument *ret);
/* The argument with that name or, if `place` is not negative, at that position. */
bool python_argument_find(const struct python_file *f, unsigned open, const char *name, int place,
			  struct python_argument *ret);
/* Whether it is given, and its value; unknown: it is not. */
bool python_has_argument(const struct python_file *f, unsigned open, const char *name, int place);
struct python_value python_argument_value(const struct python_file *f, unsigned open,
					  const char *name, int place);
/* Whether some arguments are not shown: *args or **options. */
bool python_hides_arguments(const struct python_file *f, unsigned open);

/* --- python_blocks.c ------------------------------------------------------------------ */

/* The colon that ends a compound statement's head; 0: it is not a compound statement. */
unsigned python_head(const struct python_file *f);

/* Enters the block after that colon. */
void python_enter(struct python_file *f, unsigned colon, int indent);

/* Handles a statement that may leave the block, or end the program. */
void python_leave(struct python_file *f, unsigned first, unsigned past);

/* --- python_observation.c --------------------------------------------------------------- */

/* A new observation at a token. Of too many, one that is not kept. */
struct observation *observation_add(struct python_file *f, enum observation_kind kind,
				    const struct python_token *token);
/* Whether the program sets or removes one of these variables; `always`: not as a default alone. */
bool observation_sets(const struct python_file *f, const char *names, bool always);

/* --- python_scan.c, python_calls.c, python_environ.c ------------------------------------ */

void python_scan(struct python_file *f);

/* Handles the call of `path` (NULL: of a method) by the name at `at`, with arguments from `open`
 * on. */
void python_call(struct python_file *f, const char *path, unsigned at, unsigned open);

/* Handles a device that is named at a token. `bare`: the token is only a name, whose value was
 * noted when it got it. */
void python_device(struct python_file *f, unsigned at, struct python_value v, bool bare);

/* Adds a variable that was looked at. */
void python_environ_look(struct python_looked *looked, struct span name);
/* Handles os.environ and its methods. */
void python_environ_call(struct python_file *f, const char *path, unsigned at, unsigned open);
/* Handles a variable that is read; the expression begins at the token `at`. */
void python_environ_read(struct python_file *f, unsigned at, unsigned name);
/* Handles a dictionary of variables that are set, whose bracket is `open`. */
void python_environ_merge(struct python_file *f, unsigned open);
/* From here on the list is not known: it may be replaced by one of a file. */
void python_environ_replace(struct python_file *f);
/* The token `at` is the variable's name. */
void python_environ_set(struct python_file *f, unsigned at, unsigned first, unsigned past,
			enum observation_verb verb);
/* Whether its list is empty or -1, which hides every GPU. */
bool python_hides_all(const struct observation *s);
/* Whether each process gives itself a list by it. One that is set too late has no effect (rule S4).
 */
bool python_gives_list(const struct observation *s);
/* Whether the tokens before `past` call mock.patch.dict for the environment, which is put back at
 * the end of what they begin. */
bool python_environ_patched(const struct python_file *f, unsigned past);
/* Whether the expression [first, past) is derived from another launcher's variable, or from the old
 * value of `name`; for the visible list, from that alone. Such a rewrite loses nothing (rule S2).
 */
bool python_environ_derived(const struct python_file *f, struct span name, unsigned first,
			    unsigned past);
/* A list for another program: `at` is the name of the variable, or the text of a command. */
void python_environ_list(struct python_file *f, unsigned at, struct python_value v);
/* Handles a call that starts a command. */
void python_command(struct python_file *f, unsigned open);
/* Handles a string that is the name of a variable: it may be misspelt. */
void python_environ_name(struct python_file *f, unsigned at);

/* --- python_ordinal.c ------------------------------------------------------------------- */

/* Handles the value of a device, of the argument device_ids, and of another number. */
void ordinal_device(struct python_file *f, unsigned at, struct python_value v);
void ordinal_ids(struct python_file *f, unsigned open);
void ordinal_argument(struct python_file *f, unsigned open, const char *name, int place);
/* Handles the default of an argument of the command line. */
void ordinal_default(struct python_file *f, unsigned open);
/* Handles a name at the tokens [at, end), which may be compared with a number. */
void ordinal_compared(struct python_file *f, unsigned at, unsigned end, unsigned past);

/* --- python_launched.c ------------------------------------------------------------------ */

/* Handles the call of os.environ.get or os.getenv at `at`, with arguments from `open` on. */
void launched_get(struct python_file *f, unsigned at, unsigned open, struct python_argument name);

/* --- python_functions.c ----------------------------------------------------------------- */

/* The current function uses CUDA. */
void functions_use_cuda(struct python_file *f);
/* Handles the name at `at`, which may be a call of a function of this file; `spawned`: processes
 * are started with it. */
void functions_call(struct python_file *f, unsigned at, bool spawned);
/* The number of the function that has its name first; 0: the file has no such function. */
int functions_number(const struct python_file *f, struct span name);
void functions_define(struct python_file *f, struct span name, int number);
/* Finds what is certainly executed, when the whole file is known. */
void functions_find_runs(struct python_file *f);
/* Finds the uses through calls, when the whole file is known. */
void functions_find_uses(struct python_file *f);
/* Whether the place of an observation is certainly executed: by the file, by a function that is
 * certainly called, or with `spawned` in processes that are certainly started. */
bool functions_run(const struct python_file *f, const struct observation *s, bool spawned);
/* Whether that function is certainly executed, and the only one with its name; 0 is the file. */
bool functions_certain(const struct python_file *f, int number);
/* Whether conditions decide about every call of the function that a place is in. */
bool functions_conditional(const struct python_file *f, const struct observation *s);
/* Whether the function is called by its name too. */
bool functions_called(const struct python_file *f, struct span name);
/* Whether a place that function `from` does not execute may call function `number`. */
bool functions_called_beside(const struct python_file *f, struct span from, int number);
/* The first line of the file itself, outside of functions, that may call function `number`; 0:
 * none. */
int functions_first_call(const struct python_file *f, int number);
/* Whether the function `name` is function `number`. */
bool functions_is(const struct python_file *f, struct span name, int number);
/* Whether the function `name` is function `number`, or calls it. */
bool functions_reach(const struct python_file *f, struct span name, int number);
/* Whether the function of an observation uses CUDA after it, itself or through a call. */
enum python_uses { USES_NOTHING, USES_THROUGH, USES_ITSELF };
enum python_uses functions_uses_after(const struct python_file *f, const struct observation *s);

/* --- python_arguments.c ------------------------------------------------------------------ */

void python_arguments_open(struct python_file *f, struct span text);
/* Handles a function or class of this file. */
void python_defined(struct python_file *f, struct span name);
/* Handles the tokens [first, past), which define nothing. */
void python_arguments(struct python_file *f, unsigned first, unsigned past);
/* Whether code in other files may change them. */
bool python_arguments_leave(const struct python_file *f);
/* Whether a name is usual for the parsed arguments, or is theirs as far as this file shows. */
bool python_has_arguments(struct span name);
bool python_holds_arguments(const struct python_file *f, struct span name);
/* Whether code in other files may read them. */
bool python_arguments_elsewhere(const struct python_file *f);

/* --- python_choice.c; without a struct python_choice these do nothing --------------------- */

void choice_import(struct python_file *f, struct span package);
void choice_call(struct python_file *f, const char *path, unsigned at, unsigned open);
void choice_set(struct python_file *f, unsigned at, struct python_value v);
/* Handles the expression [first, past), which is a device; `used`: something is done on it. */
void choice_device(struct python_file *f, unsigned first, unsigned past, struct python_value v,
		   bool used);
void choice_token(struct python_file *f, unsigned at);
/* Whether a device's text is one that a call picks, or the value of a name that is tracked. */
bool choice_is_used(const struct python_file *f, unsigned at);
/* Whether the device that is named at a token is the argument of a call that uses it. */
bool python_device_used(const struct python_file *f, unsigned at);
/* Whether a text may name the visible list in code without an observation. */
bool choice_names_list(const struct python_file *f, unsigned at);
/* Handles a name and its meaning, at the tokens [at, past). */
void choice_path(struct python_file *f, const char *path, unsigned at, unsigned past);
void choice_statement(struct python_file *f);
struct python_device choice_answer(const struct python_file *f);

/* --- the judges ------------------------------------------------------------------------- */

struct python_judge {
	const struct python_file *file;
	const struct python_start *start;
	const char *origin;
	gpumap_report *report;
};

/* Whether it is known that a launcher starts the file. */
static inline bool python_launched(const struct python_judge *judge)
{
	return judge->start && judge->start->launcher;
}

/* The command that starts it, as a place or a launcher. */
static inline const char *judge_starter(const struct python_judge *judge)
{
	return judge->start->from ? judge->start->from : judge->start->launcher;
}

#define AT(judge, observation, ...) \
	ABOUT(.origin = (judge)->origin, .line = (observation)->line, \
	      .column = (observation)->column, __VA_ARGS__)

/* A finding at the place of an observation. */
#define judge_report(judge, observation, id, rule_id, remedy, ...) \
	report_add((judge)->report, id, AT(judge, observation, .rule = rule_id, .fix = remedy), \
		   __VA_ARGS__)

/* A statement for gpumap_request_set. An array of them ends with a key of NULL, and statements
 * without a value are skipped. */
struct python_statement {
	const char *key, *value;
	bool assumed; /* findings about it are dropped */
};
#define STATEMENTS(...) ((const struct python_statement[]){__VA_ARGS__, {NULL, NULL, false}})

/* The visible list at an observation: the one that an earlier line set, else the one that the
 * program begins with. */
struct python_list {
	const char *code;   /* the value for the key in_code */
	const char *script; /* the value for the key script_export */
	const char *more;   /* what set the second, for the end of a message; else "" */
};
struct python_list judge_list_at(const struct python_judge *judge, const struct observation *s,
				 struct quoted *room);
#define LIST_AT(judge, s) judge_list_at(judge, s, &(struct quoted){{0}})

/* The number of devices that a list shows; -1: it is not known. */
int64_t judge_count(const struct python_judge *judge, const struct python_list *list);

/* The GPUs that a list shows, in its order, as 2,3; "": none. Of a long list the first. */
void judge_devices(const struct python_judge *judge, const struct python_list *list, char ret[512]);
/* What stands before them: "GPU ", "GPUs "; "no GPU" where there are none. */
static inline const char *judge_devices_word(const char *devices)
{
	return !*devices ? "no GPU" : strchr(devices, ',') ? "GPUs " : "GPU ";
}

/* A number that is computed when the start is known. */
struct counted {
	int64_t number;
	bool may;           /* it is the default of an option, which may be given */
	struct span option; /* an option that it comes from; .text NULL: none */
	bool device;        /* it may be cuda:N too */
};
/* False: it is not known. `device`: as the member. */
bool judge_compute(const struct python_judge *judge, const struct python_count *c, bool device,
		   struct counted *ret);

/* Asks the library about the statements, and reports its findings of this severity at the place of
 * the observation, with `more` behind their texts. */
void judge_ask(const struct python_judge *judge, const struct observation *s,
	       const struct python_statement *statement, enum gpumap_severity severity,
	       const char *more);

/* Each judges one observation. */
typedef void judge_observation(const struct python_judge *judge, const struct observation *s);
#define OBSERVED(kind, judge) judge_observation judge;
#define NOTED(kind)
#include "lint/observations.def"
#undef OBSERVED
#undef NOTED

/* Reports a device that the global rank chooses, or the rank modulo the number of GPUs. */
void judge_rank_device(const struct python_judge *judge, const struct observation *s);
/* Whether only one process comes to a place on each host. */
bool judge_alone(const struct python_judge *judge, const struct observation *s);
/* Whether a value is the parameter of function `function` that `spawn` gives the rank. */
bool judge_gives_rank(const struct python_value *v, const struct observation *spawn);
/* DataParallel in a program of which a launcher starts several. */
void judge_copies(const struct python_judge *judge, const struct observation *s);
/* WORLD_SIZE and MASTER_PORT in code against the launcher's; false: they agree, or it is not known.
 */
bool judge_launch(const struct python_judge *judge, const struct observation *s);

#endif

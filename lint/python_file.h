/* SPDX-License-Identifier: MIT */
/*
 * What a Python file does with GPUs. The scan gathers observations, in the order of the source; the
 * judges make findings of them, when the whole file is known.
 */
#ifndef GM_PYTHON_FILE_H
#define GM_PYTHON_FILE_H

#include "lint/python.h"
#include "lint/python_names.h"
#include "lint/python_text.h"

enum { MAX_BLOCKS = 100, MAX_PATH = 96, MAX_VALUE = 64, MAX_OBSERVATIONS = 4096 };

enum observation_kind {
	OBSERVED_VARIABLE,    /* an environment variable is set; `verb` */
	OBSERVED_LIST,        /* a visible list for a program that is started */
	OBSERVED_MISSPELT,    /* a variable that nobody reads is named */
	OBSERVED_SET_DEVICE,  /* torch.cuda.set_device(value) */
	OBSERVED_DEVICE,      /* a device is named: .cuda(1), "cuda:1" */
	OBSERVED_CURRENT,     /* no number is: .cuda(), "cuda" */
	OBSERVED_PARALLEL,    /* DataParallel */
	OBSERVED_DISTRIBUTED, /* DistributedDataParallel */
	OBSERVED_RENDEZVOUS,  /* init_process_group(init_method="tcp://...") */
	OBSERVED_ARGUMENT,    /* add_argument("--local_rank") */
	OBSERVED_PARSE,       /* parse_args() */
	OBSERVED_SPAWN,       /* torch.multiprocessing.spawn() */
	OBSERVED_KINDS
};

enum observation_verb { OBSERVED_SETS, OBSERVED_DEFAULTS, OBSERVED_REMOVES };

struct observation {
	enum observation_kind kind;
	int line, column;
	struct span name; /* of the variable; the option */
	struct python_value value;
	enum observation_verb verb;
	bool may;                /* in one branch of several */
	bool otherwise;          /* ... and that is an else */
	bool member;             /* in a method of a class */
	bool guarded;            /* for some ranks alone */
	bool both;               /* an option in both spellings */
	bool argument;           /* the value is an argument of the command line */
	struct span initialised; /* the CUDA call that ran before; .text NULL: none */
	int initialised_line;
	const char *list; /* the visible list that an earlier line has set; NULL: not known */
	const char *ids;  /* device_ids, where they are numbers; NULL: not known */
	size_t id_count;
	bool all_ids;               /* device_ids is not given: all that are visible */
	struct python_value module; /* of DataParallel: what it was given, or is moved to */
};

/* What the file has at some place. */
struct python_facts {
	bool torch, cuda;      /* torch is imported; a CUDA device is used */
	bool spawns;           /* it starts processes that may be ranks */
	bool spawns_ranks;     /* and these are, or a test starts the file's ranks */
	bool numbers_ranks;    /* init_process_group gets a rank that is not the launcher's */
	bool finds_port;       /* MASTER_PORT is computed */
	bool frameworks;       /* something else chooses devices */
	bool accelerator;      /* accelerate.Accelerator() is one of these */
	bool chooses;          /* a device is named that is not the same everywhere */
	bool several;          /* and more than one by number */
	int64_t number;        /* the first of them, plus one; 0: none */
	bool sets_device;      /* set_device, whatever its value */
	bool distributed;      /* DistributedDataParallel or init_process_group */
	bool reads_local_rank; /* from the environment */
	bool own_list;         /* each rank sets its visible list itself */
	bool reads_arguments;  /* by sys.argv or another parser */
	struct span argument;  /* what --local_rank is called after parsing; .text NULL: none */
	bool reads_argument;   /* it is looked at */
	bool known_alone;      /* parse_known_args */
	bool deepspeed;        /* it is written for that launcher */
};

/* What picks a device, for python_choice.c. */
enum python_pick { PICK_SETS, PICK_NAMES, PICK_CURRENT };
enum { MAX_PICKS = 256, MAX_CALLS = 1024 };

struct python_choice {
	struct {
		enum python_pick pick;
		struct python_value value;
		int function, line;
		bool may;
	} picks[MAX_PICKS];
	size_t count;
	struct { /* functions by name: where they are called, or defined */
		struct span name;
		int function, number; /* in which; the number of its own, 0: a call */
		bool may, run;
	} names[MAX_CALLS];
	size_t name_count;
	bool doubtful; /* something may pick another */
	bool passed;   /* a device that is not known by name is used */
	bool foreign;  /* something is imported that may pick one */
	bool numbers;  /* ranks are numbered by the program */
	bool ends;     /* it may have ended before */
};

struct python_block {
	int indent, function;
	bool may, otherwise, guarded;
	bool repeated;      /* the body of a loop */
	bool member;        /* the body of a class */
	struct span tested; /* the variable that its condition looks at */
	struct span initialised;
	int initialised_line;
	bool listed; /* the list here is known, or (list NULL) known not to be */
	const char *list;
};

struct python_file {
	struct python_text text;
	struct python_names names;
	struct arena arena;
	struct python_block blocks[MAX_BLOCKS + 1]; /* [0] is the file */
	int depth, functions;
	bool deferred;   /* the statement has a lambda */
	bool definition; /* ... is the head of a function */
	struct python_facts facts;
	struct observation *observations;
	size_t count, room;
	size_t firsts[OBSERVED_KINDS]; /* of each kind: its place, plus one; 0: there is none */
	bool full;                     /* there are more than MAX_SIGHTS */
	struct python_choice *choice;  /* NULL: nobody asks */
};

static inline struct python_block *block_now(struct python_file *f)
{
	return &f->blocks[f->depth];
}

static inline const struct python_token *token_at(const struct python_file *f, unsigned i)
{
	return &f->text.tokens[i];
}

/* The first of a kind; NULL: there is none. */
static inline const struct observation *observation_first(const struct python_file *f,
							  enum observation_kind kind)
{
	return f->firsts[kind] ? &f->observations[f->firsts[kind] - 1] : NULL;
}

/* Whether the token at `i`, before `past`, is this sign or name. */
static inline bool is_at(const struct python_file *f, unsigned i, unsigned past, const char *text)
{
	return i < past && token_is(token_at(f, i), text);
}

/* --- python_value.c: expressions of the current statement, [first, past) of its tokens --- */

/* a.b.c from `at` on; returns what is behind. 0 when no name is there. */
unsigned python_chain(const struct python_file *f, unsigned at, struct span *ret);

/* The chain with its first name replaced by what it was imported as; empty if it is too long for
 * any name that has a meaning. Returns ret. */
const char *python_path(const struct python_file *f, struct span chain, char ret[MAX_PATH]);

struct python_value python_value(const struct python_file *f, unsigned first, unsigned past);

/* The meaning of a variable of the environment. */
struct python_value python_variable(struct span name);

/* An argument of the call or list whose bracket is `open`. */
struct python_argument {
	struct span name; /* of a keyword; .text NULL: by its place */
	unsigned first, past;
};

/* The next argument behind *at, which begins as open + 1; false: there is none. */
bool python_argument(const struct python_file *f, unsigned open, unsigned *at,
		     struct python_argument *ret);
/* The argument of that name or, where `place` is not negative, at that place. */
bool python_argument_find(const struct python_file *f, unsigned open, const char *name, int place,
			  struct python_argument *ret);

/* --- python_blocks.c ------------------------------------------------------------------ */

/* The colon that ends a compound statement's head; 0: it is no compound statement. */
unsigned python_head(const struct python_file *f);

/* Enters the block behind that colon. */
void python_enter(struct python_file *f, unsigned colon, int indent);

/* --- python_scan.c, python_calls.c, python_environ.c ------------------------------------ */

int python_scan(struct python_file *f);

/* A new observation at a token; NULL without memory, or room. */
struct observation *observation_add(struct python_file *f, enum observation_kind kind,
				    const struct python_token *token);

/* The call of `path` (NULL: of a method) by the name at `at`, whose arguments open at `open`. */
void python_call(struct python_file *f, const char *path, unsigned at, unsigned open);

/* A device that is named at a token. `bare`: by a name alone, whose value was seen. */
void python_device(struct python_file *f, unsigned at, struct python_value v, bool bare);

/* os.environ and its methods: the name of the variable is the token `at`. */
void python_environ_call(struct python_file *f, const char *path, unsigned open);
void python_environ_set(struct python_file *f, unsigned at, unsigned first, unsigned past,
			enum observation_verb verb);
/* Whether the expression [first, past) is made from the visible list. */
bool python_environ_derived(const struct python_file *f, unsigned first, unsigned past);
/* A list for another program: `at` is the name of the variable, or the text of a command. */
void python_environ_list(struct python_file *f, unsigned at, struct python_value v);
void python_environ_command(struct python_file *f, unsigned open);
/* The string at a token is the name of a variable: is it misspelt? */
void python_environ_name(struct python_file *f, unsigned at);

/* --- python_choice.c; all do nothing where nobody asks ------------------------------------ */

void choice_import(struct python_file *f, struct span package);
void choice_call(struct python_file *f, const char *path, unsigned at, unsigned open);
void choice_define(struct python_file *f, struct span name, int number);
void choice_set(struct python_file *f, unsigned at, struct python_value v);
/* The expression [first, past) is used as a device. */
void choice_device(struct python_file *f, unsigned first, unsigned past, struct python_value v);
/* Notes which functions run whatever happens; whether that of a number does. 0: the file. */
void choice_find_runs(struct python_choice *c);
bool choice_runs(const struct python_choice *c, int function);
void choice_token(struct python_file *f, unsigned at);
/* Whether a device's text is one that a call picks, or the value of a name, which is followed. */
bool choice_is_used(const struct python_file *f, unsigned at);
/* Whether a text may name the visible list in code that gives no observation. */
bool choice_names_list(const struct python_file *f, unsigned at);
/* A name with what it stands for, at the tokens [at, past). */
void choice_path(struct python_file *f, const char *path, unsigned at, unsigned past);
void choice_statement(struct python_file *f);

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

#define AT(judge, observation, ...) \
	ABOUT(.origin = (judge)->origin, .line = (observation)->line, \
	      .column = (observation)->column, __VA_ARGS__)

/* A statement for gpumap_request_set; a key of NULL ends them, one without a value is left
 * out. */
struct python_statement {
	const char *key, *value;
	bool assumed; /* findings about it are left out */
};

/* Reports the library's findings of that severity for the statements, at the place of an
 * observation. */
int judge_ask(const struct python_judge *judge, const struct observation *s,
	      const struct python_statement *statement, enum gpumap_severity severity);

/* Each is about one observation. GPUMAP_ENOMEM. */
int judge_variable(const struct python_judge *judge, const struct observation *s);
/* The library's findings about a list. */
int judge_value(const struct python_judge *judge, const struct observation *s);
int judge_device(const struct python_judge *judge, const struct observation *s);
int judge_group(const struct python_judge *judge, const struct observation *s);
void judge_misspelt(const struct python_judge *judge, const struct observation *s);
void judge_rendezvous(const struct python_judge *judge, const struct observation *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * How a program trains: its modules, data loaders and checkpoints, as far as names show them. What
 * is not certain is forgotten. Only files that name PyTorch are looked at.
 */
#ifndef GM_PYTHON_TRAINING_H
#define GM_PYTHON_TRAINING_H

#include "text.h"

enum { MAX_OBJECTS = 256, MAX_CLASSES = 256, MAX_LAYERS = 1024, MAX_SAVES = 64 };

enum python_object_kind {
	OBJECT_NOTHING,
	OBJECT_MODULE,
	OBJECT_STATE,  /* state_dict(), or a dictionary that has one */
	OBJECT_LOADED, /* of torch.load() */
	OBJECT_SAMPLER
};

/* What a name stands for, or what is saved. */
struct python_object {
	enum python_object_kind kind;
	struct span name;
	int function, branch; /* where it got it; branch 0: in none */
	int line, column;     /* of the call that made it */
	int class;            /* of a module: its class in this file; 0: none */
	bool fresh;           /* a module that is certainly on the CPU */
	bool wrapped;         /* a module or state whose keys begin with module. */
	bool whole;           /* a module in which forward() and DDP are as the class has them */
	bool changed;         /* a loaded dictionary that code may have changed */
	bool mapped;          /* torch.load() has a map_location */
	bool shuffles;        /* a DistributedSampler that shuffles, or a loader with one */
	struct span maker;    /* of a module, and its state: its class in another file */
	struct span path;     /* of what is loaded or saved: the file, as the source has it */
	struct span key;      /* the entry of the dictionary; .text NULL: all of it */
};

/* A class of the file. */
struct python_class {
	struct span name;
	bool module;      /* its one base is torch.nn.Module */
	bool layers;      /* it makes layers with parameters */
	bool moves;       /* it may move its layers */
	bool walks;       /* it may use layers without naming them */
	bool forward;     /* it has forward() */
	bool distributed; /* DistributedDataParallel has one */
};

struct python_layer {
	struct span name;
	int class, line, column;
};

struct python_training {
	bool watched;      /* the file names PyTorch */
	bool distributed;  /* the text has DistributedDataParallel */
	bool saves;        /* ... torch.save */
	bool groups;       /* ... init_process_group, and backward() */
	bool unused_ok;    /* ... find_unused_parameters or static_graph */
	bool sets_epoch;   /* ... set_epoch */
	const char *unset; /* ... no MASTER_ADDR or MASTER_PORT: its name; NULL: it has both */
	bool moves;        /* ... what may move modules in a way that is not followed */
	bool exchanges;    /* ranks exchange what they have */
	bool foreign;      /* a package of unknown purpose is imported */
	bool handles;      /* ... or one that may set the variables of ranks */
	bool places;       /* modules are made on a default device */
	bool makes;        /* a module is made outside of classes */
	bool epochs;       /* there is a loop over epochs */
	bool moved_folder; /* ranks may be in different folders */
	bool slurm, mpi;   /* it names variables of Slurm, of MPI */
	bool picks_local;  /* the local rank chooses a device */
	bool program;      /* the file calls a function of its own */
	bool horovod;      /* Horovod starts the processes */
	bool splits;       /* a communicator of MPI is split, so that it has other ranks */
	bool lists;        /* the text has CUDA_VISIBLE_DEVICES */
	int blocks;        /* the number of blocks so far */
	struct python_object *objects;
	size_t object_count, object_room;
	struct python_class *classes;
	size_t class_count, class_room;
	struct python_layer *layers;
	size_t layer_count, layer_room;
	struct python_object *saved; /* of another kind than a state: it is not known what */
	size_t saved_count, saved_room;
};

static const struct python_object object_nothing = {.kind = OBJECT_NOTHING};

struct python_file;
struct python_judge;
struct observation;

/* --- python_training.c: what the scan calls --------------------------------------------- */

void training_begin(struct python_file *f, struct span text);
/* Handles a name or text at a token. */
void training_token(struct python_file *f, unsigned at);
/* Handles the name at [at, end), which is not behind a dot. */
void training_name(struct python_file *f, unsigned at, unsigned end);
/* Handles the call of `path` (NULL: of a method). */
void training_call(struct python_file *f, const char *path, unsigned at, unsigned open);
/* Handles the assignment of [from, to) to [first, past). */
void training_assign(struct python_file *f, unsigned first, unsigned past, unsigned from,
		     unsigned to);
/* Handles the block that was entered after the head [0, colon). */
void training_enter(struct python_file *f, unsigned colon);
void training_import(struct python_file *f, struct span path, struct span name);

/* --- python_objects.c ------------------------------------------------------------------- */

/* The first token of the chain that ends with the name at `at`. */
unsigned objects_head(const struct python_file *f, unsigned at);
/* What the name stands for here, for certain; NULL: not known. */
struct python_object *objects_find(const struct python_file *f, struct span name);
/* From now on the name stands for `o`. */
void objects_put(struct python_file *f, struct span name, struct python_object o);
/* The innermost bracket around a token that is searched shortly before it; false: none. `called`
 * gets the path before the bracket, which is called or indexed; "" if it is no name. */
bool objects_around(const struct python_file *f, unsigned at, unsigned *open, char *called);
/* The last name of a path. */
static inline const char *objects_last(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* --- python_guard.c --------------------------------------------------------------------- */

/* Whether only some ranks may execute what follows the condition [1, past). */
bool guard_selects(const struct python_file *f, unsigned past);
/* Whether the current statement has a condition, beside that of its block: rank == 0 and save(),
 * save() if first else None. */
bool guard_condition(const struct python_file *f);
/* Whether a name has a word in it that shows one of several ranks. */
bool guard_names_rank(struct span name);
/* Whether the statement is a decorator that leaves it to the callers who executes a function. */
bool guard_is_harmless(const struct python_file *f);
/* Finds the functions that all ranks execute, when the whole file is known. */
void guard_find_reached(struct python_file *f);
/* Whether all ranks execute that function; 0 is the file. */
bool guard_reached(const struct python_file *f, int function);

/* --- python_fix.c -------------------------------------------------------------------- */

/* The variable in which the launcher gives a rank its number on the host. If the launcher is not
 * known, `rank` shows it: where the program's rank comes from. */
const char *fix_variable(const struct python_judge *judge, struct span rank);
/* The same as an expression: int(os.environ["LOCAL_RANK"]). Returns the text of ret. */
const char *fix_local_rank(const struct python_judge *judge, struct span rank, struct quoted *ret);
#define FIX_LOCAL_RANK(judge, rank) fix_local_rank(judge, rank, &(struct quoted){{0}})
/* What to write for a device that is not visible: `fix`, and where ranks share a list the local
 * rank, because one number would be wrong in all of them but one. */
const char *fix_ordinal(const struct python_judge *judge, const struct observation *s,
			const char *fix, struct quoted *ret);
/* What to write for a device that an observation chooses by its rank. */
const char *fix_device(const struct python_judge *judge, const struct observation *s,
		       struct quoted *ret);

/* --- python_frameworks.c ---------------------------------------------------------------- */

void frameworks_call(struct python_file *f, const char *path, unsigned at, unsigned open);

/* --- python_launched.c ------------------------------------------------------------------ */

/* Handles a string that may be a variable. */
void launched_name(struct python_file *f, struct span name);
/* Handles a variable that is read; `required`: it must be there. */
void launched_read(struct python_file *f, unsigned at, unsigned name, bool required);

/* --- python_average.c ------------------------------------------------------------------- */

void average_token(struct python_file *f, unsigned at);
void average_import(struct python_file *f, struct span path);

/* --- python_module.c -------------------------------------------------------------------- */

/* The module that [first, past) makes or names. */
struct python_object module_value(struct python_file *f, unsigned first, unsigned past);
bool module_is_parallel(const char *path);
/* Whether a text stands in the file that may move modules in a way which is not followed. */
bool module_may_move(struct span text);
void module_call(struct python_file *f, const char *path, unsigned at, unsigned open);
void module_class(struct python_file *f, unsigned name, unsigned past);
void module_token(struct python_file *f, unsigned at);
void module_layer(struct python_file *f, unsigned first, unsigned past, unsigned from, unsigned to);
/* The name stands for a module, and something is done with it at [at, end). */
void module_use(struct python_file *f, struct python_object *o, unsigned at, unsigned end);
void judge_layers(const struct python_judge *judge);

/* --- python_loading.c ------------------------------------------------------------------- */

struct python_object loading_value(struct python_file *f, unsigned first, unsigned past);
void loading_call(struct python_file *f, const char *path, unsigned at, unsigned open);
/* Handles the head of a loop. */
void loading_loop(struct python_file *f, unsigned first, unsigned past);

/* --- python_checkpoint.c ---------------------------------------------------------------- */

struct python_object checkpoint_value(struct python_file *f, unsigned first, unsigned past);
/* A dictionary that has states: each is put. False: it is none. */
bool checkpoint_assign(struct python_file *f, struct span name, unsigned from, unsigned to);
void checkpoint_call(struct python_file *f, const char *path, unsigned at, unsigned open);
void checkpoint_use(struct python_file *f, struct python_object *o, unsigned at, unsigned end);

#endif

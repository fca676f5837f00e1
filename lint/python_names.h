/* SPDX-License-Identifier: MIT */
/* The meaning of names in a Python file: modules, and values that matter here. */
#ifndef GM_PYTHON_NAMES_H
#define GM_PYTHON_NAMES_H

#include "hash.h"
#include "text.h"

enum python_meaning {
	MEANS_UNKNOWN, /* `number` of a parameter: its place, from 1 on */
	MEANS_TEXT,    /* a constant: `text` */
	MEANS_NUMBER,  /* a constant: `number` */
	MEANS_RANK,    /* the rank among all */
	MEANS_LOCAL_RANK,
	MEANS_COUNT,        /* the number of devices */
	MEANS_MODULO,       /* the rank modulo the number of devices */
	MEANS_LOCAL_MODULO, /* the same of the local rank */
	MEANS_DERIVED,      /* derived from a launcher's variable: its list, or another number */
	MEANS_CUDA,         /* "cuda" */
	MEANS_DEVICE,       /* "cuda:N": `number` */
	MEANS_CPU,
	MEANS_IDS,    /* a list of device ordinals: `text`, as 0,1 */
	MEANS_NONE,   /* None */
	MEANS_MODULE, /* a module that was moved to a device: `number`, -1: the current one */
	MEANS_PATH    /* an import: `text` is the full name */
};

struct python_count;

/* What of the visible list a value has. */
enum python_part { PART_NONE, PART_LIST, PART_ENTRIES, PART_ENTRY };

struct python_value {
	enum python_meaning meaning;
	int64_t number;
	struct span text;
	/* the name may have another value, in cases that python_choice.c does not judge */
	bool unsure;
	int function; /* the function in which the name got it */
	/* the number that it is, as an expression; NULL: it is not a number of something */
	const struct python_count *count;
	bool varies; /* a name: it has had other numbers */
	/* A rank that is still text, as the environment has it. The text of a rank is where it
	 * comes from: a variable, or a call. */
	bool written;
	enum python_part part; /* of MEANS_DERIVED */
};

static const struct python_value python_unknown = {.meaning = MEANS_UNKNOWN};

/* Whether it names no device of CUDA and is the same in every process. */
static inline bool python_constant(const struct python_value *value)
{
	return value->meaning == MEANS_TEXT || value->meaning == MEANS_NUMBER ||
	       value->meaning == MEANS_NONE || value->meaning == MEANS_CPU;
}

struct python_name;

struct python_names {
	struct python_name *list;
	size_t room, count;
	struct hash_index index; /* of the list, by scope and name */
	bool changed;            /* a name of a rank or device was assigned again */
	bool unknowns;           /* unknown values of the file are kept, too */
	size_t doubts;           /* how often code elsewhere may have changed names of the file */
};

/* The scope of attributes of other objects than self, by their names. */
enum { ATTRIBUTES = -5 };

/* `scope` is a function's number; 0: the file. Valid until the next names_set. */
const struct python_value *names_get(const struct python_names *names, struct span name, int scope);

/* Gives a name a value. A later value replaces an earlier value, except that a constant does not
 * replace a known value, because it is the fallback without a launcher. */
void names_set(struct python_names *names, struct span name, int scope, struct python_value value);

/* Code elsewhere may have given names of the file other values. */
void names_doubt(struct python_names *names);

void names_free(struct python_names *names);

#endif

/* SPDX-License-Identifier: MIT */
/* See out_of_memory.h. */
#include "config.h"

#include "cli/out_of_memory.h"

#include <jansson.h>
#include <unistd.h>

#include "memory.h"
#include "write_all.h"

static int exit_status; /* 0: allocations return NULL */
static void (*last_call)(void);

void out_of_memory_say(void)
{
	static const char line[] = "gpumap: error: memory ran out [GM001]\n";

	write_all(STDERR_FILENO, line, sizeof(line) - 1);
}

void memory_ran_out(void)
{
	if (!exit_status)
		return;
	if (last_call)
		last_call();
	out_of_memory_say();
	/* Buffered output is dropped: an answer is whole, or not there. */
	_exit(exit_status);
}

static void *allocate(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		memory_ran_out();
	return memory;
}

void out_of_memory_ends(int status)
{
	exit_status = status;
	json_set_alloc_funcs(allocate, free);
}

void out_of_memory_calls(void (*last)(void))
{
	last_call = last;
}

void out_of_memory_returns(void)
{
	exit_status = 0;
}

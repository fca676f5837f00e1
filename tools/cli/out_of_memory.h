/* SPDX-License-Identifier: MIT */
/* Memory that runs out ends the command: one line on standard error, no answer. Files are not
 * written by halves (base/atomic_file.h), and a lease ends with its process. */
#ifndef GM_OUT_OF_MEMORY_H
#define GM_OUT_OF_MEMORY_H

/* From now on, with this exit status. It holds for base, reports, and jansson. */
void out_of_memory_ends(int status);

/* What is called before the line is printed, and allocates nothing. NULL: nothing. */
void out_of_memory_calls(void (*last)(void));

/* From now on allocations return NULL again: before anything starts that would outlive the command
 * or be cut off, such as ranks, a guard, a keeper, a folder to remove. */
void out_of_memory_returns(void);

/* Prints the line of memory that ran out, and continues. */
void out_of_memory_say(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Which functions of a program are certainly executed, for python_choice.c. */
#include "lint/python_file.h"

/* Whether function `function` is certainly executed. */
bool choice_runs(const struct python_choice *c, int function)
{
	if (!function)
		return true;
	for (size_t i = 0; i < c->name_count; i++)
		if (c->names[i].number == function)
			return c->names[i].run;
	return false;
}

/* The function with that name in the file; none if several have it. */
static size_t function_of(const struct python_choice *c, struct span name)
{
	size_t found = c->name_count, times = 0;

	for (size_t i = 0; i < c->name_count; i++) {
		if (!c->names[i].number || !span_same(c->names[i].name, name))
			continue;
		found = i;
		times++;
	}
	return times == 1 && !c->names[found].function && !c->names[found].may ? found
									       : c->name_count;
}

/* A function is certainly executed if it is called by the file itself, or by another such function.
 */
void choice_find_runs(struct python_choice *c)
{
	enum { MAX_DEPTH = 6 };

	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		for (size_t i = 0; i < c->name_count; i++) {
			size_t to;

			if (c->names[i].number || c->names[i].may ||
			    !choice_runs(c, c->names[i].function))
				continue;
			to = function_of(c, c->names[i].name);
			if (to < c->name_count)
				c->names[to].run = true;
		}
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * For tests/cli/hostlist.test. Each line of standard input is a node list; its hosts are
 * written with blanks between them, or "invalid". With an argument, random lists are written
 * instead: hostlist-main COUNT SEED.
 */
#include <stdio.h>

#include "text/hostlist.h"

static unsigned pick(unsigned *state, unsigned below)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 16) % below;
}

static void put_number(unsigned *state, unsigned *low)
{
	unsigned digits = 1 + pick(state, 4), n = 0;

	while (digits--) {
		unsigned digit = pick(state, 10);

		printf("%u", digit);
		n = n * 10 + digit;
	}
	*low = n;
}

static void put_bracket(unsigned *state, bool last)
{
	unsigned pieces = 1 + pick(state, 3), low;

	putchar('[');
	while (pieces--) {
		put_number(state, &low);
		/* Now and then a range that is backwards; before the last bracket Slurm drops
		 * the name silently, and gpumap does not. */
		if (pick(state, 2))
			printf("-%0*u", (int)pick(state, 5),
			       low + pick(state, 9) - (last && !pick(state, 40)));
		if (pieces)
			putchar(',');
	}
	putchar(']');
}

static void put_name(unsigned *state)
{
	static const char *const words[] = {"n",    "node", "gpu-", "r0",  "-ib", "x7y",
					    "a.b.", "_",    "01",   "tux", "c9"};
	unsigned parts = pick(state, 4);

	fputs(words[pick(state, 4)], stdout);
	while (parts--) {
		put_bracket(state, !parts);
		if (parts && pick(state, 2))
			fputs(words[pick(state, sizeof(words) / sizeof(*words))], stdout);
	}
	/* Text behind the last bracket, which makes a list invalid. */
	if (!pick(state, 60))
		putchar('z');
}

static void put_lists(unsigned count, unsigned state)
{
	while (count--) {
		unsigned names = 1 + pick(&state, 4);

		while (names--) {
			put_name(&state);
			if (names)
				putchar(',');
		}
		putchar('\n');
	}
}

static void expand(char *line)
{
	struct hostlist list;

	line[strcspn(line, "\n")] = '\0';
	if (hostlist_parse(&list, span_of(line), NULL, NULL) != GPUMAP_OK) {
		puts("invalid");
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		printf("%s%s", i ? " " : "", list.hosts[i].name);
	putchar('\n');
	hostlist_free(&list);
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;

	if (argc == 3) {
		put_lists((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
		return 0;
	}
	while (getline(&line, &room, stdin) > 0)
		expand(line);
	free(line);
	return 0;
}

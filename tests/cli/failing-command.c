/* SPDX-License-Identifier: MIT */
/*
 * A command, linked with --wrap=main, with an allocation that fails: GPUMAP_TEST_FAIL=N is the
 * number of the allocation, and descriptor 9 gets a byte when it is made. With GPUMAP_TEST_FAIL=?
 * it prints whether allocations can fail.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/failing_malloc.h"

enum { TELL = 9 };

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

static void choose(void)
{
	const char *number = getenv("GPUMAP_TEST_FAIL");

	if (!number)
		return;
	if (strcmp(number, "?") == 0) {
		puts(allocations_can_fail() ? "yes" : "no");
		exit(EXIT_SUCCESS);
	}
	/* glibc 2.36 crashes when it can't allocate what it keeps of nsswitch.conf. */
	getpwuid(getuid());
	allocations_tell(TELL);
	allocations_fail_at(strtoul(number, NULL, 10));
	unsetenv("GPUMAP_TEST_FAIL");
}

/* Not in a constructor: those of other libraries allocate without a check. */
int __wrap_main(int argc, char **argv)
{
	choose();
	return __real_main(argc, argv);
}

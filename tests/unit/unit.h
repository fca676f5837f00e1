/* SPDX-License-Identifier: MIT */
/* What every unit test program shares. A table test names its row in each message. */
#ifndef GM_UNIT_H
#define GM_UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "sanitized.h"

#define ROW_EQ_INT(name, got, want) \
	ck_assert_msg((got) == (want), "%s: %s is %lld, not %lld", name, #got, (long long)(got), \
		      (long long)(want))
#define ROW_EQ_STR(name, got, want) \
	do { \
		const char *got_ = (got), *want_ = (want); \
		ck_assert_msg(got_ == want_ || (got_ && want_ && strcmp(got_, want_) == 0), \
			      "%s: %s is '%s', not '%s'", name, #got, got_ ? got_ : "(null)", \
			      want_ ? want_ : "(null)"); \
	} while (0)

/* The limit that libcheck has for each test ends what hangs. It is no measure of speed. */
static void __attribute__((constructor)) unit_limit(void)
{
	setenv("CK_DEFAULT_TIMEOUT", "1200", 0);
}

/* Runs a suite; the value for main to return. */
static inline int unit_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0); /* what ends the program leaves the lines before it */
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Reports that a program tests nothing, and why; the value for main to return. A suite without
 * tests would pass. */
static inline int unit_skip(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return EXIT_SUCCESS;
}

#endif

/* SPDX-License-Identifier: MIT */
/* What is tried in a child process: it ends, crashes, or hangs. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "doctor/try_in_child.h"
#include "unit.h"

/* Of the last child, shared with it. */
static volatile struct {
	pid_t pid;
} * child;

static void note(void)
{
	child->pid = getpid();
}

static void end(void)
{
	note();
}

static void crash(void)
{
	note();
	raise(SIGKILL);
}

static void hang(void)
{
	note();
	for (;;)
		pause();
}

/* Only SIGKILL ends it. */
static void hang_on(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	hang();
}

static void print(void)
{
	note();
	printf("from the child\n");
	fflush(stdout);
}

/* A patience that only a child that hangs reaches, and one that it reaches at once. */
enum { LONG = 600000, SHORT = 1 };

static const struct {
	const char *name;
	void (*try)(void);
	int patience;
	bool ends;
} rows[] = {
	{"it ends", end, LONG, true},
	{"it crashes", crash, LONG, true},
	{"it hangs", hang, SHORT, false},
	{"it hangs and ignores signals", hang_on, SHORT, false},
};

START_TEST(ends_or_hangs)
{
	child->pid = 0;
	ck_assert_msg(attempt(rows[_i].try, rows[_i].patience) == rows[_i].ends, "%s",
		      rows[_i].name);
	ck_assert_msg(child->pid || !rows[_i].ends, "%s: it did not run", rows[_i].name);
	/* No child is left. */
	ck_assert_msg(waitpid(-1, NULL, WNOHANG) < 0, "%s: a child is left", rows[_i].name);
}
END_TEST

/* The caller's standard output stays its own. */
START_TEST(prints_nothing)
{
	char text[64] = "";
	int ends[2], kept = dup(STDOUT_FILENO);
	ssize_t n;

	ck_assert_int_eq(pipe(ends), 0);
	fflush(stdout);
	ck_assert_int_eq(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	close(ends[1]);
	child->pid = 0;
	ck_assert(attempt(print, LONG));
	ck_assert_int_eq(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
	close(kept);
	n = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	ck_assert_msg(child->pid != 0, "it did not run");
	ck_assert_msg(n == 0, "%s", text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attempt");
	TCase *tests = tcase_create("attempt");

	child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (child == MAP_FAILED)
		return unit_skip("there is no shared memory");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, ends_or_hangs, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, prints_nothing);
	return unit_run(suite);
}

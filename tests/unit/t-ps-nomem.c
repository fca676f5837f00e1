/* SPDX-License-Identifier: MIT */
/* gpumap ps: every allocation may fail, while it reads and while it writes. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "inventory/inventory.h"
#include "live/ps.h"
#include "unit.h"

static pid_t stray, stale;

static pid_t start(const char *const envp[])
{
	int pipes[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		/* A copy that exec() closes, when the environment is the new one. */
		dup2(pipes[1], 9);
		close(pipes[0]);
		close(pipes[1]);
		execle("/bin/sh", "sh", "-c", "exec 9>&-; read x", NULL,
		       (char *const *)(uintptr_t)envp);
		_exit(127);
	}
	close(pipes[1]);
	ck_assert_int_eq(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	return pid;
}

static int input[2];

static void begin(void)
{
	ck_assert_int_eq(pipe(input), 0);
	ck_assert_int_eq(dup2(input[0], STDIN_FILENO), STDIN_FILENO);
	stray = start((const char *[]){"CUDA_VISIBLE_DEVICES=1", NULL});
	stale = start((const char *[]){"CUDA_VISIBLE_DEVICES=1,0", "GPUMAP_RUN_RANK=3",
				       "GPUMAP_RUN_ID=named", NULL});
}

static void end(void)
{
	kill(stray, SIGKILL);
	kill(stale, SIGKILL);
	ck_assert_int_eq(waitpid(stray, NULL, 0), stray);
	ck_assert_int_eq(waitpid(stale, NULL, 0), stale);
	close(input[0]);
	close(input[1]);
}

static gpumap_inventory *machine(void)
{
	gpumap_inventory *inventory = NULL;
	char text[1024];

	snprintf(text, sizeof(text),
		 "[snapshot]\nschema = 2\nhost = h\ndriver = 1.2\n"
		 "[gpu 0]\nname = X\nmemory = 85899345920\nused = 4294967296\nprocesses = all\n"
		 "[process 0:0]\npid = %d\nuid = %d\nuser = u\nvisible = yes\ncommand = a\n"
		 "types = compute\nmemory = 1048576\n"
		 "[process 0:1]\npid = %d\nuid = %d\nvisible = yes\ntypes = graphics\n"
		 "container = lxc:c\nmemory = 1048576\n"
		 "[process 0:2]\npid = 4194305\nvisible = no\nmemory = 1048576\n"
		 "[gpu 1]\nname = X\nmemory = 85899345920\nprocesses = some\nused = 1073741824\n",
		 (int)stray, (int)getuid(), (int)stale, (int)getuid());
	ck_assert_int_eq(gpumap_inventory_parse(&inventory, text, strlen(text), "m", NULL),
			 GPUMAP_OK);
	return inventory;
}

static void write_frame(struct strbuf *buf, const struct ps *ps, const struct ps_view *view,
			bool json)
{
	if (json)
		ps_json(buf, ps, view, NULL);
	else
		ps_text(buf, ps, view);
}

/* A frame, when the n-th allocation fails: NULL if it is known to be incomplete. */
static char *frame(size_t n, bool json, size_t width)
{
	gpumap_inventory *inventory = machine();
	const struct ps_view view = {.width = width};
	struct strbuf buf = {0};
	struct ps ps;
	int r;

	allocations_fail_at(n);
	r = ps_make(&ps, inventory);
	if (r == GPUMAP_OK) {
		write_frame(&buf, &ps, &view, json);
		ps_free(&ps);
	}
	allocations_fail_at(0);
	ck_assert_msg(r == GPUMAP_OK || r == GPUMAP_ENOMEM, "allocation %zu: %d", n, r);
	if (r == GPUMAP_OK && !buf.failed)
		return strbuf_take(&buf);
	strbuf_free(&buf);
	return NULL;
}

static const struct {
	const char *name, *has;
	bool json;
	size_t width;
} rows[] = {
	{"wide", "outside the list it started with", false, SIZE_MAX},
	{"narrow", "rank 3 of named", false, 60},
	{"json", "\"logical_state\":\"outside\"", true, 60},
};

START_TEST(whole_or_failed)
{
	char *usual = frame(0, rows[_i].json, rows[_i].width), *got = NULL;
	size_t n = 1;

	ck_assert_ptr_nonnull(usual);
	ck_assert_msg(strstr(usual, rows[_i].has), "%s: %s", rows[_i].name, usual);
	for (;; n++) {
		got = frame(n, rows[_i].json, rows[_i].width);
		if (got)
			ROW_EQ_STR(rows[_i].name, got, usual);
		if (!allocations_failed())
			break;
		free(got);
	}
	ck_assert_int_gt((int)n, 50);
	free(got);
	free(usual);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("ps without memory");
	tests = tcase_create("nomem");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, whole_or_failed, 0, ARRAY_SIZE(rows));
	return unit_run(suite);
}

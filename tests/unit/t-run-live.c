/* SPDX-License-Identifier: MIT */
/* What a run shows of itself: its launcher writes it, others read it. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "live/published_run.h"
#include "unit.h"

/* An environment that may be changed, as execve(2) takes it. */
#define TEXT(text) \
	(char[]) \
	{ \
		text \
	}
static char *const first[] = {TEXT("CUDA_VISIBLE_DEVICES=0,1"),
			      TEXT("CUDA_DEVICE_ORDER=PCI_BUS_ID"), TEXT("GPUMAP_RUN_GPUS=0"),
			      TEXT("CUDA_VISIBLE_DEVICES_X=7"), NULL};
static char *const second[] = {TEXT("A=b\nc"), TEXT("CUDA_VISIBLE_DEVICES="), NULL};
static const struct launch_rank ranks[] = {{.rank = 4, .envp = first}, {.rank = 5, .envp = second}};

static const char *shown(const char *text)
{
	return text ? text : "unset";
}

START_TEST(what_is_written_is_read)
{
	struct launch_exit exit = {.pid = 4711, .status = -1};
	struct run_live live;
	struct live_run run;

	run_live_open(&live, "20261125-120000-77", ranks, ARRAY_SIZE(ranks));
	ck_assert_int_ge(live.fd, 0);
	ck_assert_int_eq(live_run_read(&run, live.fd), GPUMAP_OK);
	ck_assert_str_eq(run.run, "20261125-120000-77");
	ck_assert_uint_eq(run.count, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(run.ranks[i].rank, ranks[i].rank);
		ck_assert_int_eq(run.ranks[i].state, LIVE_STARTING);
		ck_assert_int_eq(run.ranks[i].pid, 0);
	}
	ck_assert_str_eq(shown(run.ranks[0].visible), "0,1");
	ck_assert_str_eq(shown(run.ranks[0].order), "PCI_BUS_ID");
	ck_assert_str_eq(shown(run.ranks[0].gpus), "0");
	ck_assert_str_eq(shown(run.ranks[1].visible), "");
	ck_assert_str_eq(shown(run.ranks[1].order), "unset");
	ck_assert_str_eq(shown(run.ranks[1].gpus), "unset");
	live_run_free(&run);

	run_live_rank(&live, 1, &exit);
	exit = (struct launch_exit){
		.pid = 2147483647, .end_ns = 1, .status = -1, .signal = 64, .stopped = true};
	run_live_rank(&live, 0, &exit);
	ck_assert_int_eq(live_run_read(&run, live.fd), GPUMAP_OK);
	ck_assert_int_eq(run.ranks[1].state, LIVE_RUNNING);
	ck_assert_int_eq(run.ranks[1].pid, 4711);
	ck_assert_int_gt(run.ranks[1].at_ns, 0);
	ck_assert_int_eq(run.ranks[0].state, LIVE_ENDED);
	ck_assert_int_eq(run.ranks[0].pid, 2147483647);
	ck_assert_int_eq(run.ranks[0].status, -1);
	ck_assert_int_eq(run.ranks[0].signal, 64);
	ck_assert(run.ranks[0].stopped && !run.ranks[1].stopped);
	ck_assert_str_eq(shown(run.ranks[0].visible), "0,1");
	live_run_free(&run);

	run_live_rank(&live, 1, NULL);
	ck_assert_int_eq(live_run_read(&run, live.fd), GPUMAP_OK);
	ck_assert_int_eq(run.ranks[1].state, LIVE_STARTING);
	live_run_free(&run);
	run_live_close(&live);
	run_live_close(&live);
}
END_TEST

#define FILE_OF(name, text) \
	{ \
		name, text, sizeof(text) \
	}
static const struct {
	const char *name, *text;
	size_t size;
} bad[] = {
	{"empty", "", 0},
	FILE_OF("another program's", "gpumap run 2\0run=a"),
	{"cut in the first text", "gpumap ru", 9},
	FILE_OF("without a run", "gpumap run 1\0rank=0"),
	FILE_OF("no member", "gpumap run 1\0run=a\0rank"),
	FILE_OF("a rank that is no number", "gpumap run 1\0run=a\0rank=x"),
	FILE_OF("a negative rank", "gpumap run 1\0run=a\0rank=-1"),
	FILE_OF("a state without numbers", "gpumap run 1\0run=a\0rank=0\0state=1"),
	FILE_OF("a state that does not exist", "gpumap run 1\0run=a\0rank=0\0state=3 1 1 -1 0 0"),
	FILE_OF("a rank that runs without a process",
		"gpumap run 1\0run=a\0rank=0\0state=1 0 1 -1 0 0"),
	FILE_OF("a negative process", "gpumap run 1\0run=a\0rank=0\0state=2 -1 1 -1 0 0"),
	FILE_OF("nothing after a NUL", "gpumap run 1\0run=a\0\0"),
};

static int file_of(const char *text, size_t size)
{
	int fd = memfd_create("t-run-live", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
	return fd;
}

START_TEST(bad_files_are_refused)
{
	int fd = file_of(bad[_i].text, bad[_i].size);
	struct live_run run = {.launcher = 77};

	ROW_EQ_INT(bad[_i].name, live_run_read(&run, fd), GPUMAP_EINPUT);
	ROW_EQ_INT(bad[_i].name, run.launcher, 77);
	close(fd);
}
END_TEST

START_TEST(a_newer_one_may_have_more)
{
	static const char text[] =
		"gpumap run 1\0run=a\0color=red\0rank=0\0state=0 0 0 -1 0 0\0x=y";
	int fd = file_of(text, sizeof(text));
	struct live_run run;

	ck_assert_int_eq(live_run_read(&run, fd), GPUMAP_OK);
	ck_assert_uint_eq(run.count, 1);
	live_run_free(&run);
	close(fd);
}
END_TEST

START_TEST(a_pipe_is_no_file)
{
	struct live_run run;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(live_run_read(&run, fds[0]), GPUMAP_EINPUT);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("what a run shows of itself");
	TCase *tests = tcase_create("live");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, what_is_written_is_read);
	tcase_add_loop_test(tests, bad_files_are_refused, 0, ARRAY_SIZE(bad));
	tcase_add_test(tests, a_newer_one_may_have_more);
	tcase_add_test(tests, a_pipe_is_no_file);
	return unit_run(suite);
}

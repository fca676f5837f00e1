/* SPDX-License-Identifier: MIT */
/* Calls that fail and processes that die while they save: what was there stays as it was. */
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "folders.h"
#include "models.h"

/* --- calls that fail --------------------------------------------------------------- */

/* These functions replace those of the C library, and call the kernel themselves. */
#define VISIBLE __attribute__((visibility("default")))

enum call { NO_CALL, WRITE, WRITE_NOTHING, SYNC_FILE, SYNC_FOLDER, RENAME, UNLINK };

static enum call failing;
static int failing_errno;
static size_t max_write; /* bytes at once, and every other write is interrupted; 0: all */
static unsigned writes;
static int calls_to_live; /* the process is killed at this call; 0: it lives */

static bool fails(enum call call)
{
	if (calls_to_live && --calls_to_live == 0)
		raise(SIGKILL);
	if (failing != call)
		return false;
	errno = failing_errno;
	return true;
}

VISIBLE ssize_t write(int fd, const void *bytes, size_t size)
{
	/* the disk gets full after the first bytes */
	bool full = fails(WRITE) && lseek(fd, 0, SEEK_CUR) > 0;

	if (max_write && writes++ % 2) {
		errno = EINTR;
		return -1;
	}
	if (full || failing == WRITE_NOTHING)
		return full ? -1 : 0;
	if (max_write && size > max_write)
		size = max_write;
	return syscall(SYS_write, fd, bytes, failing == WRITE && size > 100 ? 100 : size);
}

VISIBLE int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && fails(S_ISDIR(st.st_mode) ? SYNC_FOLDER : SYNC_FILE))
		return -1;
	return (int)syscall(SYS_fsync, fd);
}

VISIBLE int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	if (fails(RENAME))
		return -1;
	return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

VISIBLE int unlinkat(int folder, const char *name, int flags)
{
	/* only the removal of an older checkpoint fails, not that of the file being written */
	if (name[0] == 'c' && fails(UNLINK))
		return -1;
	return (int)syscall(SYS_unlinkat, folder, name, flags);
}

static int files_in(const char *path)
{
	struct stat st;
	int n = 0;

	for (int step = 0; step < 10; step++) {
		char name[64];

		snprintf(name, sizeof(name), "%s/checkpoint-%012d.safetensors", path, step);
		n += stat(name, &st) == 0;
	}
	return n;
}

/* Nothing but checkpoints is in the folder: it can be removed after they are. */
static void only_checkpoints(const char *name)
{
	for (int step = 0; step < 10; step++) {
		char path[64];

		snprintf(path, sizeof(path), "c/checkpoint-%012d.safetensors", step);
		unlink(path);
	}
	ck_assert_msg(rmdir("c") == 0, "%s: something was left in the folder", name);
}

static const struct {
	const char *name;
	enum call call;
	int error;
	int64_t newest; /* afterwards; 1 and 2 were there */
	int files;
	const char *want;
} fault_rows[] = {
	{"disk full", WRITE, ENOSPC, 2, 2,
	 "cannot write: No space left on device; free some space, or write to another folder"},
	{"no quota", WRITE, EDQUOT, 2, 2,
	 "cannot write: Disk quota exceeded; free some space, or write to another folder"},
	{"bad disk", WRITE, EIO, 2, 2, "cannot write: Input/output error; write to another folder"},
	{"nothing is taken", WRITE_NOTHING, 0, 2, 2,
	 "cannot write: No space left on device; free some space, or write to another folder"},
	{"sync finds a full disk", SYNC_FILE, ENOSPC, 2, 2,
	 "cannot sync: No space left on device; free some space, or write to another folder"},
	{"sync finds a bad disk", SYNC_FILE, EIO, 2, 2,
	 "cannot sync: Input/output error; write to another folder"},
	{"file system without sync", SYNC_FILE, EINVAL, 2, 2,
	 "cannot sync: Invalid argument; write to another folder"},
	{"rename", RENAME, EACCES, 2, 2,
	 "cannot rename: Permission denied; write to another folder"},
	/* the new checkpoint is there, and no older one was removed for it */
	{"sync of the folder", SYNC_FOLDER, EIO, 3, 3,
	 "cannot sync the folder of: Input/output error; write to another folder"},
	{"folder without sync", SYNC_FOLDER, EINVAL, 3, 2, ""},
	{"older one stays", UNLINK, EPERM, 3, 3,
	 "cannot remove: Operation not permitted; write to another folder"},
	{"older one is gone already", UNLINK, ENOENT, 3, 3, ""},
};

START_TEST(calls_fail)
{
	struct train_error error = {.status = TRAIN_OK};
	struct refusals refusals;
	struct model m;
	const char *text;
	bool good;

	model_save("c", 1, 0);
	model_save("c", 2, 0);
	model_make(&m, 3);
	failing = fault_rows[_i].call;
	failing_errno = fault_rows[_i].error;
	good = checkpoint_save("c", &m.checkpoint, 2, &error);
	failing = NO_CALL;
	text = strstr(error.text, ": ");
	ROW_EQ_INT(fault_rows[_i].name, good, !*fault_rows[_i].want);
	ROW_EQ_STR(fault_rows[_i].name, text ? text + 2 : "", fault_rows[_i].want);
	ROW_EQ_INT(fault_rows[_i].name, newest_step("c", &refusals), fault_rows[_i].newest);
	ROW_EQ_INT(fault_rows[_i].name, refusals.count, 0);
	ROW_EQ_INT(fault_rows[_i].name, files_in("c"), fault_rows[_i].files);
	only_checkpoints(fault_rows[_i].name);
}
END_TEST

START_TEST(writes_come_short)
{
	struct refusals refusals;

	max_write = 7;
	model_save("c", 1, 0);
	max_write = 0;
	ck_assert_uint_gt(writes, 100);
	ck_assert_int_eq(newest_step("c", &refusals), 1);
}
END_TEST

/* The kernel limits the size of files as a full disk does, at many sizes that are too small. */
START_TEST(files_may_not_grow)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct refusals refusals;
	struct model m;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	model_save("c", 1, 0);
	ck_assert_int_eq(stat("c/checkpoint-000000000001.safetensors", &st), 0);
	model_make(&m, 2);
	for (rlim_t max = 0; max < (rlim_t)st.st_size; max += 97) {
		const struct rlimit limit = {max, RLIM_INFINITY};
		struct train_error error = {.status = TRAIN_OK};
		bool good;

		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		good = checkpoint_save("c", &m.checkpoint, 1, &error);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
		ck_assert_msg(!good, "%d bytes were enough", (int)max);
		ck_assert_ptr_nonnull(strstr(error.text, "File too large"));
		ck_assert_int_eq(newest_step("c", &refusals), 1);
		ck_assert_int_eq(refusals.count, 0);
	}
	only_checkpoints("files may not grow");
}
END_TEST

/* --- processes that die -------------------------------------------------------------- */

enum { KILLS = 20, LARGE = 1 << 20 };

static struct checkpoint large(struct tensor *parameter, float *data, int64_t step)
{
	*parameter = (struct tensor){"w", {1, {LARGE}}, data};
	for (int i = 0; i < LARGE; i++)
		data[i] = (float)step;
	return (struct checkpoint){.parameters = parameter, .count = 1, .progress.step = step};
}

static void save_for_ever(int64_t step, float *data)
{
	for (;; step++) {
		struct train_error error = {.status = TRAIN_OK};
		struct tensor parameter;
		struct checkpoint what = large(&parameter, data, step);

		if (!checkpoint_save("c", &what, 2, &error))
			_exit(1);
	}
}

/* The step that can be resumed from; its values are its own. */
static int64_t resumed(float *data)
{
	struct train_error error = {.status = TRAIN_OK};
	struct refusals refusals;
	struct safetensors *file = newest("c", &refusals);
	struct tensor parameter;
	struct checkpoint into = large(&parameter, data, -1);

	ck_assert_ptr_nonnull(file);
	ck_assert_msg(refusals.count == 0, "%s", refusals.last);
	ck_assert_msg(checkpoint_load(&into, file, &error), "%s", error.text);
	for (int i = 0; i < LARGE; i++)
		if (data[i] != (float)into.progress.step)
			ck_abort_msg("element %d of step %d", i, (int)into.progress.step);
	safetensors_free(file);
	return into.progress.step;
}

/* Killed at every call of a save, whose writes take 50 bytes at most. */
START_TEST(killed_at_each_call)
{
	struct refusals refusals;
	struct model m;
	int status = 0, calls = 0;

	model_save("c", 1, 0);
	model_make(&m, 2);
	do {
		pid_t pid = fork();
		int64_t step;

		ck_assert_int_ge(pid, 0);
		calls++;
		if (pid == 0) {
			struct train_error error = {.status = TRAIN_OK};

			max_write = 50;
			calls_to_live = calls;
			_exit(checkpoint_save("c", &m.checkpoint, 1, &error) ? 0 : 1);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		step = newest_step("c", &refusals);
		ck_assert_msg(step == 1 || step == 2, "killed at call %d: step %d", calls,
			      (int)step);
		ck_assert_msg(refusals.count == 0, "killed at call %d: %s", calls, refusals.last);
	} while (WIFSIGNALED(status));
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(calls, 30);
	ck_assert_int_eq(newest_step("c", &refusals), 2);
	ck_assert_int_eq(files_in("c"), 1);
	only_checkpoints("killed at each call");
}
END_TEST

/* Waits until the next step is saved, or the one after it, for which this one is removed. */
static void wait_for_next(int64_t step)
{
	char old[64], next[64];

	snprintf(old, sizeof(old), "c/checkpoint-%012d.safetensors", (int)step);
	snprintf(next, sizeof(next), "c/checkpoint-%012d.safetensors", (int)step + 1);
	for (int tries = 0; access(old, F_OK) == 0 && access(next, F_OK) < 0; tries++) {
		ck_assert_msg(tries < 50000, "%s does not come", next);
		usleep(1000);
	}
}

/* Each process goes on where the one before was killed. Some are killed after they have saved. */
START_TEST(killed)
{
	struct train_error error = {.status = TRAIN_OK};
	static float data[LARGE];
	struct tensor parameter;
	struct checkpoint what = large(&parameter, data, 1);
	int64_t step = 1;
	char path[64];

	ck_assert(checkpoint_save("c", &what, 2, &error));
	for (int i = 0; i < KILLS; i++) {
		int64_t before = step;
		pid_t pid = fork();
		int status;

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			save_for_ever(step + 1, data);
		if (i % 4 == 0)
			wait_for_next(step);
		usleep((useconds_t)(2000 + i * 3701 % 30000));
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFSIGNALED(status), "it ended before it was killed");
		step = resumed(data);
		ck_assert_int_ge(step, before);
	}
	ck_assert_int_ge(step, 1 + KILLS / 4);
	what = large(&parameter, data, step + 1);
	ck_assert(checkpoint_save("c", &what, 1, &error));
	snprintf(path, sizeof(path), "c/checkpoint-%012d.safetensors", (int)step + 1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_msg(rmdir("c") == 0, "what the killed ones wrote was left");
}
END_TEST

/* The next save removes what a killed process left, but nothing of a writer that lives. */
START_TEST(left_over)
{
	struct train_error error = {.status = TRAIN_OK};
	struct model m;
	int fd;

	ck_assert_int_eq(mkdir("c", 0777), 0);
	spit("c/.checkpoint-1-0.tmp", "x", 1);
	spit("c/.checkpoint-2-0.tmp", "x", 1);
	fd = open("c/.checkpoint-2-0.tmp", O_WRONLY);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	model_make(&m, 1);
	ck_assert_msg(checkpoint_save("c", &m.checkpoint, 1, &error), "%s", error.text);
	ck_assert_int_ne(access("c/.checkpoint-1-0.tmp", F_OK), 0);
	ck_assert_int_eq(access("c/.checkpoint-2-0.tmp", F_OK), 0);
	close(fd);
	ck_assert(checkpoint_save("c", &m.checkpoint, 1, &error));
	only_checkpoints("left over");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("checkpoint-faults");
	TCase *tests = tcase_create("checkpoint-faults");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, calls_fail, 0, sizeof(fault_rows) / sizeof(*fault_rows));
	tcase_add_test(tests, writes_come_short);
	tcase_add_test(tests, files_may_not_grow);
	tcase_add_test(tests, killed_at_each_call);
	tcase_add_test(tests, killed);
	tcase_add_test(tests, left_over);
	return unit_run(suite);
}

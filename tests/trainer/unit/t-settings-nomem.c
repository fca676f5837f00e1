/* SPDX-License-Identifier: MIT */
/* Every allocation of reading settings and finding devices fails once: then there is one message,
 * and nothing is left behind. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "place/place.h"
#include "unit.h"

static char file[] = "/tmp/settings-XXXXXX";

static const char text[] = "[trainer a]\nlr = 0.5\ndata = ${DATA}\ndevice_ids = 1,0\n";

static const struct {
	const char *name;
	const char *words[8];
	const char *envp[6];
	int devices;
} rows[] = {
	{"single", {"gpumap-train", "--visible", "3,2", "--device=1"}, {"HOME=/"}, 1},
	{"dp of a profile", {"gpumap-train", "--mode=dp", "--config", file}, {"DATA=x"}, 2},
	{"threads", {"gpumap-train", "--mode=ddp", "--inventory", "3"}, {"HOME=/"}, 3},
	{"stages", {"gpumap-train", "--mode=mp", "--device-ids", "0,2"}, {"HOME=/"}, 2},
	{"a rank",
	 {"gpumap-train", "--mode=ddp", "--inventory=2"},
	 {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_PORT=1"},
	 1},
};

static bool use(int i, struct train_error *error)
{
	struct command_line command;
	struct place place;
	char copies[8][32], *argv[8];
	int argc = 0;
	bool good;

	for (; rows[i].words[argc]; argc++) {
		snprintf(copies[argc], sizeof(copies[argc]), "%s", rows[i].words[argc]);
		argv[argc] = copies[argc];
	}
	if (!settings_read(&command, argc, argv, rows[i].envp, error))
		return false;
	good = place_rank(&place, &command, error) && place_devices(&place, &command, error);
	if (good && place.count != rows[i].devices)
		good = train_fail(error, TRAIN_BAD_INPUT, "%d devices", place.count);
	settings_free(&command);
	return good;
}

static void set_up(void)
{
	int fd = mkstemp(file);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	ck_assert_int_eq(close(fd), 0);
}

static void tear_down(void)
{
	remove(file);
}

START_TEST(every_allocation_fails)
{
	const char *name = rows[_i].name;
	bool failed = true;
	size_t n = 0;

	while (failed) {
		struct train_error error = {.status = TRAIN_OK};
		bool done;

		allocations_fail_at(++n);
		done = use(_i, &error);
		allocations_fail_at(0);
		failed = allocations_failed();
		/* Some failures do no harm: a message is not reported. */
		ck_assert_msg(done || failed, "%s, allocation %zu: %s", name, n, error.text);
		ck_assert_msg(
			done || (error.status == TRAIN_FAILED && strstr(error.text, "memory")),
			"%s, allocation %zu: %s", name, n, error.text);
	}
	ck_assert_uint_gt(n, 10);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("settings-nomem");
	tests = tcase_create("settings-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, every_allocation_fails, 0, sizeof(rows) / sizeof(*rows));
	return unit_run(suite);
}

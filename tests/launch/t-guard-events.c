/* SPDX-License-Identifier: MIT */
/* The last words of a guard reach the launcher, whatever was sent to the guard meanwhile. */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/report.h"
#include "supervise.h"
#include "unit.h"

static const struct {
	const char *name;
	bool finished; /* the guard sends GUARD_EMPTY before it exits */
	bool ordered;  /* an order is sent that the guard does not read */
	enum launch_cause cause;
} rows[] = {
	{"the guard finishes", true, false, LAUNCH_DONE},
	{"the guard finishes without reading an order", true, true, LAUNCH_DONE},
	{"the guard is killed", false, false, LAUNCH_BROKEN},
	{"the guard is killed before it reads an order", false, true, LAUNCH_BROKEN},
};

START_TEST(last_messages)
{
	const char *name = rows[_i].name;
	struct launch_rank rank = {.rank = 0};
	struct launch_exit exit = {.status = -1};
	const struct launch launch = {.ranks = &rank, .count = 1};
	struct launch_result result = {.ranks = &exit, .count = 1, .cause = LAUNCH_DONE};
	struct supervisor s = {.launch = &launch, .result = &result, .epoll = -1};
	struct guard_message message = {.event = GUARD_FORKED, .pid = 1000};
	int pair[2];

	ck_assert_int_eq(gpumap_report_new(&s.report), GPUMAP_OK);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	s.guard = pair[0];
	ck_assert_int_eq(send(pair[1], &message, sizeof(message), 0), sizeof(message));
	if (rows[_i].ordered)
		guard_send(&s, GUARD_END, SIGTERM);
	message.event = GUARD_EMPTY;
	if (rows[_i].finished)
		ck_assert_int_eq(send(pair[1], &message, sizeof(message), 0), sizeof(message));
	close(pair[1]);
	guard_read_events(&s);
	ck_assert_msg(exit.pid == 1000, "%s: rank 0 has pid %d", name, (int)exit.pid);
	ck_assert_msg(result.cause == rows[_i].cause, "%s: cause %d", name, result.cause);
	ck_assert_msg(s.empty && s.guard == -1, "%s: not ended", name);
	gpumap_report_free(s.report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guard-events");
	TCase *tests = tcase_create("guard-events");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, last_messages, 0, ARRAY_SIZE(rows));
	return unit_run(suite);
}

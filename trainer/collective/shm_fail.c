/* SPDX-License-Identifier: MIT */
/* Why a run fails, the same on all ranks. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "collective/shm_board.h"

/* The process that writes the reason may be killed meanwhile, or wait for its turn on a busy
 * machine. */
static bool reason_there(const struct shm_board *board)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 10000; i++) {
		if (atomic_load(&board->failed) == 2)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

bool shm_good(const struct meeting *meeting, struct train_error *error)
{
	const struct shm_board *board = meeting->board;

	if (atomic_load(&board->failed) == 0)
		return true;
	if (reason_there(board))
		return train_fail(error, board->why.status, "%.*s",
				  (int)sizeof(board->why.text) - 1, board->why.text);
	return train_fail(error, TRAIN_FAILED, "another rank failed and ended before it said why");
}

__attribute__((format(printf, 3, 0))) static void
note(const struct meeting *meeting, enum train_status status, const char *format, va_list args)
{
	struct shm_board *board = meeting->board;
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&board->failed, &none, 1))
		return;
	board->why.status = status;
	vsnprintf(board->why.text, sizeof(board->why.text), format, args);
	atomic_store(&board->failed, 2);
	for (int r = 0; r < board->world; r++)
		shm_post(meeting, r);
}

bool shm_fail(const struct meeting *meeting, struct train_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(meeting, TRAIN_FAILED, format, args);
	va_end(args);
	return shm_good(meeting, error);
}

void shm_fail_as(const struct meeting *meeting, enum train_status status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(meeting, status, format, args);
	va_end(args);
}

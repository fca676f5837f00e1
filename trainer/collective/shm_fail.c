/* SPDX-License-Identifier: MIT */
/* Why a run fails, the same on all ranks. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "collective/shm_board.h"

/* The process that writes the reason may be killed meanwhile. */
static bool reason_there(const struct shm_board *board)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 500; i++) {
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
		return train_fail(error, TRAIN_FAILED, "%.*s", (int)sizeof(board->reason) - 1,
				  board->reason);
	return train_fail(error, TRAIN_FAILED, "another rank failed and ended before it said why");
}

bool shm_fail(const struct meeting *meeting, struct train_error *error, const char *format, ...)
{
	struct shm_board *board = meeting->board;
	uint32_t none = 0;
	va_list args;

	if (atomic_compare_exchange_strong(&board->failed, &none, 1)) {
		va_start(args, format);
		vsnprintf(board->reason, sizeof(board->reason), format, args);
		va_end(args);
		atomic_store(&board->failed, 2);
		for (int r = 0; r < board->world; r++)
			shm_post(meeting, r);
	}
	return shm_good(meeting, error);
}

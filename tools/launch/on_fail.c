/* SPDX-License-Identifier: MIT */
/* What on_fail does after a rank failed. */
#include "launch/supervise.h"

void on_fail_stop(struct supervisor *s)
{
	if (s->launch->on_fail != LAUNCH_WAIT && s->ending == RUNNING &&
	    !s->deadlines[DEADLINE_WINDOW])
		s->deadlines[DEADLINE_WINDOW] = s->first_ns + WINDOW_MS * NS_PER_MS;
}

bool on_fail_again(struct supervisor *s)
{
	if (s->launch->on_fail != LAUNCH_RESTART || !s->first_ns || s->refused ||
	    s->result->cause != LAUNCH_DONE || s->result->restarts >= s->launch->restarts)
		return false;
	/* A signal that stopped this start prevents another one. */
	if (s->halted != LAUNCH_DONE) {
		s->result->cause = s->halted;
		return false;
	}
	s->result->restarts++;
	console_note(&s->console, "a rank failed: starting all again, %d of %d",
		     s->result->restarts, s->launch->restarts);
	return true;
}

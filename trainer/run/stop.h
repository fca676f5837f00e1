/* SPDX-License-Identifier: MIT */
/*
 * How a process ends before its training does.
 *
 * SIGTERM, SIGINT and SIGHUP: until training begins they end the process as usual. From then on the
 * first asks for an end after the current step, with a checkpoint, and a second ends it at once. If
 * that takes longer than a moment, the progress line reports it.
 *
 * One thread waits for them, and all others block them: a handler on the stack of oneDNN's
 * generated code would overwrite what that code keeps below its stack pointer.
 */
#ifndef TRAIN_RUN_STOP_H
#define TRAIN_RUN_STOP_H

#include "base/error.h"

enum { STOP_FAILED_S = 10 };

/* Call it before any other thread is started. Signals that nohup and shells without job control
 * ignore stay ignored. */
bool stop_open(struct train_error *error);

/* Training begins. */
void stop_later(void);

/* The signal that asked for an end, or 0. */
int stop_asked(void);

/* Call it when this process has failed and ends. A call of a driver may never return. So
 * STOP_FAILED_S after this call, or after an earlier failed call of a device (train_device_failed),
 * the process is ended with the status of the first reason. The reason is printed then, in its
 * longest form, unless stop_reported was called. Without stop_open it does nothing. */
void stop_failed(const struct train_error *why);
void stop_reported(void);

/* Ends the process by a signal, as if it had no handler. */
_Noreturn void stop_now(int number);

#endif

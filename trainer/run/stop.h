/* SPDX-License-Identifier: MIT */
/*
 * How a process ends before its training does.
 *
 * SIGTERM, SIGINT and SIGHUP: until training begins they end the process as ever; from then on the
 * first asks for an end after the step under way, with a checkpoint, and a second ends it at once.
 * If it takes longer than a moment the progress says so.
 *
 * A thread waits for them, and all others have them blocked: on the stack of one in the midst of
 * oneDNN's generated code a handler spoils what that code keeps below its stack.
 */
#ifndef TRAIN_RUN_STOP_H
#define TRAIN_RUN_STOP_H

#include "error.h"

enum { STOP_FAILED_S = 10 };

/* Before any other thread is started. What nohup and shells without job control ignore stays so. */
bool stop_open(struct train_error *error);

/* Training begins. */
void stop_later(void);

/* The signal that asked for an end, or 0. */
int stop_asked(void);

/* This process has failed and ends. A call of a driver may never return: STOP_FAILED_S after that,
 * or after a call of a device failed before (train_device_failed), the process is ended with the
 * status of the first reason, which is printed then, in its longest form, unless stop_reported was
 * called. Nothing without stop_open. */
void stop_failed(const struct train_error *why);
void stop_reported(void);

/* Ends the process by a signal, as one that nobody caught. */
_Noreturn void stop_now(int number);

#endif

/* SPDX-License-Identifier: MIT */
/* Why the trainer stops: one line that names the place, what is wrong and the remedy. */
#ifndef TRAIN_ERROR_H
#define TRAIN_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* The exit statuses of gpumap-train. */
enum train_status { TRAIN_OK = 0, TRAIN_FAILED = 1, TRAIN_BAD_INPUT = 2, TRAIN_NO_BACKEND = 3 };

struct train_error {
	enum train_status status; /* TRAIN_OK: no error */
	bool tolerated;           /* the caller can continue without the thing that failed */
	char text[512];           /* control characters are escaped; a longer text is cut */
};

#define TRAIN_TOLERATED \
	(struct train_error) \
	{ \
		.status = TRAIN_OK, .tolerated = true \
	}

/* Notes the error unless one was noted before. Returns false, for `return train_fail(...)`. */
bool train_fail(struct train_error *error, enum train_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "out of memory, for WHAT". Returns false. */
bool train_nomem(struct train_error *error, const char *what);

/*
 * For a failed call of a device, after it was noted. The next call may never return, even one that
 * frees something. So this calls the listener first, from any thread, unless the failure is
 * tolerated. Set the listener before any thread calls a device; NULL: none.
 */
void train_device_failed(const struct train_error *error);
/* After such a failure: the caller continues without what failed. Calls the other listener. */
void train_device_recovered(void);

/* For a device whose work has not ended within the limit of --timeout: "GPU 2 (UUID): its work has
 * not ended ...", as a failed call. `which`: " (UUID)", or TRAIN_OR_ANOTHER if the device may only
 * wait for the one that is at fault; a burn test looks for that. Returns false. */
#define TRAIN_OR_ANOTHER ", or one that it waits for"
bool train_device_late(struct train_error *error, int physical, const char *which,
		       int64_t limit_ns);
void train_device_listener(void (*notify)(const struct train_error *error), void (*forget)(void));

#endif

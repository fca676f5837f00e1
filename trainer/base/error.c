/* SPDX-License-Identifier: MIT */
/* See error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static void (*listener)(const struct train_error *error);
static void (*forgetter)(void);

static void escape(char *text, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 5 < size; from++) {
		unsigned char c = (unsigned char)*from;

		if (c >= ' ' && c != 0x7f)
			text[n++] = *from;
		else
			n += (size_t)snprintf(text + n, size - n, "\\x%02x", c);
	}
	text[n] = '\0';
}

bool train_fail(struct train_error *error, enum train_status status, const char *format, ...)
{
	char raw[sizeof(error->text)];
	va_list args;

	if (error->status != TRAIN_OK)
		return false;
	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	error->status = status;
	escape(error->text, sizeof(error->text), raw);
	return false;
}

bool train_nomem(struct train_error *error, const char *what)
{
	return train_fail(error, TRAIN_FAILED, "out of memory, for %s", what);
}

void train_device_failed(const struct train_error *error)
{
	if (listener && !error->tolerated)
		listener(error);
}

bool train_device_late(struct train_error *error, int physical, const char *which, int64_t limit_ns)
{
	train_fail(error, TRAIN_FAILED,
		   "GPU %d%s: its work has not ended after %g s; dmesg and nvidia-smi may show "
		   "why, or give a longer --timeout",
		   physical, which, (double)limit_ns * 1e-9);
	train_device_failed(error);
	return false;
}

void train_device_recovered(void)
{
	if (forgetter)
		forgetter();
}

void train_device_listener(void (*notify)(const struct train_error *error), void (*forget)(void))
{
	listener = notify;
	forgetter = forget;
}

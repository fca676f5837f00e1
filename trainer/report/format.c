/* SPDX-License-Identifier: MIT */
/* See format.h. */
#include "report/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *number_decimals(char text[NUMBER_TEXT], double value, int decimals)
{
	if (isnan(value))
		value = 0;
	value = fmax(-1e15, fmin(1e15, value));
	snprintf(text, NUMBER_TEXT, "%.*f", decimals, value);
	return text;
}

const char *number_fixed(char text[NUMBER_TEXT], double value, int decimals)
{
	char *end;

	number_decimals(text, value, decimals);
	if (strchr(text, '.')) {
		end = text + strlen(text);
		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	if (strcmp(text, "-0") == 0)
		memcpy(text, "0", 2);
	return text;
}

const char *number_loss(char text[NUMBER_TEXT], double value)
{
	snprintf(text, NUMBER_TEXT, fabs(value) < 1e4 ? "%.4f" : "%.3e",
		 isnan(value) ? fabs(value) : value);
	return text;
}

const char *number_exact(char text[NUMBER_TEXT], double value)
{
	if (!isfinite(value))
		memcpy(text, "null", 5);
	else if (fabs(value) < 1e15 && value == (double)(int64_t)value)
		snprintf(text, NUMBER_TEXT, signbit(value) && value == 0 ? "-%lld.0" : "%lld",
			 (long long)value);
	else
		snprintf(text, NUMBER_TEXT, "%.17g", value);
	return text;
}

const char *number_bytes(char text[NUMBER_TEXT], int64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (fabs(value) >= 1023.95 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, NUMBER_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

const char *number_time(char text[NUMBER_TEXT], double seconds)
{
	long long all = seconds > 0 ? (long long)fmin(1e12, ceil(seconds)) : 0;

	if (all < 2 * 3600)
		snprintf(text, NUMBER_TEXT, "%lld:%02lld", all / 60, all % 60);
	else
		snprintf(text, NUMBER_TEXT, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60,
			 all % 60);
	return text;
}

void text_append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

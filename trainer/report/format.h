/* SPDX-License-Identifier: MIT */
/* Numbers and lines of reports. The program stays in the locale C. */
#ifndef TRAIN_REPORT_FORMAT_H
#define TRAIN_REPORT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT = 32 };

/* With at most so many decimals, 0 to 9, without zeros at the end: "12.5". Values beyond 1e15 are
 * written as 1e15, and NaN as 0. Returns text. */
const char *number_fixed(char text[NUMBER_TEXT], double value, int decimals);
/* The same with those zeros, for a column. */
const char *number_decimals(char text[NUMBER_TEXT], double value, int decimals);
/* A loss for people: "1.2345", "1.234e+05", "inf", and "nan" for each NaN, whatever its sign.
 * Returns text. */
const char *number_loss(char text[NUMBER_TEXT], double value);
/* With enough digits to read back the same double; "null" where JSON has no number. Returns
 * text. */
const char *number_exact(char text[NUMBER_TEXT], double value);
/* "12 B", "302.6 KiB", "71.3 MiB": powers of 1024. Returns text. */
const char *number_bytes(char text[NUMBER_TEXT], int64_t bytes);
/* "0:12", "61:07", "25:00:00". Returns text. */
const char *number_time(char text[NUMBER_TEXT], double seconds);

/* Adds to the end of a text of at most `size` bytes, as much as there is room for. */
void text_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

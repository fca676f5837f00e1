/* SPDX-License-Identifier: MIT */
/* See rows.h. */
#include "settings/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "settings/arguments_raw.h"
#include "quantity.h"
#include "suggest.h"

const struct row rows[ROWS] = {
#define SETTING(group, name, option, kind, member, value, least, max, initial, only, help) \
	{GROUP_##group, #name, option, ROW_##kind, offsetof(struct settings, member), \
	 value,         least, max,    initial,    only, \
	 help},
#include "settings/settings.def"
};

const struct row_alias row_aliases[] = {
#define ALIAS(option, name, text, help) {option, ROW_##name, text, help},
#include "settings/settings.def"
	{.option = NULL},
};

const char *const row_titles[ROW_GROUPS] = {
#define GROUP(group, title) [GROUP_##group] = title,
#include "settings/settings.def"
};

/* Words are written through an int. */
_Static_assert(sizeof(enum train_mode) == sizeof(int) &&
		       sizeof(enum sampler_order) == sizeof(int) &&
		       sizeof(enum sampler_tail) == sizeof(int) &&
		       sizeof(enum optimizer_kind) == sizeof(int) &&
		       sizeof(enum schedule_kind) == sizeof(int) &&
		       sizeof(enum value_type) == sizeof(int) &&
		       sizeof(enum overlap) == sizeof(int) &&
		       sizeof(enum progress_style) == sizeof(int),
	       "an enum of settings is not an int");

const char *row_only(char text[ROW_ONLY_TEXT], const struct row *row)
{
	snprintf(text, ROW_ONLY_TEXT, "%s%s", row->only ? "--" : "", row->only ? row->only : "");
	for (char *c = text; *c; c++)
		*c = *c == '_' ? '-' : *c == '=' ? ' ' : *c;
	return text;
}

static bool cannot_be(const char *text, const char *origin, const char *fix,
		      struct train_error *error)
{
	return train_fail(error, TRAIN_BAD_INPUT, "%s: cannot be '%.64s'; %s", origin, text, fix);
}

bool row_not_a_word(const char *words, const char *text, const char *origin,
		    struct train_error *error)
{
	return cannot_be(text, origin, WORD_FIX(words, span_of(text)), error);
}

/* Modes of other programs, by the name that begins so. */
static const struct {
	const char *begins, *fix;
} other_modes[] = {
	{"fsdp", "there is no sharding here: write ddp, with all weights on each device"},
	{"hsdp", "there is no sharding here: write ddp, with all weights on each device"},
	{"zero", "there is no sharding here: write ddp, with all weights on each device"},
	{"deepspeed", "there is no sharding here: write ddp, with all weights on each device"},
	{"pp", "write mp: --stages and --micro-batches make a pipeline"},
	{"pipe", "write mp: --stages and --micro-batches make a pipeline"},
	{"model", "write mp: each device has a stage of the model"},
	{"tp", "layers are not divided here: write mp, where each device has a stage of them"},
	{"tensor", "layers are not divided here: write mp, where each device has a stage of them"},
	{"distributed", "write ddp"},
	{"data", "write dp, or ddp with a rank for each device"},
};

static bool not_a_mode(const char *text, const char *origin, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(other_modes) / sizeof(*other_modes); i++)
		if (strncasecmp(text, other_modes[i].begins, strlen(other_modes[i].begins)) == 0)
			return cannot_be(text, origin, other_modes[i].fix, error);
	return row_not_a_word(rows[ROW_mode].value, text, origin, error);
}

static bool read_number(const char *text, double *ret)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.eE+-")])
		return false;
	*ret = strtod(text, &end);
	return !*end && isfinite(*ret);
}

static bool read_seed(const char *text, uint64_t *ret)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && !*end;
}

/* False, with what to write instead: the text is no such number. */
static bool read_any_number(const struct row *row, void *member, const char *text,
			    struct quoted *fix)
{
	double number = 0;
	int64_t whole;
	bool good;

	switch (row->kind) {
	case ROW_NUMBER:
		format_text(fix, "write a number from %.10g to %.10g", row->least, row->max);
		good = read_number(text, &number) && number >= row->least && number <= row->max;
		if (good)
			*(double *)member = number;
		return good;
	case ROW_SEED:
		format_text(fix, "write a number from 0 to %" PRIu64, UINT64_MAX);
		return read_seed(text, member);
	case ROW_TIME:
		format_text(fix, "write 10 (seconds), 500ms, 2m or 1h, at most 480h%s",
			    row->least > 0 ? "" : ", or 0 for no limit");
		whole = span_milliseconds(span_of(text));
		good = (double)whole >= row->least && (double)whole <= row->max;
		if (good)
			*(int64_t *)member = whole;
		return good;
	default:
		format_text(fix, "write a whole number from %.0f to %.0f", row->least, row->max);
		whole = span_number(span_of(text), (int64_t)row->max);
		good = whole >= (int64_t)row->least;
		if (good && row->kind == ROW_INT)
			*(int *)member = (int)whole;
		else if (good)
			*(int64_t *)member = whole;
		return good;
	}
}

bool row_read(const struct row *row, struct settings *settings, const char *text,
	      const char *origin, struct train_error *error)
{
	void *member = (char *)settings + row->offset;
	struct quoted fix;
	int place;

	switch (row->kind) {
	case ROW_TEXT:
		*(const char **)member = text;
		return true;
	case ROW_WORD:
	case ROW_CHOICE:
	case ROW_FLAG:
		place = word_place(row->value, span_of(text));
		if (place < 0)
			return row == &rows[ROW_mode]
				       ? not_a_mode(text, origin, error)
				       : row_not_a_word(row->value, text, origin, error);
		if (row->kind == ROW_WORD)
			*(int *)member = place;
		else if (row->kind == ROW_FLAG)
			*(bool *)member = place == 0;
		else
			*(const char **)member = text;
		return true;
	default:
		return read_any_number(row, member, text, &fix) ||
		       cannot_be(text, origin, fix.text, error);
	}
}

const char *row_text(const struct row *row, const struct settings *settings)
{
	const void *member = (const char *)settings + row->offset;

	return row->kind == ROW_CHOICE || row->kind == ROW_TEXT ? *(const char *const *)member
								: NULL;
}

void row_write(char *text, size_t size, const struct row *row, const struct settings *settings)
{
	const void *member = (const char *)settings + row->offset;
	const char *word = row->value, *given = row_text(row, settings);

	switch (row->kind) {
	case ROW_CHOICE:
	case ROW_TEXT:
		snprintf(text, size, "%s", given ? given : "");
		break;
	case ROW_WORD:
		for (int i = *(const int *)member; i > 0; i--)
			word += strcspn(word, "|") + 1;
		snprintf(text, size, "%.*s", (int)strcspn(word, "|"), word);
		break;
	case ROW_COUNT:
	case ROW_TIME:
		snprintf(text, size, "%" PRId64, *(const int64_t *)member);
		break;
	case ROW_INT:
		snprintf(text, size, "%d", *(const int *)member);
		break;
	case ROW_SEED:
		snprintf(text, size, "%" PRIu64, *(const uint64_t *)member);
		break;
	case ROW_NUMBER:
		snprintf(text, size, "%.15g", *(const double *)member);
		break;
	case ROW_FLAG:
		snprintf(text, size, "%s", *(const bool *)member ? "yes" : "no");
		break;
	}
}

const char *raw_origin(const struct arguments_raw *raw, enum row_id row)
{
	return raw->rows[row].origin ? raw->rows[row].origin : rows[row].option;
}

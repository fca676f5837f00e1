/* SPDX-License-Identifier: MIT */
/* Checks whether a value is valid for its key. */
#include "request/profile_keys.h"

#include <stdio.h>

#include "request/foreign_value.h"
#include "suggest.h"
#include "text/expand.h"
#include "text/inifile.h"
#include "text/words.h"

enum { MAX_GPUS = 1024 };

/* What is known of a value that matches no alternative. */
struct mismatch {
	const struct profile_key *key;
	struct span value, wrong;
	const struct form *form; /* that it does not match, with a fix; NULL: none */
	bool words;              /* the key's value can be a word */
	struct key_value found;  /* of the alternative that matches */
};

static bool is_form(struct span s)
{
	return s.length && (form_find(s) != NULL);
}

/* One alternative: "word", "FORM" or "word:FORM". */
static bool suits(struct mismatch *m, struct span alternative)
{
	const char *colon = memchr(alternative.text, ':', alternative.length);
	size_t skip = colon ? (size_t)(colon - alternative.text) + 1 : 0;
	struct span form = {alternative.text + skip, alternative.length - skip};
	struct span value = m->value, wrong = value;
	const struct form *kind;

	if (!is_form(form)) {
		m->words = true;
		m->found.text = value;
		return span_same(value, alternative);
	}
	if (skip) {
		if (value.length < skip || memcmp(value.text, alternative.text, skip) != 0)
			return false;
		value = span_behind(value, skip);
	}
	kind = form_find(form);
	if (form_check(kind, value, &wrong) && (value.length || !skip)) {
		m->found.text = value;
		m->found.number = form_number(kind, value);
		return true;
	}
	m->wrong = wrong;
	m->form = kind->fix ? kind : NULL;
	return false;
}

/* "write every number: 0,1,2", for the text of a range; NULL: not a range. */
static const char *range_fix(struct quoted *ret, struct span range)
{
	enum { MAX_WRITTEN = 16 };
	struct span rest = range, first;
	int64_t low, high;
	size_t length;

	span_split(&rest, '-', &first);
	low = span_number(first, INT32_MAX);
	high = rest.text ? span_number(rest, INT32_MAX) : -1;
	if (low < 0 || high < low)
		return NULL;
	if (high - low >= MAX_WRITTEN)
		return "write every number, as in 0,1,2";
	length = strlen(format_text(ret, "write every number: %lld", (long long)low));
	for (int64_t i = low + 1; i <= high; i++)
		length += (size_t)snprintf(ret->text + length, sizeof(ret->text) - length, ",%lld",
					   (long long)i);
	return ret->text;
}

/* "0:1", which nvidia-smi writes for a MIG device. */
static const char *mig_fix(struct quoted *ret, struct span entry)
{
	struct span rest = entry, gpu;
	int64_t number, device;

	if (!span_split(&rest, ':', &gpu) || !rest.text)
		return NULL;
	number = span_number(gpu, INT32_MAX);
	device = span_number(rest, INT32_MAX);
	if (number < 0 || device < 0)
		return NULL;
	return format_text(ret,
			   "write the MIG-UUID of MIG device %lld of GPU %lld, as gpumap inventory "
			   "lists it",
			   (long long)device, (long long)number);
}

/* What was probably meant by an entry of gpus. NULL: not known. */
static const char *gpu_fix(struct quoted *ret, struct span entry)
{
	static const char *const prefixes[] = {"cuda:", "gpu:", "GPU:", "gpu", "GPU"};
	const char *fix;

	if (!entry.length)
		return "leave the comma out";
	if (span_starts(entry, "free"))
		return "write free:COUNT alone, as in free:2";
	if (span_is(entry, "-1"))
		return "write none for ranks without GPUs";
	if (span_is_any(entry, "all none inherit"))
		return "leave the other entries out";
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		struct span rest = entry;
		int64_t number = span_skip(&rest, prefixes[i]) ? span_number(rest, INT32_MAX) : -1;

		if (number >= 0)
			return format_text(ret, "write %lld for GPU %lld of nvidia-smi",
					   (long long)number, (long long)number);
	}
	fix = mig_fix(ret, entry);
	return fix ? fix : range_fix(ret, entry);
}

static bool is_failed_form(const struct mismatch *m, struct span alternative)
{
	return is_form(alternative) && form_find(alternative) == m->form;
}

/* "write auto or a number, 1 or more": the form that the value failed is described, as the last. If
 * it stands only behind a word, the description follows: "kill or restart:COUNT (a number)". */
static const char *alternatives(struct quoted *ret, const struct mismatch *m)
{
	const size_t size = sizeof(ret->text);
	struct span rest = span_of(m->key->key.value), word;
	const char *between = "write ";
	bool alone = false;
	size_t n = 0;

	while (span_split(&rest, '|', &word))
		alone = alone || is_failed_form(m, word);
	rest = span_of(m->key->key.value);
	while (span_split(&rest, '|', &word) && n < size) {
		if (is_failed_form(m, word))
			continue;
		n += (size_t)snprintf(ret->text + n, size - n, "%s%.*s", between, (int)word.length,
				      word.text);
		between =
			!alone && rest.text && !memchr(rest.text, '|', rest.length) ? " or " : ", ";
	}
	if (n < size && alone)
		snprintf(ret->text + n, size - n, " or %s", m->form->fix);
	else if (n < size)
		snprintf(ret->text + n, size - n, " (%s: %s)", m->form->name, m->form->fix);
	return ret->text;
}

static int mismatched(struct mismatch *m, const struct about *about, gpumap_report *report)
{
	const char *name = m->key->key.name, *grammar = m->key->key.value;
	struct about here = *about;
	struct quoted room;
	bool part = m->wrong.text != m->value.text || m->wrong.length != m->value.length;
	const char *fix = foreign_value(&room, m->key, m->value);

	if (!fix && streq(name, "mode"))
		fix = mode_hint(m->value);
	if (!fix && m->key == profile_key(PKEY_PROFILE_gpus))
		fix = gpu_fix(&room, m->wrong); /* better than that of the grammar */
	if (!fix && !part && m->value.length > 2)
		fix = word_near(&room, grammar, m->value);
	if (!fix)
		fix = !m->form   ? word_fix(&room, grammar, m->value)
		      : m->words ? alternatives(&room, m)
				 : format_text(&room, "write %s", m->form->fix);
	here.fix = fix;
	if (here.column)
		for (const char *p = m->value.text; p < m->wrong.text; p++)
			here.column += ((unsigned char)*p & 0xc0) != 0x80;
	return part ? report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, &here,
				  SETTING("%s") " cannot hold '%s'", name, QUOTE(m->wrong))
		    : report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, &here,
				  SETTING("%s") " cannot be '%s'", name, QUOTE(m->value));
}

static int bad_piece(const struct profile_key *key, struct span value, const char *at,
		     const char *text, const char *fix, const struct about *about,
		     gpumap_report *report)
{
	struct about here = *about;
	struct span rest = {at, (size_t)(value.text + value.length - at)};

	here.fix = fix;
	if (here.column)
		for (const char *p = value.text; p < at; p++)
			here.column += ((unsigned char)*p & 0xc0) != 0x80;
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, &here,
			   SETTING("%s") ": %s: '%s'", key->key.name, text, QUOTE(rest));
}

/* Checks the variables and macros of one word, whose quotes have been removed. */
static bool word_is_good(struct span word, struct expand_error *error)
{
	CLEANUP(strbuf_free) struct strbuf nothing = {0};

	return expand_variables(&nothing, word, true, NULL, NULL, error) &&
	       expand_check_macros(word, false, error);
}

static int check_command(const struct profile_key *key, struct span value,
			 const struct about *about, gpumap_report *report)
{
	struct span rest = value;
	struct words_error error;
	struct expand_error unknown;
	CLEANUP(strbuf_free) struct strbuf word = {0};
	bool first = true;

	while (words_next(&rest, &word, &error)) {
		struct span s = {word.text, word.length};

		/* The word is a copy, so its macros have no place in the value. */
		if (!word_is_good(s, &unknown))
			return bad_piece(
				key, s, unknown.at, unknown.text, unknown.fix,
				ABOUT(.origin = about->origin, .line = about->line, .column = 0),
				report);
		if (first && !word.length)
			return bad_piece(key, value, value.text, "the program's name is empty",
					 "name the program first", about, report);
		first = false;
		strbuf_free(&word);
	}
	if (word.failed)
		return report_nomem(report);
	if (error.at)
		return bad_piece(key, value, error.at, error.text, error.fix, about, report);
	return GPUMAP_OK;
}

/* A list keeps its quotes and is never combined with others, so a value of an option or a variable
 * must be one that a file can hold. */
static int check_list(const struct profile_key *key, struct span value, const struct about *about,
		      gpumap_report *report)
{
	const char *wrong, *why, *text = value.text;
	size_t length = inifile_value_length(value, '=', &wrong, &why);

	if (wrong)
		return bad_piece(key, value, wrong, why, inifile_value_fix(wrong), about, report);
	if (length < value.length)
		return bad_piece(key, value, text + length, "a comment begins here",
				 "put \"...\" around what it is part of", about, report);
	length = inifile_text_length(value);
	if (length < value.length)
		return bad_piece(key, value, text + length, "no text for a file",
				 "remove it, or write it as \\xNN inside \"...\"", about, report);
	return GPUMAP_OK;
}

/* A GPU that is named twice would get two ranks; ranks_per_gpu is for that. */
static int check_repeated(const struct profile_key *key, struct span value,
			  const struct about *about, gpumap_report *report)
{
	struct span rest = value, item, others, other;
	size_t items = 0;

	while (inifile_item(&rest, &item)) {
		if (++items > MAX_GPUS)
			return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, about,
					   SETTING("gpus") ": more than %d entries", MAX_GPUS);
		others = (struct span){value.text, (size_t)(item.text - value.text)};
		while (others.length && inifile_item(&others, &other)) {
			if (other.length != item.length ||
			    memcmp(other.text, item.text, item.length) != 0)
				continue;
			return bad_piece(
				key, value, item.text, "a GPU is named twice",
				"name it once, and share it with " SETTING("ranks_per_gpu = 2"),
				about, report);
		}
	}
	return GPUMAP_OK;
}

/* Finds the first alternative that matches. */
static bool find_alternative(struct mismatch *m)
{
	struct span rest = span_of(m->key->key.value), alternative;

	m->found.number = -1;
	for (m->found.word = 0; span_split(&rest, '|', &alternative); m->found.word++)
		if (suits(m, alternative))
			return true;
	m->found.word = -1;
	return false;
}

int profile_value_read(struct key_value *ret, const struct profile_key *key, struct span value,
		       const struct about *about, gpumap_report *report)
{
	struct mismatch m = {.key = key, .value = value, .wrong = value};
	struct expand_error error;

	*ret = (struct key_value){-1, value, -1};
	if (!value.length && !*key->key.initial)
		return GPUMAP_OK;
	if (!value.length)
		m.value = m.wrong = span_of(key->key.initial);
	if (key->kind == VALUE_COMMAND)
		return check_command(key, value, about, report);
	if (value_is_list(key->kind)) {
		int r = check_list(key, value, about, report);

		if (r != GPUMAP_OK)
			return r;
	}
	if (value_has_macros(key->kind) &&
	    !expand_check_macros(value, key->kind == VALUE_STREAM, &error))
		return bad_piece(key, value, error.at, error.text, error.fix, about, report);
	if (!find_alternative(&m))
		return mismatched(&m, about, report);
	*ret = m.found;
	return key == profile_key(PKEY_PROFILE_gpus) ? check_repeated(key, value, about, report)
						     : GPUMAP_OK;
}

int profile_value_check(const struct profile_key *key, struct span value, const struct about *about,
			gpumap_report *report)
{
	struct key_value unused;

	return value.length ? profile_value_read(&unused, key, value, about, report) : GPUMAP_OK;
}

struct key_value key_value(enum profile_key_id id, const char *value)
{
	const struct profile_key *key = profile_key(id);
	struct mismatch m = {.key = key, .value = span_of(*value ? value : key->key.initial)};

	if (!find_alternative(&m) && *value)
		return key_value(id, "");
	return m.found;
}

struct device_use device_use(enum profile_key_id key, const char *value)
{
	struct key_value read = key_value(key, value);
	struct device_use use = {.kind = USE_NOTHING};
	int word = key == PKEY_PROGRAM_device ? read.word : DEVICE_N;

	if (read.word < 0 || word == DEVICE_UNKNOWN)
		return use;
	if (word == DEVICE_CUDA)
		use.kind = USE_CURRENT;
	else if (word == DEVICE_CPU)
		use.kind = USE_CPU;
	else
		use = device_index(read.text);
	use.text = value;
	return use;
}

const char *key_word(struct key_word *ret, enum profile_key_id id, int word)
{
	struct span rest = span_of(profile_key(id)->key.value), alternative = {"", 0};

	for (int i = 0; i <= word; i++)
		span_split(&rest, '|', &alternative);
	snprintf(ret->text, sizeof(ret->text), "%.*s", (int)alternative.length, alternative.text);
	return ret->text;
}

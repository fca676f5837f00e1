/* SPDX-License-Identifier: MIT */
/*
 * Values that are not the number of one device: several devices in one text, a rank that is still
 * text, and a number out of the visible list.
 */
#include "lint/python_file.h"

static void add(struct python_file *f, enum observation_kind kind, unsigned at,
		struct python_value v)
{
	observation_add(f, kind, token_at(f, at))->value = v;
}

static bool is_rank(struct python_value v)
{
	return v.meaning == MEANS_RANK || v.meaning == MEANS_LOCAL_RANK;
}

/* Whether it is "cuda:0,1": numbers, commas and blanks. */
static bool names_several(struct span text)
{
	bool comma = false;

	if (!span_starts(text, "cuda:"))
		return false;
	for (size_t i = 5; i < text.length; i++) {
		if (!is_digit(text.text[i]) && !strchr(", ", text.text[i]))
			return false;
		comma |= text.text[i] == ',';
	}
	return comma && is_digit(text.text[5]);
}

void ordinal_device(struct python_file *f, unsigned at, struct python_value v)
{
	if (v.meaning == MEANS_TEXT && names_several(v.text))
		add(f, OBSERVED_SEVERAL, at, v);
	else if (is_rank(v) && v.written)
		add(f, OBSERVED_RANK_TEXT, at, v);
	else if (v.part == PART_ENTRY)
		add(f, OBSERVED_LIST_NUMBER, at, v);
}

void ordinal_ids(struct python_file *f, unsigned open)
{
	struct python_argument a, id;
	unsigned at;

	if (!python_argument_find(f, open, "device_ids", 1, &a))
		return;
	if (python_value(f, a.first, a.past).part == PART_ENTRIES)
		add(f, OBSERVED_LIST_NUMBER, a.first, python_value(f, a.first, a.past));
	else if (is_bracket(f, a.first, a.past, "["))
		for (at = a.first + 1; python_argument(f, a.first, &at, &id);)
			ordinal_device(f, id.first, python_value(f, id.first, id.past));
}

void ordinal_argument(struct python_file *f, unsigned open, const char *name, int place)
{
	struct python_argument a;

	if (python_argument_find(f, open, name, place, &a))
		ordinal_device(f, a.first, python_value(f, a.first, a.past));
}

void ordinal_default(struct python_file *f, unsigned open)
{
	struct python_argument option, a;
	struct python_value v;
	struct span name;
	char *chain;

	if (!python_argument_find(f, open, "default", -1, &a) ||
	    !python_argument_find(f, open, "", 0, &option))
		return;
	v = python_value(f, a.first, a.past);
	name = token_at(f, option.first)->text;
	if (v.meaning != MEANS_TEXT || !names_several(v.text) || !span_starts(name, "--"))
		return;
	chain = arena_printf(&f->arena, "args.%.*s", (int)name.length - 2, name.text + 2);
	for (char *c = chain; *c; c++)
		*c = *c == '-' ? '_' : *c;
	names_set(&f->names, span_of(chain), 0, v);
}

/* Whether a token and the next are an operator that needs a number, and that number. */
static bool meets_number(const struct python_file *f, unsigned at, unsigned past)
{
	unsigned number = at + 1 + is_at(f, at + 1, past, "-");

	if (number >= past || token_at(f, number)->kind != PYTHON_NUMBER)
		return false;
	return token_is_any(token_at(f, at), "== != < <= > >= % - +");
}

void ordinal_compared(struct python_file *f, unsigned at, unsigned end, unsigned past)
{
	struct python_value v;

	if (end < past && token_at(f, end)->past > end + 1)
		end = token_at(f, end)->past;
	if (end >= past || token_at(f, end)->kind != PYTHON_SIGN || !meets_number(f, end, past))
		return;
	v = python_value(f, at, end);
	if (is_rank(v) && v.written)
		add(f, OBSERVED_RANK_TEXT, at, v);
}

/* --- the judges ------------------------------------------------------------------------- */

void judge_several(const struct python_judge *judge, const struct observation *s)
{
	struct span number = span_from(s->value.text, s->value.text.text + strlen("cuda:"));

	judge_report(judge, s, FINDING_SEVERAL_DEVICES, "D6",
		     "name one device; nn.DataParallel(net, device_ids=[N, N]) takes several",
		     "%s names several devices, but a module or tensor is on one: PyTorch rejects "
		     "the string, and old versions take cuda:%.*s",
		     QUOTE(s->value.text), (int)span_digits(number), number.text);
}

void judge_rank_text(const struct python_judge *judge, const struct observation *s)
{
	const char *name = QUOTE(s->value.text);

	if (observation_first(judge->file, s->kind) != s)
		return;
	if (memchr(s->value.text.text, '.', s->value.text.length)) {
		judge_report(judge, s, FINDING_RANK_TEXT, "R1",
			     "give the number itself, without str()",
			     "the number of %.80s() is given as text, and PyTorch takes no text as "
			     "the number of a device",
			     name);
		return;
	}
	judge_report(judge, s, FINDING_RANK_TEXT, "R1",
		     FORMAT("make it a number: int(os.environ[\"%.80s\"])", name),
		     "%s is used as a number, but in the environment it is text: PyTorch takes no "
		     "text as the number of a device, and \"0\" == 0 is false",
		     name);
}

void judge_list_number(const struct python_judge *judge, const struct observation *s)
{
	/* If it changes its list, the numbers may be those of the machine. */
	if (observation_first(judge->file, s->kind) != s ||
	    observation_sets(judge->file, "CUDA_VISIBLE_DEVICES", false))
		return;
	judge_report(
		judge, s, FINDING_LIST_NUMBER, "D1",
		"use cuda:0 for the first entry, cuda:1 for the second; "
		"range(torch.cuda.device_count()) has them all",
		"a number of CUDA_VISIBLE_DEVICES chooses the device, but PyTorch counts inside of "
		"that list: with the list 3 physical GPU 3 is cuda:0, and cuda:3 does not exist");
}

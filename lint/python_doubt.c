/* SPDX-License-Identifier: MIT */
/* Actions on devices that the scan does not see, for python_choice.c. */
#include "lint/python_file.h"

/* Whether a device's text is one that a call picks, or the value of a name that is tracked. */
bool choice_is_used(const struct python_file *f, unsigned at)
{
	unsigned open, first;
	char path[MAX_PATH];
	const char *last;

	if (!objects_around(f, at, &open, path))
		return !f->blocks[f->depth].member &&
		       (is_at(f, 1, at, "=") || is_at(f, 1, at, ":") || is_at(f, 3, at, "=") ||
			is_at(f, 5, at, "="));
	first = *path ? objects_head(f, open - 1) : open;
	last = strrchr(path, '.');
	/* Of make().to("cuda:1") only the method is known. */
	last = last ? last + 1 : first && is_at(f, first - 1, open, ".") ? path : "";
	if (span_is_any(span_of(last), "to cuda set_device set_device_index str"))
		return true;
	return starts_with(path, "torch.");
}

/* Whether a text may name the visible list in code without an observation. */
bool choice_names_list(const struct python_file *f, unsigned at)
{
	struct span text = token_at(f, at)->text;
	unsigned open;
	char path[MAX_PATH];

	if (!span_has(text, "VISIBLE") || f->text.count == 1)
		return false;
	objects_around(f, at, &open, path);
	return !span_is_any(span_of(path),
			    "os.environ os.environ.get os.getenv os.environ.setdefault");
}

void choice_path(struct python_file *f, const char *path, unsigned at, unsigned past)
{
	unsigned end = f->text.count;
	bool literal;

	if (!f->choice)
		return;
	/* Under another name they are not tracked. */
	if (span_is_any(span_of(path),
			"torch torch.cuda torch.accelerator os torch.cuda.set_device "
			"torch.accelerator.set_device_index os.environb") &&
	    !is_at(f, past, end, "("))
		f->choice->doubtful = true;
	literal = past + 2 < end && token_at(f, past + 1)->kind == PYTHON_STRING;
	if (streq(path, "os.environ"))
		f->choice->doubtful |=
			(is_at(f, past, end, "[") ? !literal || !is_at(f, past + 2, end, "]")
						  : !at || !is_at(f, at - 1, end, "in"));
	if (!starts_with(path, "os.environ."))
		return;
	path += strlen("os.environ.");
	if (streq(path, "update") || (span_is_any(span_of(path), "setdefault pop __setitem__") &&
				      !(literal && token_at(f, past + 1)->past == past + 2)))
		f->choice->doubtful = true;
}

bool python_device_used(const struct python_file *f, unsigned at)
{
	char path[MAX_PATH];

	for (unsigned open; objects_around(f, at, &open, path); at = objects_head(f, open - 1)) {
		if (streq(path, "torch.device"))
			continue;
		return span_is_any(span_of(objects_last(path)), "to cuda set_device") ||
		       starts_with(path, "torch.");
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi -L, in all spellings of MIG instances:
 *
 *	GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
 *	  MIG 1g.10gb     Device  0: (UUID: MIG-...)
 *	  MIG 1g.5gb Device 0: (UUID: MIG-GPU-.../7/0)
 *	  MIG Device 0: (UUID: MIG-GPU-.../7/0)
 */
#include "inventory/recorded.h"

#define MARK "(UUID: "

/* The place after "GPU 12: " in s, with the number. */
static const char *find_gpu(struct span s, int64_t *index)
{
	while (span_skip_to(&s, "GPU ")) {
		*index = take_number(&s);
		if (*index >= 0 && span_skip(&s, ": "))
			return s.text;
	}
	return NULL;
}

static bool is_hidden(struct span uuid)
{
	return !is_full_uuid(uuid, "GPU-") && !is_full_uuid(uuid, "");
}

static void read_gpu(struct recorded *r, int64_t index, struct span name, struct span uuid,
		     bool cut)
{
	struct list_state *list = &r->list;
	struct seen seen = seen_gpu(index);
	bool follows = list->running && (r->last == &smi_list_format || r->last == &nvlink_format);

	seen.uuid = uuid;
	seen.name = span_trim(name);
	if (cut) {
		recorded_partial(r, "record it again, to the end", "the last line is cut: '%s'",
				 QUOTE(name));
		seen.uuid = NO_SPAN;
	} else if (follows && index <= list->last && is_hidden(uuid)) {
		recorded_contradiction(r,
				       "GPU %d is listed again and the UUIDs are hidden: "
				       "several processes may have printed this",
				       (int)index);
	}
	list->gpu = recorded_gpu(r, &seen);
	list->last = index;
	list->running = true;
}

/* The two numbers at the end of MIG-GPU-.../gi/ci. */
static void read_instance(struct span uuid, struct seen_mig *mig)
{
	struct span rest = uuid;
	int64_t gi, ci;

	if (!span_starts(uuid, "MIG-GPU-") || !span_skip_to(&rest, "/"))
		return;
	gi = take_number(&rest);
	if (gi < 0 || gi > 255 || !span_skip(&rest, "/"))
		return;
	ci = take_number(&rest);
	if (ci < 0 || ci > 255 || rest.length)
		return;
	mig->gi = gi;
	mig->ci = ci;
}

static bool is_profile(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!is_digit(s.text[i]) && !strchr("abcdefghijklmnopqrstuvwxyz.+-", s.text[i]))
			return false;
	return s.length && s.length < 32;
}

/* "MIG 1g.5gb Device 0:" */
static bool parse_mig(struct span head, struct seen_mig *mig)
{
	struct span word;

	if (!span_skip_to(&head, "MIG "))
		return false;
	word = take_word(&head);
	if (!span_is(word, "Device")) {
		mig->profile = is_profile(word) ? word : NO_SPAN;
		word = take_word(&head);
	}
	if (!span_is(word, "Device"))
		return false;
	word = take_word(&head);
	mig->number = take_number(&word);
	return mig->number >= 0 && mig->number < GPUMAP_MAX_DEVICES && span_is(word, ":");
}

/* The GPU of a MIG line whose GPU line was cut off, found by the UUID inside the instance's own. */
static void orphan(struct recorded *r, struct span uuid)
{
	struct seen seen = seen_gpu(-1);

	recorded_partial(r, "record it again, from the start",
			 "the line of a MIG instance's GPU is missing");
	if (!span_skip(&uuid, "MIG-") || uuid.length < 40)
		return;
	uuid.length = 40;
	if (!is_full_uuid(uuid, "GPU-"))
		return;
	seen.uuid = uuid;
	r->list.gpu = recorded_gpu(r, &seen);
}

static void read_mig(struct recorded *r, struct seen_mig *mig, bool cut)
{
	read_instance(mig->uuid, mig);
	if (cut) {
		recorded_partial(r, "record it again, to the end", "the last line is cut");
		mig->uuid = NO_SPAN;
	}
	if (r->list.gpu < 0)
		orphan(r, mig->uuid);
	if (r->list.gpu >= 0)
		recorded_mig(r, r->list.gpu, mig);
	r->list.running = true;
}

/* A line that ends before its UUID. */
static int cut_line(struct recorded *r, const struct line *line)
{
	int64_t index;
	const char *name = find_gpu(line->text, &index);

	if (!name || !line->cut || r->last != &smi_list_format)
		return 0;
	read_gpu(r, index, NO_SPAN, NO_SPAN, true);
	return 1;
}

static int read_line(struct recorded *r, const struct line *line)
{
	struct span rest = line->text;
	const char *mark;
	int taken = 0;

	/* Several entries on one line: the newlines were lost. */
	while ((mark = span_find(rest, MARK))) {
		struct span head = {rest.text, (size_t)(mark - rest.text)};
		struct span uuid = span_from(rest, mark + strlen(MARK));
		struct seen_mig mig = {.number = -1, .gi = -1, .ci = -1, .memory = -1};
		const char *end = uuid.length ? memchr(uuid.text, ')', uuid.length) : NULL;
		const char *name;
		int64_t index;

		rest = span_from(rest, end ? end + 1 : uuid.text + uuid.length);
		if (end)
			uuid.length = (size_t)(end - uuid.text);
		name = find_gpu(head, &index);
		mig.uuid = uuid;
		if (name)
			read_gpu(r, index, (struct span){name, (size_t)(mark - name)}, uuid, !end);
		else if (parse_mig(head, &mig))
			read_mig(r, &mig, !end);
		else
			continue;
		taken = 1;
	}
	return taken ? taken : cut_line(r, line);
}

const struct format smi_list_format = {.name = "nvidia-smi -L", .line = read_line};

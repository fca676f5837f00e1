/* SPDX-License-Identifier: MIT */
/*
 * /proc/driver/nvidia/gpus/.../information, one file after another. The minor number is that of
 * /dev/nvidiaN, not nvidia-smi's index, which these files do not have.
 */
#include "inventory/recorded.h"

#include <stdio.h>

#include "text/pci.h"

static void finish_record(struct recorded *r)
{
	struct proc_state *p = &r->proc;
	struct seen seen = seen_gpu(-1);

	seen.minor = p->minor;
	if (p->pci[0])
		seen.pci = span_of(p->pci);
	if (p->uuid[0])
		seen.uuid = span_of(p->uuid);
	if (p->name)
		seen.name = span_of(p->name);
	if (p->pci[0] || is_full_uuid(span_of(p->uuid), "GPU-"))
		recorded_gpu(r, &seen);
	if (p->uuid[0] && !p->pci[0])
		recorded_partial(r, "record it again, to the end",
				 "an information file lacks its Bus Location");
	free(p->name);
	*p = (struct proc_state){.minor = -1};
}

static void keep(char *ret, size_t room, struct span value)
{
	if (value.length < room)
		snprintf(ret, room, "%.*s", (int)value.length, value.text);
}

/* The value after "KEY:", which begins the line's body or follows a colon of a prefix. */
static bool value_of(const struct line *line, const char *key, struct span *ret)
{
	struct span rest = line->text;
	const char *at;

	if (!line->body.length)
		return false;
	while ((at = span_find(rest, key))) {
		rest = span_from(rest, at + strlen(key));
		if (at != line->body.text && (at == line->text.text || at[-1] != ':'))
			continue;
		if (!rest.length || *rest.text != ':')
			continue;
		*ret = span_trim(span_behind(rest, 1));
		return true;
	}
	return false;
}

static int read_line(struct recorded *r, const struct line *line)
{
	struct proc_state *p = &r->proc;
	struct span value;

	if (!line->text.length || !memchr(line->text.text, ':', line->text.length))
		return 0;
	if (value_of(line, "Model", &value)) {
		finish_record(r);
		if (!line->cut && !span_is(value, "Unknown") && !member_set(&p->name, value))
			recorded_nomem(r);
	} else if (value_of(line, "GPU UUID", &value)) {
		if (p->uuid[0])
			finish_record(r);
		keep(p->uuid, sizeof(p->uuid), value);
	} else if (value_of(line, "Bus Location", &value)) {
		char address[20];

		if (p->pci[0])
			finish_record(r);
		if (pci_normalise(value, address))
			keep(p->pci, sizeof(p->pci), span_of(address));
	} else if (value_of(line, "Device Minor", &value)) {
		p->minor = line->cut ? -1 : span_number(value, GPUMAP_MAX_DEVICES);
	} else {
		return 0;
	}
	if (line->cut)
		recorded_partial(r, "record it again, to the end", "the last line may be cut: '%s'",
				 QUOTE(line->body));
	return 1;
}

const struct format proc_info_format = {
	.name = "/proc/driver/nvidia", .line = read_line, .end = finish_record};

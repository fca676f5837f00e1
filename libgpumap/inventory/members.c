/* SPDX-License-Identifier: MIT */
/* What happens when two lines say something of one GPU. */
#include "inventory/merge.h"

#include <limits.h>
#include <stdio.h>

const char *who(struct recorded *r, const gpumap_device *d)
{
	const char *text = "a GPU";

	if (d->index >= 0)
		text = arena_printf(&r->arena, "GPU %d", d->index);
	else if (d->uuid || d->pci)
		text = arena_printf(&r->arena, "the GPU %s", d->uuid ? d->uuid : d->pci);
	return text ? text : "a GPU";
}

static int two_values(struct recorded *r, const gpumap_device *d, const char *what, const char *a,
		      struct span b)
{
	return recorded_contradiction(r, "%s has the %s %s and the %s %s", who(r, d), what, a, what,
				      QUOTE(b));
}

static void disagree(struct recorded *r, const gpumap_device *d, const char *what, struct span a,
		     struct span b)
{
	if (r->disagreed)
		return;
	r->disagreed = true;
	report_add(r->report, FINDING_CONTRADICTION,
		   ABOUT(.origin = r->origin, .line = r->line,
			 .fix = "check that all parts come from one machine"),
		   "%s has the %s '%s' and the %s '%s'; the first is taken", who(r, d), what,
		   QUOTE(a), what, QUOTE(b));
}

int set_index(struct recorded *r, int at, int64_t index)
{
	gpumap_device *d = &r->inventory->gpus[at];
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)index);
	if (index < 0 || index == d->index)
		return GPUMAP_OK;
	if (d->index >= 0)
		return recorded_contradiction(r, "%s is also GPU %s", who(r, d), text);
	d->index = (int)index;
	return lookup_put(r, BY_INDEX, span_of(text), at);
}

int set_key(struct recorded *r, int at, enum kind kind, struct span value)
{
	gpumap_device *d = &r->inventory->gpus[at];
	char **member = kind == BY_UUID ? &d->uuid : &d->pci;

	if (!value.text || (*member && span_is(value, *member)))
		return GPUMAP_OK;
	if (*member)
		return two_values(r, d, kind == BY_UUID ? "UUID" : "PCI address", *member, value);
	if (!member_set(member, value))
		return recorded_nomem(r);
	return lookup_put(r, kind, value, at);
}

/* nvidia-smi's table cuts names: "NVIDIA A100-SXM..." is the start of the full one. */
static bool is_start_of(struct span cut, struct span name)
{
	if (cut.length < 3 || memcmp(cut.text + cut.length - 3, "...", 3) != 0)
		return false;
	cut.length -= 3;
	cut = span_trim(cut);
	return name.length >= cut.length && memcmp(name.text, cut.text, cut.length) == 0;
}

bool names_agree(struct span a, struct span b)
{
	return (a.length == b.length && memcmp(a.text, b.text, a.length) == 0) ||
	       is_start_of(a, b) || is_start_of(b, a);
}

static int set_name(struct recorded *r, int at, struct span name)
{
	gpumap_device *d = &r->inventory->gpus[at];

	if (!name.text || !name.length)
		return GPUMAP_OK;
	name = span_of(QUOTE(name));
	if (d->name && !names_agree(span_of(d->name), name))
		disagree(r, d, "name", span_of(d->name), name);
	else if ((!d->name || is_start_of(span_of(d->name), name)) && !member_set(&d->name, name))
		return recorded_nomem(r);
	return GPUMAP_OK;
}

static int set_list(struct recorded *r, int at, char **member, const char *what, struct span value)
{
	if (!value.text || !is_id_list(value))
		return GPUMAP_OK;
	if (*member && !span_is(value, *member)) {
		disagree(r, &r->inventory->gpus[at], what, span_of(*member), value);
		return GPUMAP_OK;
	}
	return *member || member_set(member, value) ? GPUMAP_OK : recorded_nomem(r);
}

static void set_memory(struct recorded *r, gpumap_device *d, int64_t memory)
{
	char a[24], b[24];

	if (memory < 0)
		return;
	if (d->memory >= 0 && d->memory != memory) {
		snprintf(a, sizeof(a), "%lld", (long long)(d->memory / MIB));
		snprintf(b, sizeof(b), "%lld", (long long)(memory / MIB));
		disagree(r, d, "memory in MiB", span_of(a), span_of(b));
		return;
	}
	d->memory = memory;
}

int set_members(struct recorded *r, int at, const struct seen *seen)
{
	gpumap_device *d = &r->inventory->gpus[at];
	int code = set_name(r, at, seen->name);

	if (code == GPUMAP_OK)
		code = set_list(r, at, &d->numa, "NUMA node", seen->numa);
	if (code == GPUMAP_OK)
		code = set_list(r, at, &d->cpus, "CPU list", seen->cpus);
	set_memory(r, d, seen->memory);
	if (d->minor < 0 && seen->minor <= INT_MAX)
		d->minor = (int)seen->minor;
	if (d->mig_enabled < 0)
		d->mig_enabled = seen->mig_enabled;
	return code;
}

int absorb(struct recorded *r, int into, int from)
{
	gpumap_device *a = &r->inventory->gpus[into], *b = &r->inventory->gpus[from];
	struct seen seen = seen_gpu(b->index);
	int code = set_index(r, into, b->index);

	seen.memory = b->memory;
	seen.minor = b->minor;
	seen.mig_enabled = b->mig_enabled;
	if (code == GPUMAP_OK && b->uuid)
		code = set_key(r, into, BY_UUID, span_of(b->uuid));
	if (code == GPUMAP_OK && b->pci)
		code = set_key(r, into, BY_PCI, span_of(b->pci));
	seen.name = b->name ? span_of(b->name) : NO_SPAN;
	seen.numa = b->numa ? span_of(b->numa) : NO_SPAN;
	seen.cpus = b->cpus ? span_of(b->cpus) : NO_SPAN;
	if (code == GPUMAP_OK)
		code = set_members(r, into, &seen);
	if (code == GPUMAP_OK && b->mig_count && a->mig_count)
		return recorded_contradiction(r, "MIG instances of %s are listed twice", who(r, a));
	if (code == GPUMAP_OK && b->nvlink_count >= 0 && a->nvlink_count < 0 &&
	    !device_set_nvlink(a, b->nvlink, (size_t)b->nvlink_count))
		code = recorded_nomem(r);
	if (code != GPUMAP_OK)
		return code;
	if (b->mig_count) {
		a->mig = b->mig;
		a->mig_count = b->mig_count;
		b->mig = NULL;
		b->mig_count = 0;
	}
	free(b->uuid);
	free(b->pci);
	free(b->name);
	free(b->numa);
	free(b->cpus);
	free(b->nvlink);
	*b = (gpumap_device){.index = -1, .physical = DEAD};
	return GPUMAP_OK;
}

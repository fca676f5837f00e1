/* SPDX-License-Identifier: MIT */
/* Rule S10: how launchers change the visible list. Sources: rules.def. */
#include "resolve.h"

#include "strbuf.h"

struct rewrite {
	struct resolver *resolver;
	struct effective *list;
	const char *argument; /* after the colon; NULL: none */
};

/* `stated` is the source of the list. A launcher that only reorders a list keeps its source. */
static int rewritten(struct rewrite *w, const char *value, enum source stated, const char *how)
{
	struct resolver *resolver = w->resolver;

	*w->list = (struct effective){
		.set = value != NULL,
		.value = value,
		.origin = resolver->request->origins[KEY_launcher],
		.source = SOURCE_LAUNCHER,
		.stated = stated,
	};
	if (!step_add(resolver, "S10", w->list->origin, how) || resolver->arena->failed)
		return report_nomem(resolver->report);
	return GPUMAP_OK;
}

static int rewrite_torchrun(struct rewrite *w)
{
	step_add(w->resolver, "S10", w->resolver->request->origins[KEY_launcher],
		 "torchrun leaves the list alone: every rank sees all of it");
	return GPUMAP_OK;
}

static int rewrite_accelerate(struct rewrite *w)
{
	if (!w->argument || streq(w->argument, "all"))
		return GPUMAP_OK;
	return rewritten(w, w->argument, SOURCE_LAUNCHER,
			 "accelerate --gpu_ids overwrites the list");
}

static int compare_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Parses a number as Python's int() does, if it can name a device; -1: int() would fail, or the
 * number is too large. */
static int64_t python_int(struct span token)
{
	struct span s = span_trim(token);

	if (s.length > 1 && *s.text == '+')
		s = (struct span){s.text + 1, s.length - 1};
	return span_number(s, INT32_MAX);
}

/* DeepSpeed calls int() on the entries, sorts them and removes duplicates. Its own list (--include)
 * replaces that of the variable. */
static int rewrite_deepspeed(struct rewrite *w)
{
	struct resolver *resolver = w->resolver;
	struct span rest, token;
	struct strbuf buf = {0};
	size_t count = 0, room;
	int64_t *ids;
	char *text;

	if (!w->argument && (!w->list->set || !*w->list->value))
		return GPUMAP_OK;
	rest = span_of(w->argument ? w->argument : w->list->value);
	room = rest.length + 1;
	ids = arena_alloc(resolver->arena, room, sizeof(*ids));
	if (!ids)
		return report_nomem(resolver->report);
	while (span_split(&rest, ',', &token)) {
		ids[count] = python_int(token);
		if (ids[count++] < 0) {
			answer_no(resolver, FINDING_REWRITE_FAILS,
				  ABOUT(.rule = "S10", .origin = w->list->origin,
					.fix = "give DeepSpeed numbers, with "
					       "CUDA_DEVICE_ORDER=PCI_BUS_ID"),
				  "DeepSpeed calls int() on '%s' and fails", QUOTE(token));
			return GPUMAP_OK;
		}
	}
	qsort(ids, count, sizeof(*ids), compare_number);
	for (size_t i = 0; i < count; i++)
		if (!i || ids[i] != ids[i - 1])
			strbuf_printf(&buf, "%s%lld", i ? "," : "", (long long)ids[i]);
	text = buf.failed ? NULL : arena_strdup(resolver->arena, buf.text);
	strbuf_free(&buf);
	if (!text)
		return report_nomem(resolver->report);
	return rewritten(w, text, w->argument ? SOURCE_LAUNCHER : w->list->stated,
			 "DeepSpeed sorts the list and removes duplicates: its order is lost");
}

static int rewrite_ray(struct rewrite *w)
{
	return rewritten(w, w->argument ? w->argument : "", SOURCE_LAUNCHER,
			 w->argument ? "Ray gives each worker a part of the node's list"
				     : "Ray sets an empty list for a worker without GPUs");
}

/* Dask-CUDA accepts only numbers, UUIDs and names of MIG instances. */
static bool dask_takes(struct resolver *resolver, const struct effective *list)
{
	struct span rest = span_of(list->value), token;

	while (span_split(&rest, ',', &token)) {
		if (python_int(token) >= 0 || span_starts(token, "GPU-") ||
		    span_starts(token, "MIG-"))
			continue;
		answer_no(resolver, FINDING_REWRITE_FAILS,
			  ABOUT(.rule = "S10", .origin = list->origin,
				.fix = "write numbers, or UUIDs with GPU- or MIG-"),
			  "Dask-CUDA refuses '%s', which is neither a number nor a UUID",
			  QUOTE(token));
		return false;
	}
	return true;
}

/* Dask-CUDA keeps the list and rotates it: the worker's own device comes first. */
static int rewrite_dask(struct rewrite *w)
{
	static const char how[] = "Dask rotates the list: each worker's own device comes first";
	struct resolver *resolver = w->resolver;
	int64_t worker = request_number(resolver->request, KEY_local_rank);
	const char *value = w->list->value, *cut = value;
	struct span rest, token;
	int64_t count = 0;

	resolver->own_first = true;
	if (!w->list->set) {
		/* Dask-CUDA then rotates all devices. Their number is known only after the views.
		 */
		resolver->rotate = worker > 0 ? worker : 0;
		step_add(resolver, "S10", resolver->request->origins[KEY_launcher], how);
		return GPUMAP_OK;
	}
	if (!dask_takes(resolver, w->list))
		return GPUMAP_OK;
	rest = span_of(value);
	while (span_split(&rest, ',', &token))
		count++;
	for (int64_t i = 0; i < worker % count; i++)
		cut = strchr(cut, ',') + 1;
	if (cut == value)
		return rewritten(w, value, w->list->stated, how);
	return rewritten(
		w, arena_printf(resolver->arena, "%s,%.*s", cut, (int)(cut - value - 1), value),
		w->list->stated, how);
}

static int rewrite_flux(struct rewrite *w)
{
	return rewritten(w, w->argument ? w->argument : "-1", SOURCE_LAUNCHER,
			 w->argument ? "Flux sets the list to the task's GPUs"
				     : "Flux writes -1 for a task without GPUs");
}

static int rewrite_slurm(struct rewrite *w)
{
	return rewritten(w, w->argument, SOURCE_LAUNCHER,
			 w->argument ? "Slurm sets the list to the step's GPUs"
				     : "Slurm unsets the list of a job without GPUs");
}

static bool is_launcher(const struct resolver *resolver, const char *name)
{
	const char *value = resolver->request->values[KEY_launcher];

	return span_is((struct span){value, strcspn(value, ":")}, name);
}

int launcher_order(struct resolver *resolver, struct effective *order)
{
	if (!is_launcher(resolver, "flux") || order->set)
		return GPUMAP_OK;
	*order = (struct effective){
		.set = true,
		.value = "PCI_BUS_ID",
		.origin = resolver->request->origins[KEY_launcher],
		.source = SOURCE_LAUNCHER,
		.stated = SOURCE_LAUNCHER,
	};
	if (!step_add(resolver, "S10", order->origin,
		      "Flux sets CUDA_DEVICE_ORDER=PCI_BUS_ID where it is not set"))
		return report_nomem(resolver->report);
	return GPUMAP_OK;
}

int launcher_rewrite(struct resolver *resolver, struct effective *list)
{
	static const struct {
		const char *name;
		int (*rewrite)(struct rewrite *w);
	} launchers[] = {
		{"torchrun", rewrite_torchrun},   {"accelerate", rewrite_accelerate},
		{"deepspeed", rewrite_deepspeed}, {"ray", rewrite_ray},
		{"dask", rewrite_dask},           {"flux", rewrite_flux},
		{"slurm", rewrite_slurm},
	};
	const char *colon = strchr(resolver->request->values[KEY_launcher], ':');
	struct rewrite w = {resolver, list, colon ? colon + 1 : NULL};

	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
		if (is_launcher(resolver, launchers[i].name))
			return launchers[i].rewrite(&w);
	return GPUMAP_OK;
}

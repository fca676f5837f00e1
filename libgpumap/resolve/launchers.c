/* SPDX-License-Identifier: MIT */
/* Rule S10: how launchers change the visible list. Sources: rules.def. */
#include "resolve/resolve.h"

#include "strbuf.h"
#include "visible/python_number.h"

struct rewrite {
	struct resolver *resolver;
	struct effective *list;
	const char *argument; /* after the colon; NULL: none */
};

/* `stated` is the source of the list. A launcher that only reorders a list keeps its source. */
static void rewritten(struct rewrite *w, const char *value, enum source stated, const char *how)
{
	*w->list = (struct effective){
		.set = value != NULL,
		.value = value,
		.origin = w->resolver->request->origins[KEY_launcher],
		.source = SOURCE_LAUNCHER,
		.stated = stated,
	};
	step_add(w->resolver, "S10", w->list->origin, how);
}

static void rewrite_torchrun(struct rewrite *w)
{
	step_add(w->resolver, "S10", w->resolver->request->origins[KEY_launcher],
		 "torchrun leaves the list alone: every rank sees all of it");
}

static void rewrite_accelerate(struct rewrite *w)
{
	if (w->argument && !streq(w->argument, "all"))
		rewritten(w, w->argument, SOURCE_LAUNCHER,
			  "accelerate --gpu_ids overwrites the list");
}

static int compare_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* What Python's str(int()) makes of an entry; NULL: int() fails, or no memory. */
static const char *as_python_int(struct resolver *resolver, struct span token)
{
	char *text = arena_alloc(resolver->arena, token.length + 1, 1);
	size_t length = text ? python_int(text, token) : 0;

	if (!length)
		return NULL;
	text[length] = '\0';
	return text;
}

/* The slots that DeepSpeed is given; false: it refuses one of them, or no memory. */
static bool deepspeed_slots(struct rewrite *w, int64_t *slots, size_t *count)
{
	struct resolver *resolver = w->resolver;
	const char *origin =
		w->argument ? resolver->request->origins[KEY_launcher] : w->list->origin;
	struct span rest = span_of(w->argument ? w->argument : w->list->value), token;

	while (span_split(&rest, ',', &token)) {
		const char *text = as_python_int(resolver, token);

		slots[*count] = text ? span_number(span_of(text), INT32_MAX) : -1;
		if (slots[(*count)++] >= 0)
			continue;
		answer_no(resolver, FINDING_REWRITE_FAILS,
			  ABOUT(.rule = "S10", .origin = origin,
				.fix = "give DeepSpeed numbers, with CUDA_DEVICE_ORDER=PCI_BUS_ID"),
			  text ? "DeepSpeed refuses '%s': no host has such a slot"
			       : "DeepSpeed calls int() on '%s' and fails",
			  QUOTE(token));
		return false;
	}
	return true;
}

/* DeepSpeed calls int() on the entries, sorts them and removes duplicates. Its own list (--include)
 * replaces that of the variable. */
static void rewrite_deepspeed(struct rewrite *w)
{
	struct resolver *resolver = w->resolver;
	struct strbuf buf = {0};
	size_t count = 0;
	int64_t *slots;
	char *text;

	if (w->list->set && !*w->list->value) {
		answer_no(resolver, FINDING_REWRITE_FAILS,
			  ABOUT(.rule = "S10", .origin = w->list->origin,
				.fix = "unset the variable, or name GPUs in it"),
			  "without a hostfile DeepSpeed does not start: the list is empty, so it "
			  "counts no GPU");
		return;
	}
	if (!w->argument && !w->list->set)
		return;
	slots = arena_alloc(resolver->arena, strlen(w->argument ? w->argument : w->list->value) + 1,
			    sizeof(*slots));
	if (!slots || !deepspeed_slots(w, slots, &count) || resolver->failed)
		return;
	qsort(slots, count, sizeof(*slots), compare_number);
	for (size_t i = 0; i < count; i++)
		if (!i || slots[i] != slots[i - 1])
			strbuf_printf(&buf, "%s%lld", i ? "," : "", (long long)slots[i]);
	text = strbuf_keep(&buf, resolver->arena);
	resolver->slot_count = slots[count - 1] + 1;
	rewritten(w, text, w->argument ? SOURCE_LAUNCHER : w->list->stated,
		  "DeepSpeed sorts the list and removes duplicates: its order is lost");
}

/* Dask-CUDA starts a worker for each entry of the list, or for each GPU. */
static bool dask_has(struct resolver *resolver, int64_t worker, int64_t workers)
{
	if (worker < workers)
		return true;
	answer_no(resolver, FINDING_REWRITE_FAILS,
		  ABOUT(.rule = "S10", .origin = resolver->request->origins[KEY_local_rank],
			.fix = "give --local-rank 0, or more devices"),
		  "Dask-CUDA starts %lld worker%s, one for each device and counted from 0: none "
		  "has the number %lld",
		  (long long)workers, workers == 1 ? "" : "s", (long long)worker);
	return false;
}

void launcher_check(struct resolver *resolver)
{
	int64_t there = (int64_t)resolver->view.ordinal_count;

	if (resolver->view.unlisted ||
	    (resolver->rotate && !dask_has(resolver, resolver->rotate, there)) ||
	    resolver->slot_count <= there)
		return;
	answer_no(resolver, FINDING_REWRITE_FAILS,
		  ABOUT(.rule = "S10", .origin = resolver->request->origins[KEY_launcher],
			.fix = "name slots that exist, counted from 0"),
		  "DeepSpeed 0.19 refuses slot %lld: its host has %lld GPU%s (0.18 starts ranks)",
		  (long long)resolver->slot_count - 1, (long long)there, there == 1 ? "" : "s");
}

/* Ray before 2.60 may write an empty list for a worker without GPUs, which is `ray:`. */
static void rewrite_ray(struct rewrite *w)
{
	if (w->argument)
		rewritten(w, w->argument, SOURCE_LAUNCHER,
			  *w->argument ? "Ray gives each worker a part of the node's list"
				       : "Ray sets an empty list for a worker without GPUs");
	else
		step_add(w->resolver, "S10", w->resolver->request->origins[KEY_launcher],
			 "Ray 2.60 keeps the list of a worker without GPUs (the old way is ray:)");
}

/* The list as Dask-CUDA reads it: entries that int() accepts become numbers, and other than those
 * it accepts only UUIDs and names of MIG instances. NULL: it refuses one, or no memory. */
static char *dask_list(struct resolver *resolver, const struct effective *list, size_t *count)
{
	struct span rest = span_of(list->value), token;
	struct strbuf buf = {0};

	while (span_split(&rest, ',', &token)) {
		const char *number = as_python_int(resolver, token);

		if (!number && !span_starts(token, "GPU-") && !span_starts(token, "MIG-")) {
			answer_no(resolver, FINDING_REWRITE_FAILS,
				  ABOUT(.rule = "S10", .origin = list->origin,
					.fix = "write numbers, or UUIDs with GPU- or MIG-"),
				  "Dask-CUDA refuses '%s', which is neither a number nor a UUID",
				  QUOTE(token));
			strbuf_free(&buf);
			return NULL;
		}
		token = number ? span_of(number) : token;
		strbuf_puts(&buf, (*count)++ ? "," : "");
		strbuf_add(&buf, token.text, token.length);
	}
	return strbuf_keep(&buf, resolver->arena);
}

/* Dask-CUDA rotates the list: the worker's own device comes first. */
static void rewrite_dask(struct rewrite *w)
{
	static const char how[] = "Dask rotates the list: each worker's own device comes first";
	struct resolver *resolver = w->resolver;
	int64_t worker = request_number(resolver->request, KEY_local_rank);
	const char *value, *cut;
	size_t count = 0;

	resolver->own_first = true;
	if (!w->list->set) {
		/* Dask-CUDA then rotates all devices. Their number is known only after the views.
		 */
		resolver->rotate = worker > 0 ? worker : 0;
		step_add(resolver, "S10", resolver->request->origins[KEY_launcher], how);
		return;
	}
	value = cut = dask_list(resolver, w->list, &count);
	if (!value || !dask_has(resolver, worker, (int64_t)count))
		return;
	for (int64_t i = 0; i < worker; i++)
		cut = strchr(cut, ',') + 1;
	if (cut > value)
		value = arena_printf(resolver->arena, "%s,%.*s", cut, (int)(cut - value - 1),
				     value);
	rewritten(w, value, w->list->stated, how);
}

static void rewrite_flux(struct rewrite *w)
{
	rewritten(w, w->argument ? w->argument : "-1", SOURCE_LAUNCHER,
		  w->argument ? "Flux sets the list to the task's GPUs"
			      : "Flux writes -1 for a task without GPUs");
}

static void rewrite_slurm(struct rewrite *w)
{
	rewritten(w, w->argument, SOURCE_LAUNCHER,
		  w->argument ? "Slurm sets the list to the step's GPUs"
			      : "Slurm unsets the list of a job without GPUs");
}

static bool is_launcher(const struct resolver *resolver, const char *name)
{
	const char *value = resolver->request->values[KEY_launcher];

	return span_is((struct span){value, strcspn(value, ":")}, name);
}

void launcher_order(struct resolver *resolver, struct effective *order)
{
	if (!is_launcher(resolver, "flux") || order->set)
		return;
	*order = (struct effective){
		.set = true,
		.value = "PCI_BUS_ID",
		.origin = resolver->request->origins[KEY_launcher],
		.source = SOURCE_LAUNCHER,
		.stated = SOURCE_LAUNCHER,
	};
	step_add(resolver, "S10", order->origin,
		 "Flux sets CUDA_DEVICE_ORDER=PCI_BUS_ID where it is not set");
}

void launcher_rewrite(struct resolver *resolver, struct effective *list)
{
	static const struct {
		const char *name;
		void (*rewrite)(struct rewrite *w);
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
			launchers[i].rewrite(&w);
}

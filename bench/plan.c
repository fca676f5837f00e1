/* SPDX-License-Identifier: MIT */
/*
 * plan: measures the time and memory of a plan for 1,000 to 100,000 ranks: on hosts of eight GPUs
 * that share one inventory, on equal hosts with an inventory each, on hosts with addresses of their
 * own, on hosts whose answers differ too, and through the public functions, from a profile and
 * named hosts. Time is the least CPU time of runs, memory the peak of what was allocated.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base.h"
#include "gpumap.h"
#include "inventory/inventory.h"
#include "plan/job.h"

/* glibc's own names of these functions, so that the replacements here can count. The library calls
 * the replacements too (strdup). */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static size_t held, peak;

static void *hold(void *memory)
{
	held += memory ? malloc_usable_size(memory) : 0;
	peak = held > peak ? held : peak;
	return memory;
}

EXPORT void *malloc(size_t size)
{
	return hold(__libc_malloc(size));
}

EXPORT void *calloc(size_t count, size_t size)
{
	return hold(__libc_calloc(count, size));
}

EXPORT void *realloc(void *memory, size_t size)
{
	held -= memory ? malloc_usable_size(memory) : 0;
	return hold(__libc_realloc(memory, size));
}

EXPORT void free(void *memory)
{
	held -= memory ? malloc_usable_size(memory) : 0;
	__libc_free(memory);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Makes one plan and reads it from the first rank to the last; 0: it failed. */
static size_t plan_once(const struct plan_input *input)
{
	gpumap_plan *plan = NULL;
	struct job_rank rank;
	size_t read = 0, ranks = 0;

	if (plan_make(&plan, input, NULL) != GPUMAP_OK)
		return 0;
	for (; job_rank_at(plan, (int64_t)ranks, &rank); ranks++)
		read += rank.local->lands != NULL;
	gpumap_plan_free(plan);
	return read == ranks ? ranks : 0;
}

/* The same through the public functions, beginning with the names of the hosts. */
static size_t make_once(const struct plan_input *input)
{
	gpumap_profile *profile = NULL;
	gpumap_hosts *hosts = NULL;
	gpumap_plan *plan = NULL;
	char names[32];
	size_t ranks = 0;

	snprintf(names, sizeof(names), "n[0-%zu]", input->host_count - 1);
	if (gpumap_profile_new(&profile) == GPUMAP_OK && gpumap_hosts_new(&hosts) == GPUMAP_OK &&
	    gpumap_profile_set(profile, "device", "cuda:%l", "bench", NULL) == GPUMAP_OK &&
	    gpumap_profile_set(profile, "command", "python3 train.py", "bench", NULL) ==
		    GPUMAP_OK &&
	    gpumap_hosts_parse_list(hosts, names, "bench", NULL) == GPUMAP_OK) {
		int r = GPUMAP_OK;

		for (size_t i = 0; i < input->host_count && r == GPUMAP_OK; i++)
			r = gpumap_hosts_set_inventory(hosts, i, input->hosts[i].inventory);
		if (r == GPUMAP_OK && gpumap_plan_make(&plan, profile, hosts, NULL) == GPUMAP_OK)
			ranks = (size_t)gpumap_plan_int(plan, GPUMAP_PLAN_WORLD_SIZE);
	}
	gpumap_plan_free(plan);
	gpumap_hosts_free(hosts);
	gpumap_profile_free(profile);
	return ranks;
}

static bool measure(const char *name, const struct plan_input *input,
		    size_t (*once)(const struct plan_input *input))
{
	enum { RUNS = 9 };
	double least = 0;
	size_t ranks = 0, before = held;

	for (int i = 0; i < RUNS; i++) {
		double start = now(), time;

		peak = held;
		ranks = once(input);
		time = now() - start;
		least = !i || time < least ? time : least;
		if (!ranks)
			return false;
	}
	printf("%-28s %7zu ranks %6zu hosts %9.3f ms %7.1f ns per rank %8.2f MB\n", name, ranks,
	       input->host_count, least, least * 1e6 / (double)ranks,
	       (double)(peak - before) / 1e6);
	return true;
}

enum hosts { ONE_INVENTORY, EQUAL_HOSTS, UNLIKE_HOSTS, UNLIKE_ANSWERS };

static const char *const names_of[][2] = {
	{"one inventory", "of a profile, one inventory"},
	{"equal hosts", "of a profile, equal hosts"},
	{"unlike hosts", "of a profile, unlike hosts"},
	{"unlike answers", "of a profile, unlike answers"},
};

/* The order number `i` of eight GPUs, of 40,320. */
static bool set_order(gpumap_inventory *inventory, size_t i)
{
	int left[] = {0, 1, 2, 3, 4, 5, 6, 7}, *order = malloc(sizeof(left));

	for (size_t k = 0; order && k < 8; k++) {
		size_t at = i % (8 - k);

		i /= 8 - k;
		order[k] = left[at];
		memmove(&left[at], &left[at + 1], (7 - k - at) * sizeof(*left));
	}
	inventory->order[GPUMAP_ORDER_FASTEST] = order;
	return order;
}

/* As recorded on host `i`: its GPUs have UUIDs of their own. Unlike hosts have PCI addresses of
 * their own too. Answers differ on hosts with a measured order of their own. */
static bool record(gpumap_inventory **ret, size_t i, enum hosts kind)
{
	char text[64];
	bool ok = gpumap_inventory_open(ret, "8xH100", NULL) == GPUMAP_OK;

	for (size_t k = 0; ok && k < 8; k++) {
		gpumap_device *gpu = &(*ret)->gpus[k];

		snprintf(text, sizeof(text), "GPU-%08zx-%04zx-4000-8000-000000000000", i, k);
		ok = member_set(&gpu->uuid, span_of(text));
		snprintf(text, sizeof(text), "%08zx:%02zx:00.0", kind >= UNLIKE_HOSTS ? i : 0,
			 16 * k);
		ok = ok && member_set(&gpu->pci, span_of(text));
	}
	return ok && (kind != UNLIKE_ANSWERS || set_order(*ret, i));
}

static bool bench(size_t count, enum hosts kind)
{
	struct plan_settings settings = plan_settings_default();
	struct plan_host_input *hosts = calloc(count, sizeof(*hosts));
	char(*names)[24] = calloc(count, sizeof(*names));
	struct plan_input input = {.settings = &settings, .hosts = hosts, .host_count = count};
	size_t made = 0;
	bool ok = hosts && names &&
		  plan_set(&settings, setting_key(span_of("device")), "cuda:%l",
			   (struct plan_place){.origin = "bench"}, NULL) == GPUMAP_OK;

	for (size_t i = 0; ok && i < count; i++) {
		gpumap_inventory *inventory = NULL;

		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		hosts[i].name = names[i];
		hosts[i].inventory = hosts[0].inventory;
		if (i && kind == ONE_INVENTORY)
			continue;
		ok = record(&inventory, i, kind);
		hosts[i].inventory = inventory;
		made++;
	}
	ok = ok && measure(names_of[kind][0], &input, plan_once) &&
	     measure(names_of[kind][1], &input, make_once);
	for (size_t i = 0; i < made; i++)
		gpumap_inventory_free((gpumap_inventory *)(uintptr_t)hosts[i].inventory);
	free(names);
	free(hosts);
	return ok;
}

int main(void)
{
	static const size_t counts[] = {125, 1250, 12500};

	for (size_t i = 0; i < 12; i++)
		if (!bench(counts[i % 3], (enum hosts)(i / 3))) {
			fprintf(stderr, "plan: no plan for %zu hosts\n", counts[i % 3]);
			return 1;
		}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * What a trainer does before it opens its device: it prints which GPU that is, and why.
 *
 * 	which-gpu [MACHINE [DEVICE]]	MACHINE as gpumap --inventory takes it, or "host"
 *
 * Build it with: cc which-gpu.c $(pkg-config --cflags --libs libgpumap) Exit status: 0 there is an
 * answer, 1 there is none, 2 the question is malformed.
 */
#include <gpumap.h>
#include <inttypes.h>
#include <stdio.h>

extern char **environ;

static void print_device(const gpumap_entry *device)
{
	const char *name = gpumap_entry_str(device, GPUMAP_ENTRY_NAME);
	const char *uuid = gpumap_entry_str(device, GPUMAP_ENTRY_UUID);
	int64_t certainty = gpumap_entry_int(device, GPUMAP_ENTRY_CERTAINTY);
	int64_t logical = gpumap_entry_int(device, GPUMAP_ENTRY_LOGICAL);

	if (certainty == GPUMAP_CERTAINTY_UNDECIDABLE)
		printf("cuda:%" PRId64 " is one of %zu GPUs", logical,
		       gpumap_entry_candidate_count(device));
	else
		printf("cuda:%" PRId64 " is physical GPU %" PRId64, logical,
		       gpumap_entry_int(device, GPUMAP_ENTRY_PHYSICAL));
	printf(" (%s%s%s%s%s)\n", gpumap_certainty_name((enum gpumap_certainty)certainty),
	       name ? ", " : "", name ? name : "", uuid ? ", " : "", uuid ? uuid : "");
}

static void print_steps(const gpumap_mapping *mapping)
{
	for (size_t i = 0; i < gpumap_mapping_step_count(mapping); i++) {
		const gpumap_step *step = gpumap_mapping_step(mapping, i);

		printf("  %-4s %s\n", gpumap_step_str(step, GPUMAP_STEP_RULE),
		       gpumap_step_str(step, GPUMAP_STEP_TEXT));
	}
}

static void print_findings(const gpumap_report *report)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *finding = gpumap_report_get(report, i);
		const char *fix = gpumap_finding_str(finding, GPUMAP_FINDING_FIX);

		fprintf(stderr, "which-gpu: %s%s%s\n",
			gpumap_finding_str(finding, GPUMAP_FINDING_TEXT), fix ? "; " : "",
			fix ? fix : "");
	}
}

/* The mapping of this environment on `machine`, for a device that may be NULL. */
static int map(gpumap_mapping **ret, const char *machine, const char *device, gpumap_report *report)
{
	gpumap_inventory *inventory = NULL;
	gpumap_request *request = NULL;
	int r = gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = gpumap_request_set_environ(request, (const char *const *)environ, report);
	if (r == GPUMAP_OK && device)
		r = gpumap_request_set(request, "device", device, "which-gpu", report);
	if (r == GPUMAP_OK)
		r = gpumap_inventory_open(&inventory, machine, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(ret, request, inventory, report);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	return r;
}

int main(int argc, char **argv)
{
	gpumap_mapping *mapping = NULL;
	gpumap_report *report = NULL;
	int status = 2, r = gpumap_report_new(&report);

	if (r == GPUMAP_OK)
		r = map(&mapping, argc > 1 ? argv[1] : "host", argc > 2 ? argv[2] : NULL, report);
	if (r == GPUMAP_OK) {
		const gpumap_entry *device = gpumap_mapping_chosen(mapping);

		status = gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) == 1 ? 0 : 1;
		if (device)
			print_device(device);
		print_steps(mapping);
	}
	print_findings(report);
	if (r != GPUMAP_OK)
		fprintf(stderr, "which-gpu: %s\n", gpumap_strerror(r));
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	return status;
}

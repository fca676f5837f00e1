/* SPDX-License-Identifier: MIT */
/*
 * Shows which GPUs DataParallel uses on a recorded machine, which of them is the master, and how
 * many samples of a batch each one gets.
 *
 * 	plan-dp MACHINE VISIBLE BATCH	such as: plan-dp 8xH100 2,1,3 10
 *
 * Build it with: cc plan-dp.c $(pkg-config --cflags --libs libgpumap)
 */
#include <gpumap.h>
#include <inttypes.h>
#include <stdio.h>

/* Makes the statements, up to the first that fails. */
static int say(gpumap_request *request, char **argv, gpumap_report *report)
{
	const char *statements[][2] = {{"visible", argv[2]}, {"mode", "dp"}, {"batch", argv[3]}};
	int r = GPUMAP_OK;

	for (size_t i = 0; r == GPUMAP_OK && i < sizeof(statements) / sizeof(*statements); i++)
		r = gpumap_request_set(request, statements[i][0], statements[i][1], "plan-dp",
				       report);
	return r;
}

static void print_plan(const gpumap_mapping *mapping)
{
	const gpumap_entry *master = gpumap_mapping_master(mapping);

	for (size_t i = 0; i < gpumap_mapping_replica_count(mapping); i++) {
		const gpumap_entry *replica = gpumap_mapping_replica(mapping, i);
		int64_t samples = gpumap_mapping_replica_samples(mapping, i);

		printf("replica %zu: physical GPU %" PRId64 ", %" PRId64 " samples%s\n", i,
		       gpumap_entry_int(replica, GPUMAP_ENTRY_PHYSICAL), samples < 0 ? 0 : samples,
		       replica == master ? ", master" : "");
	}
}

int main(int argc, char **argv)
{
	gpumap_inventory *inventory = NULL;
	gpumap_request *request = NULL;
	gpumap_mapping *mapping = NULL;
	gpumap_report *report = NULL;
	int r, status = 1;

	if (argc != 4) {
		fputs("usage: plan-dp MACHINE VISIBLE BATCH\n", stderr);
		return 2;
	}
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = gpumap_request_new(&request);
	if (r == GPUMAP_OK)
		r = say(request, argv, report);
	if (r == GPUMAP_OK)
		r = gpumap_inventory_open(&inventory, argv[1], report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, request, inventory, report);
	if (r == GPUMAP_OK && gpumap_mapping_int(mapping, GPUMAP_MAPPING_ANSWERED) == 1) {
		print_plan(mapping);
		status = 0;
	}
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		fprintf(stderr, "plan-dp: %s\n",
			gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_TEXT));
	gpumap_mapping_free(mapping);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	gpumap_report_free(report);
	return status;
}

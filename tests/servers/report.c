/* SPDX-License-Identifier: MIT */
/*
 * The variables of a rank and the device that it uses, in one line of NAME=VALUE between tabs; "-"
 *is unset, not known or nowhere. It opens its device list through the library:
 *
 *	report [--inventory WHAT] [--style zero|local|modulo|explicit:N] [--local-rank N]
 *
 * The inventory is also read from REPORT_INVENTORY, the style from REPORT_STYLE; without
 * them it is a machine of 8 GPUs and a program that takes cuda:0. --local-rank is what
 * python -m torch.distributed.launch passes, and holds for the style local. The exit status
 * is 0 with a GPU, 1 without (error= has the finding), 2 when something is malformed.
 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/report.h"
#include "request/rank_identity.h"
#include "request/request.h"

struct report {
	const char *inventory, *style, *argument; /* argument: of --local-rank */
	gpumap_report *findings;
	gpumap_request *request;
	gpumap_inventory *machine;
	gpumap_mapping *mapping;
};

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "-";
}

static void put(const char *name, const char *value)
{
	printf("%s=%s\t", name, value);
}

static void put_number(const char *name, int64_t n)
{
	if (n < 0)
		put(name, "-");
	else
		printf("%s=%lld\t", name, (long long)n);
}

static void put_ranks(const struct report *report)
{
	struct rank_identity rows[RANK_IDENTITY_ROWS] = {{.row = "-",
							  .rank = -1,
							  .size = -1,
							  .local_rank = -1,
							  .local_size = -1,
							  .node_rank = -1}};

	rank_identity_read(rows, report->request, NULL);
	put_number("rank", rows[0].rank);
	put_number("size", rows[0].size);
	put_number("local", rows[0].local_rank);
	put_number("local_size", rows[0].local_size);
	put_number("node", rows[0].node_rank);
	put("by", rows[0].row);
}

/* The CPUs that the system lets this process use: "0-3,8". */
static void put_affinity(void)
{
	const char *comma = "";
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	fputs("cpus=", stdout);
	for (int first = 0, end; first < CPU_SETSIZE; first = end + 1) {
		for (end = first; end < CPU_SETSIZE && CPU_ISSET(end, &set); end++)
			;
		if (end == first)
			continue;
		printf("%s%d", comma, first);
		if (end > first + 1)
			printf("-%d", end - 1);
		comma = ",";
	}
	putchar('\t');
}

/* The last error, which is why there is no GPU. */
static const char *why(const gpumap_report *findings)
{
	const char *id = "-";

	for (size_t i = 0; i < gpumap_report_count(findings); i++) {
		const gpumap_finding *finding = gpumap_report_get(findings, i);

		if (gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_ERROR)
			id = gpumap_finding_str(finding, GPUMAP_FINDING_ID);
	}
	return id;
}

static int device_of_style(struct report *report)
{
	const char *style = report->style;

	if (streq(style, "zero"))
		style = "0";
	else if (streq(style, "local"))
		style = "%l";
	else if (starts_with(style, "explicit:"))
		style += strlen("explicit:");
	return gpumap_request_set(report->request, "device", style, "--style", report->findings);
}

static int resolve(struct report *report)
{
	int r = gpumap_report_new(&report->findings);

	if (r == GPUMAP_OK)
		r = gpumap_request_new(&report->request);
	if (r == GPUMAP_OK)
		r = gpumap_request_set_environ(report->request, (const char *const *)environ,
					       report->findings);
	if (r == GPUMAP_OK)
		r = device_of_style(report);
	if (r == GPUMAP_OK && report->argument)
		r = gpumap_request_set(report->request, "local_rank", report->argument,
				       "--local-rank", report->findings);
	if (r == GPUMAP_OK)
		r = gpumap_inventory_open(&report->machine, report->inventory, report->findings);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&report->mapping, report->request, report->machine,
				   report->findings);
	return r;
}

static const gpumap_entry *print(const struct report *report)
{
	const gpumap_entry *chosen = gpumap_mapping_chosen(report->mapping);
	char host[256] = "-";

	gethostname(host, sizeof(host) - 1);
	put_ranks(report);
	put("argument", report->argument ? report->argument : "-");
	/* Both nodes of a Slurm on one machine have its name. */
	put("host", getenv("SLURMD_NODENAME") ? getenv("SLURMD_NODENAME") : host);
	put("master", variable("MASTER_ADDR"));
	put("port", variable("MASTER_PORT"));
	put("visible", variable("CUDA_VISIBLE_DEVICES"));
	put("order", variable("CUDA_DEVICE_ORDER"));
	put_affinity();
	put_number("gpu", chosen ? gpumap_entry_int(chosen, GPUMAP_ENTRY_PHYSICAL) : -1);
	printf("error=%s\n", why(report->findings));
	return chosen;
}

/* getenv without an empty value. */
static const char *setting(const char *name, const char *fallback)
{
	const char *value = getenv(name);

	return value && *value ? value : fallback;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"inventory", 1, NULL, 'i'},
						{"style", 1, NULL, 's'},
						{"local-rank", 1, NULL, 'l'},
						{"local_rank", 1, NULL, 'l'},
						{NULL, 0, NULL, 0}};
	struct report report = {.inventory = setting("REPORT_INVENTORY", "8"),
				.style = setting("REPORT_STYLE", "zero")};
	int option, status = 2;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'i')
			report.inventory = optarg;
		else if (option == 's')
			report.style = optarg;
		else if (option == 'l')
			report.argument = optarg;
		else
			return 2;
	}
	if (resolve(&report) == GPUMAP_OK)
		status = print(&report) ? 0 : 1;
	else
		fprintf(stderr, "report: %s\n", why(report.findings));
	gpumap_mapping_free(report.mapping);
	gpumap_inventory_free(report.machine);
	gpumap_request_free(report.request);
	gpumap_report_free(report.findings);
	return fflush(stdout) == 0 ? status : 2;
}

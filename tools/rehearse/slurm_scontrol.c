/* SPDX-License-Identifier: MIT */
/* scontrol show hostnames in a rehearsal. */
#include "rehearse/slurm_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "rehearse/slurm.h"
#include "text/hostlist.h"

int rehearse_scontrol(int argc, char **argv)
{
	const char *list = argc > 3 ? argv[3] : getenv("SLURM_JOB_NODELIST");
	gpumap_report *report = NULL;
	CLEANUP(hostlist_free) struct hostlist hosts = {0};
	int r;

	if (argc < 3 || !starts_with("show", argv[1]) || strlen(argv[2]) < 5 ||
	    !starts_with("hostnames", argv[2]))
		return slurm_refuse("scontrol", "leave it out of the rehearsal",
				    "only scontrol show hostnames is answered");
	if (!list)
		return slurm_refuse("scontrol", "name a list, or call it in a job",
				    "SLURM_JOB_NODELIST is not set");
	report = report_begin();
	r = hostlist_parse(&hosts, span_of(list), "scontrol", report);
	for (size_t i = 0; r == GPUMAP_OK && i < hosts.count; i++)
		printf("%s\n", hosts.hosts[i].name);
	return finish(&(struct output){.report = report}, r, true);
}

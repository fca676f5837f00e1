/* SPDX-License-Identifier: MIT */
/* Plans for tests, written as lines of text. */
#ifndef GM_PLANS_H
#define GM_PLANS_H

#include "plan/job.h"

enum { SCENE_HOSTS = 16 };

/* Everything that one plan is made of. */
struct scene {
	gpumap_inventory *inventories[SCENE_HOSTS];
	struct plan_inherited limits[SCENE_HOSTS][2];
	struct plan_host_input hosts[SCENE_HOSTS];
	size_t inventory_count;
	struct plan_settings settings;
	struct plan_input input;
	char *texts; /* of the settings */
	gpumap_report *report;
	gpumap_plan *plan;
	int code;
};

/*
 * One machine: "8", "8xH100", "none" (nothing is known), or GPUs between semicolons. A GPU
 * is words: its UUID or "-", then any of =NAME, @BUS (of its PCI address), n=NUMA,
 * c=CPUS, l=LINKED INDICES, m=MIG UUID (several times; m+= shares the GPU instance of the
 * one before). A first word fastest=1,0 is the measured order.
 */
gpumap_inventory *plan_machine(const char *text);

/*
 * hosts: "NAME[*COUNT]=MACHINE" between " + "; with a count they share one inventory.
 * limits: "user:LIST" (or scheduler, container, run, rank) between " + ", the outermost first; for
 * every host; LIST may follow "pci " for CUDA_DEVICE_ORDER=PCI_BUS_ID.
 * settings: "key=value" between bars, with the origin "test".
 */
void scene_set(struct scene *scene, const char *hosts, const char *limits, const char *settings);
/* Makes the plan of a scene that was set. */
void scene_plan(struct scene *scene);
void scene_free(struct scene *scene);
/* The answer of gpumap_resolve for the program of a rank. The caller frees *ret; NULL: the rank has
 * no GPU. */
int scene_ask(gpumap_mapping **ret, const struct scene *scene, size_t rank);

/* What ranks have, with blanks between ranks; the caller frees it. */
char *scene_lands(const struct scene *scene); /* GPU, or GPU.MIG; "-": none */
char *scene_lists(const struct scene *scene); /* CUDA_VISIBLE_DEVICES; "''": empty */
char *scene_cpus(const struct scene *scene);  /* with / and the threads; "-": not bound */
char *scene_nodes(const struct scene *scene); /* "-": not bound */
/* Ids of errors and warnings, each once; ids of remarks too when asked for. */
char *scene_findings(const struct scene *scene, bool remarks);

#endif

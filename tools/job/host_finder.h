/* SPDX-License-Identifier: MIT */
/* State of the search for a plan's hosts: for their names (host_names.c, hosts_value.c), for what
 * is known of them (plan_hosts.c), and for which of them this machine is (node_rank.c). */
#ifndef GM_HOST_FINDER_H
#define GM_HOST_FINDER_H

#include <limits.h>

#include "job/plan_hosts.h"
#include "report/speech.h"

struct finder {
	struct plan_hosts *ret;
	const gpumap_profile *profile;
	gpumap_report *report;
	struct speech speech;
	enum plan_for plan_for;
	char here[HOST_NAME_MAX + 1]; /* this machine's name */
};

/* A setting of the profile, and its origin (NULL: it is a default). */
const char *finder_value(const struct finder *f, const char *key);
const char *finder_origin(const struct finder *f, const char *key);
/* The value of a variable; NULL: it is not set, or it is empty. */
const char *finder_variable(const char *name);

/* hosts_value.c: adds the hosts that the profile's `hosts` names. */
int finder_add_hosts(struct finder *f);
/* node_rank.c: sets the node that this machine is; -1: none. */
int finder_node(struct finder *f, const char *node_rank);
/* Adds the hosts that the profile names, or as many as `nnodes` states. */
int finder_add_names(struct finder *f, const char *nnodes, const char *node_rank);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * torchrun's rendezvous. Its endpoint becomes MASTER_ADDR and MASTER_PORT, where ranks meet: with
 * the backend static as in torchrun, and with c10d as the host and port of its store.
 */
#ifndef GM_RDZV_OPTIONS_H
#define GM_RDZV_OPTIONS_H

#include "job/profile_options.h"

enum { RENDEZVOUS_HOST = 254 }; /* bytes */

struct rendezvous {
	const char *backend, *endpoint, *id; /* of --rdzv-*; NULL: not given */
	char host[RENDEZVOUS_HOST], port[16];
	/* Values that work only on one node: this host as the endpoint, and any free port. */
	bool own_host, any_port;
};

#define RENDEZVOUS_OPTION_ROWS(type, member) \
	{"--rdzv-backend", "c10d|static", \
	 "as torchrun: the kind of rendezvous; with static, --rdzv-endpoint needs a port", \
	 TEXT_TO(type, member.backend)}, \
		{"--rdzv-endpoint", "HOST[:PORT]", \
		 "as torchrun: sets --master-addr and --master-port; with c10d the default port " \
		 "is 29400, and port 0 means a free port", \
		 TEXT_TO(type, member.endpoint)}, \
	{ \
		"--rdzv-id", "NAME", \
			"as torchrun: the name of the run; ranks find it in TORCHELASTIC_RUN_ID; " \
			"in settings, %j stands for it", \
			TEXT_TO(type, member.id) \
	}

/* The first of these options that was given; NULL: none was. */
const char *rendezvous_first_option(const struct rendezvous *rendezvous);

/* Call it after the last option: applies the settings that follow. GPUMAP_EINPUT. */
int rendezvous_settle(struct rendezvous *rendezvous, struct profile_options *profile,
		      bool standalone, gpumap_report *report);
/* Checks whether this number of nodes can meet at the endpoint. GPUMAP_EINPUT. */
int rendezvous_check_nodes(const struct rendezvous *rendezvous, int64_t nodes,
			   gpumap_report *report);

/* node_rank.c: torchrun numbers the nodes of a rendezvous by the order of arrival. gpumap takes the
 * number of this node from Slurm. GPUMAP_EINPUT: Slurm does not set it, and --node-rank is needed.
 * Without a rendezvous of several nodes *ret stays as it was. */
int rendezvous_node_rank(const char **ret, const struct rendezvous *rendezvous, int64_t nodes,
			 gpumap_report *report);

/* How to get a free port instead of the port that `origin` gave; NULL: by master_port. */
const char *rendezvous_free_port(const char *origin);

#endif

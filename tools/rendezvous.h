/* SPDX-License-Identifier: MIT */
/*
 * torchrun's rendezvous. Its endpoint is where ranks meet here, MASTER_ADDR and MASTER_PORT:
 * with the backend static as in torchrun, and with c10d its store's host and port.
 */
#ifndef GM_RENDEZVOUS_H
#define GM_RENDEZVOUS_H

#include "profile_options.h"

enum { RENDEZVOUS_HOST = 254 }; /* bytes */

struct rendezvous {
	const char *backend, *endpoint, *id; /* of --rdzv-*; NULL: not said */
	char host[RENDEZVOUS_HOST], port[16];
	/* What one node alone can have: its own store, and a free port. */
	bool own_host, any_port;
};

#define RENDEZVOUS_OPTION_ROWS \
	{"--rdzv-backend", "c10d|static", "as torchrun: how --rdzv-endpoint is read"}, \
		{"--rdzv-endpoint", "HOST[:PORT]", \
		 "as torchrun: --master-addr and --master-port; with c10d the default port is " \
		 "29400, and 0 is a free one"}, \
	{ \
		"--rdzv-id", "NAME", \
			"as torchrun: the name of the run, for %j and TORCHELASTIC_RUN_ID" \
	}

/* Takes one of these; false: another one. */
bool rendezvous_option(struct rendezvous *rendezvous, const char *name, const char *value);

/* One of them that was given; NULL: none. */
const char *rendezvous_first_option(const struct rendezvous *rendezvous);

/* After the last option: the settings that follow. GPUMAP_EINPUT. */
int rendezvous_settle(struct rendezvous *rendezvous, struct profile_options *profile,
		      bool standalone, gpumap_report *report);
/* Once the nodes are counted: whether as many can meet there. GPUMAP_EINPUT. */
int rendezvous_check_nodes(const struct rendezvous *rendezvous, int64_t nodes,
			   gpumap_report *report);

/* How to get a free port where `origin` said one; NULL: by master_port. */
const char *rendezvous_free_port(const char *origin);

#endif

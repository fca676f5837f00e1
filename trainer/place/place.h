/* SPDX-License-Identifier: MIT */
/*
 * Where this process computes: what gpumap says about its list, its device and its launcher. This
 * is the only file that asks libgpumap.
 */
#ifndef TRAIN_PLACE_PLACE_H
#define TRAIN_PLACE_PLACE_H

#include "settings/settings.h"

enum { PLACE_MAX_DEVICES = 64 };

struct place_device {
	int logical;             /* N of cuda:N */
	int physical;            /* nvidia-smi's number: what a simulated device is named after */
	char uuid[64], name[96]; /* "" where not known */
};

struct place {
	/* single: one; dp: its replicas; ddp: one, or of all ranks where they are threads of this
	 * process; mp: of all stages, or of this rank's. In the order of replicas, ranks, stages.
	 */
	int count;
	struct place_device devices[PLACE_MAX_DEVICES];
	int master;                  /* dp: its place in devices (rule G2); else 0 */
	int rank, world;             /* of the whole run; 0 and 1 without a launcher */
	int local_rank, local_world; /* of this machine; world 0: not known */
	int ranks;                   /* of this process: 1, or world where they are threads */
	char launcher[32];           /* who told the rank; "" */
	char rendezvous[200];        /* a name for this run on this machine; "": none is needed */
	char assumption[256];        /* of the mapping, one sentence; "" */
};

/* Who this process is: rank and world, as the launcher says, and the rendezvous. Bad input: a mode
 * or a collective that does not fit the launcher. */
bool place_rank(struct place *place, const struct command_line *command, struct train_error *error);
/* Then the devices, and how many ranks are threads of this process. A mapping that ends in an error
 * or a "no" and two replicas on one device without allow_share are bad input; remarks go to stderr.
 * Asking for the devices of ranks that are threads leaves the last one's statements in
 * command->request. */
bool place_devices(struct place *place, const struct command_line *command,
		   struct train_error *error);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The devices on which this process computes, by gpumap's answers for its list, its device and its
 * launcher. Only this folder calls libgpumap.
 */
#ifndef TRAIN_PLACE_PLACE_H
#define TRAIN_PLACE_PLACE_H

#include "settings/settings.h"

enum { PLACE_MAX_DEVICES = 64 };

struct place_device {
	int logical;             /* N of cuda:N */
	int physical;            /* nvidia-smi's number, which names a simulated device */
	char uuid[64], name[96]; /* "": not known */
};

struct place {
	/* single: one; dp: those of its replicas; ddp: one, or those of all ranks if they are
	 * threads of this process; mp: those of all stages, or this rank's. In the order of
	 * replicas, ranks, stages. */
	int count;
	struct place_device devices[PLACE_MAX_DEVICES];
	int master;                  /* dp: its place in devices (rule G2); else 0 */
	int rank, world;             /* of the whole run; 0 and 1 without a launcher */
	int local_rank, local_world; /* of this machine; world 0: not known */
	int ranks;                   /* of this process: 1, or world if they are threads */
	char launcher[32];           /* the launcher of the rank; "" */
	char rendezvous[200];        /* a name for this run on this machine; "": none is needed */
	char assumption[256];        /* of the mapping, one sentence; "" */
};

/* Finds rank and world, from the launcher's variables, and the rendezvous. Bad input: a mode or a
 * collective that does not fit the launcher. */
bool place_rank(struct place *place, const struct command_line *command, struct train_error *error);
/* Then finds the devices, and the number of thread ranks. Bad input: a mapping that ends in an
 * error or a "no", or two replicas on one device without allow_share. Remarks go to stderr. After
 * finding the devices of thread ranks, command->request has the statements of the last one. */
bool place_devices(struct place *place, const struct command_line *command,
		   struct train_error *error);

#endif

/* SPDX-License-Identifier: MIT */
/* The tables at the beginning and the end of a run: its devices, their memory, and the times of its
 * ranks. Empty columns are left out. */
#ifndef TRAIN_REPORT_SUMMARY_H
#define TRAIN_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum summary_role { SUMMARY_SINGLE, SUMMARY_MASTER, SUMMARY_REPLICA, SUMMARY_STAGE };

/* Whether `host`, of 64 bytes, and that of the structs of `size` bytes after it differ. */
bool several_hosts(const char *host, size_t size, int count);

/* A device of the run. It has no pointers, so that ranks can send it to each other. */
struct summary_device {
	int32_t rank, local_rank;
	int32_t logical; /* N of cuda:N */
	int32_t physical;
	int32_t role;    /* enum summary_role; SUMMARY_MASTER is dp's replica that leads */
	int32_t index;   /* of the replica or stage */
	char host[64];   /* "": this host */
	char uuid[64];   /* "": not known */
	char pci[24];    /* of a real GPU; "" */
	char name[96];   /* "": not known */
	char layers[96]; /* of a stage: "conv1 to fc1" */
	int64_t bytes, peak_bytes; /* at the end of the run */
};

/* rank, local rank, logical and physical device, host, role, name, PCI address and UUID. */
void summary_places(FILE *out, const struct summary_device *devices, int count);

/* Bytes of each physical device, at the end and at most, and how much more dp's master used at most
 * than the mean of the others. Devices that ranks share are added up. */
void summary_memory(FILE *out, const struct summary_device *devices, int count);

struct summary_rank {
	int32_t rank, physical;
	char host[64];
	int64_t steps, timed;               /* timed: those whose times are known */
	double own_seconds, waited_seconds; /* of these */
};

/* Milliseconds of a step, own and waiting for other ranks, and which rank is the slowest; "-" where
 * no step was timed. */
void summary_times(FILE *out, const struct summary_rank *ranks, int count);

#endif

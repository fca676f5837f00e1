/* SPDX-License-Identifier: MIT */
/* An NVML made of plain functions, whose answers a test chooses. */
#ifndef GM_FAKE_NVML_H
#define GM_FAKE_NVML_H

#include "inventory/nvml.h"

enum { MAX = 8, SWITCH = 100, NPU = 101, OFF = 0, NO_MIG = -1 };

/* What the made-up library answers. */
struct fake {
	unsigned int count;
	enum nvml_return init, count_code, handle[MAX], uuid[MAX], minor;
	enum nvml_return link_state;   /* of links that are not there */
	enum nvml_link_type link_type; /* of links to a switch */
	int links[MAX][3];             /* index of the GPU + 1, SWITCH, NPU, or 0: none */
	int mig[MAX];                  /* instances; OFF, NO_MIG */
	int open;                      /* calls of init minus calls of shutdown */
};

extern struct fake fake;

/* All functions, or those that a driver of 2013 has. */
struct nvml fake_library(bool old);
void fake_reset(void);

#endif

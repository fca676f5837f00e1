/* SPDX-License-Identifier: MIT */
/*
 * Asks the CUDA driver in a separate process, gpumap-ask-driver. It prints fields separated by one
 * tab:
 *
 *	gpumap-ask-driver	1
 *	driver	13000			cuDriverGetVersion, 1000 * major + 10 * minor
 *	device	0	UUID	0000:07:00.0	one for each, in CUDA's order
 *	end	1			how many devices there were
 *
 * or, if it fails, in place of the rest:
 *
 *	missing	why			libcuda.so.1 cannot be loaded
 *	failed	cuInit	100		the function and its CUresult
 *
 * UUID is 8-4-4-4-12 hexadecimal digits without GPU- or MIG-, which CUDA does not report.
 */
#ifndef GM_DRIVER_H
#define GM_DRIVER_H

#include "inventory/inventory.h"

enum {
	DRIVER_PATIENCE = 30000, /* milliseconds: without persistence mode GPUs wake up slowly */
	DRIVER_MAX_OUTPUT = 65536
};

/* Measures both orders through the helper program and stores them (rule N6). `patience`: the limit
 * in milliseconds for each of the two answers. */
int driver_order(gpumap_inventory *inventory, const char *helper, int patience,
		 gpumap_report *report);

/* The meaning of a CUresult of cuInit, with its remedy; "an error" for an unknown one. */
const char *driver_error(int code, const char **fix);

struct ran {
	char text[DRIVER_MAX_OUTPUT + 1]; /* NUL-terminated */
	size_t length;
};

/* Runs a program without a shell, with standard input and error at /dev/null, and collects its
 * output. GPUMAP_ENODRIVER if it cannot be started, takes too long, prints too much or dies. It is
 * then killed, and the failure is reported. */
int run_helper(struct ran *ret, const char *path, const char *argument, int patience,
	       gpumap_report *report);

#endif

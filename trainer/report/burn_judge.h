/* SPDX-License-Identifier: MIT */
/* What a burn test finds about each device: lines while it runs, and the table at its end. */
#ifndef TRAIN_REPORT_BURN_JUDGE_H
#define TRAIN_REPORT_BURN_JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A device so far. It has no pointers, so that ranks can send it to each other. What is not known
 * is -1, of text "". */
struct burn_device {
	int32_t rank, physical;
	char host[64]; /* "": this host */
	char uuid[64], name[96];
	bool simulated;               /* on the CPU */
	double behind;                /* the part by which it may be slower than its equals */
	double rate;                  /* images per second of its checks, the median */
	int64_t checks;               /* how often it computed the same gradients */
	int64_t wrong;                /* checks whose bits differ from those of its first */
	uint64_t hash;                /* of the gradients of its first check */
	int32_t celsius, mhz;         /* now */
	int32_t max_celsius, min_mhz; /* while it was busy */
	int64_t now_reasons, reasons; /* NVML_CLOCKS_*: now, and of all samples together */
	int64_t slowed, samples;      /* samples with a thermal or hardware slowdown; of so many */
	int64_t used_bytes;           /* the most */
	int64_t corrected, uncorrected; /* memory errors since the test began */
	char lost[64];                  /* why NVML does not answer any more */
	bool failed;                    /* it, or its rank, ended the test */
};

/* The whole test. */
struct burn_end {
	bool failed;             /* it ended with an error before its time */
	int64_t steps, infinite; /* of the mode; those whose gradients were not finite */
};

enum burn_finding {
	BURN_WRONG_BITS = 1,     /* its own repetitions differ */
	BURN_OTHER_BITS = 2,     /* most of its equals compute other bits */
	BURN_UNCERTAIN_BITS = 4, /* its equals compute other bits, but none has a majority */
	BURN_MEMORY_ERRORS = 8,  /* not corrected ones */
	BURN_CORRECTED = 16,
	BURN_SLOWDOWN = 32, /* heat, or the board, lowered its clocks */
	BURN_SLOW = 64,     /* more than `behind` behind the median of its equals */
	BURN_LOST = 128,
	BURN_FAILED = 256,
};

/* Bits are compared from the second check on, speeds from this one on. */
enum { BURN_SPEED_CHECKS = 5 };
#define BURN_BEHIND 0.1 /* `behind` of a device, unless a test plants another */

/* The median, which sorts them; 0 of none. */
double burn_median(double *rates, int count);

/* The findings about devices[index], a set of enum burn_finding. Equals are GPUs of one model, or
 * devices that one host simulates; an instance of MIG has none, because its size is not known. A
 * limit of power is no finding. */
unsigned burn_judge(const struct burn_device *devices, int count, int index);

enum { BURN_REASONS = 160, BURN_LINE = 480 };

/* NVML_CLOCKS_* in words: "power limit, heat", "none" or, if they are not known, "". Being idle is
 * no reason. Returns text. */
const char *burn_reasons(char text[BURN_REASONS], int64_t reasons);

/* How a device is now: "GPU 3: 2412 img/s, 61 C, 1410 MHz, 12.1 GiB, power limit". Returns text. */
const char *burn_line(char text[BURN_LINE], const struct burn_device *device, bool host);

/* The table, a line for each device with findings, and what the test as a whole says. Returns how
 * many findings there are. */
int burn_report(FILE *out, const struct burn_device *devices, int count,
		const struct burn_end *end);

#endif

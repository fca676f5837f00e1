/* SPDX-License-Identifier: MIT */
/* The port of a scheduler's job: below those that the system assigns by itself (from 32768 on
 * Linux). Scripts compute one in the same range, from the job's number alone. */
#include "plan/job.h"

#include <stdio.h>

enum { FIRST_PORT = 12000, PORTS = 16000 };

int job_port(const char *job, const char *part)
{
	uint64_t n = 0;

	/* Most ids are numbers, and consecutive ones get different ports. Other ids are hashed. */
	for (; *job && *job != '.'; job++)
		n = n * (*job >= '0' && *job <= '9' ? 10 : 31) + (unsigned char)*job - '0';
	for (; *part; part++)
		n = n * 31 + (unsigned char)*part;
	return FIRST_PORT + (int)(n % PORTS);
}

void job_port_in_shell(char ret[JOB_PORT_TEXT], const char *job)
{
	snprintf(ret, JOB_PORT_TEXT, "$((%d + %s %% %d))", FIRST_PORT, job, PORTS);
}

/* SPDX-License-Identifier: MIT */
/*
 * Reserves a TCP port for a program that is going to listen on it.
 *
 * A socket that is bound and does not listen holds the port. A program that sets SO_REUSEADDR
 * before it binds, as PyTorch's TCPStore and nearly every server does, can still bind the port. A
 * plain bind, an outgoing connection and the system's choice of a free port do not get it. Hold the
 * port until the ranks have ended, and do not pass the descriptor to them.
 */
#ifndef GM_HELD_PORT_H
#define GM_HELD_PORT_H

#include "report/report.h"

struct port {
	int fd; /* -1: nothing is held */
	int number;
};

/* Holds the port `number` (0: any free port) for IPv4 and, if the system has IPv6, for IPv6 too.
 * `about` is for findings; its remedy is how to get a free port. NULL: that is master_port.
 * GPUMAP_EINPUT: there is no such port. GPUMAP_EFILE: another process has it, or this user may not
 * open it. */
int port_hold(struct port *ret, int number, const struct about *about, gpumap_report *report);
void port_release(struct port *port);

#endif

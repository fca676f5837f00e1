/* SPDX-License-Identifier: MIT */
/*
 * Reserves a TCP port for a program that is going to listen on it.
 *
 * The port is held by a socket that is bound and does not listen. A program that sets SO_REUSEADDR
 * before it binds, as PyTorch's TCPStore and nearly every server does, takes it; a plain bind, an
 * outgoing connection and the system's choice of a free port do not. Hold it until the ranks have
 * ended, and do not give the descriptor to them.
 */
#ifndef GM_PORT_H
#define GM_PORT_H

#include "report.h"

struct port {
	int fd; /* -1: nothing is held */
	int number;
};

/* Holds `number` for IPv4 and, if there is IPv6, for IPv6 as well; 0: any free one. `about` is for
 * findings, whose remedy is how to get a free port; NULL: master_port. GPUMAP_EINPUT: no such port;
 * GPUMAP_EFILE: another process has it, or it is not allowed. */
int port_hold(struct port *ret, int number, const struct about *about, gpumap_report *report);
void port_release(struct port *port);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Keeping a TCP port for a program that is going to listen on it.
 *
 * The port is held by a socket that is bound and does not listen. A program that sets
 * SO_REUSEADDR before it binds, as PyTorch's TCPStore and nearly every server does, takes it;
 * a plain bind, an outgoing connection and the system's choice of a free port do not.
 * Hold it until the ranks have ended, and do not give the descriptor to them.
 */
#ifndef GM_PORT_H
#define GM_PORT_H

#include "report.h"

struct port {
	int fd; /* -1: nothing is held */
	int number;
};

/* Holds `number` for IPv4 and, where there is IPv6, for that as well; 0: any free one. What a
 * finding is about is `about`, whose remedy says how to get a free one; NULL: master_port.
 * GPUMAP_EINPUT: no such port; GPUMAP_EFILE: somebody has it, or it is not allowed. */
int port_hold(struct port *ret, int number, const struct about *about, gpumap_report *report);
void port_release(struct port *port);

#endif

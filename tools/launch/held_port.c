/* SPDX-License-Identifier: MIT */
/* See held_port.h. */
#include "held_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closing.h"
#include "report/report.h"

enum { MAX_PORT = 65535 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool bind_to(int fd, int family, int number)
{
	union address address = {0};
	socklen_t size = family == AF_INET6 ? sizeof(address.v6) : sizeof(address.v4);

	address.any.sa_family = (sa_family_t)family;
	if (family == AF_INET6)
		address.v6.sin6_port = htons((uint16_t)number);
	else
		address.v4.sin_port = htons((uint16_t)number);
	return bind(fd, &address.any, size) == 0;
}

/* A socket bound to the port, or -1; with `reuse` also if earlier connections linger. */
static int bound(int number, bool reuse)
{
	const int off = 0, on = 1;

	for (int family = AF_INET6;; family = AF_INET) {
		int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool ready = fd >= 0 &&
			     (family == AF_INET ||
			      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0);

		if (ready && reuse)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (ready && bind_to(fd, family, number))
			return fd;
		close_variable(&fd);
		/* IPv6 may be switched off. */
		if (family == AF_INET || (ready && errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT))
			return -1;
	}
}

/* Whether earlier connections are why a plain bind failed. A connection of a program that has ended
 * keeps its port for a minute, but only for programs that do not set SO_REUSEADDR. */
static bool lingers(int number)
{
	static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	enum { TIME_WAIT = 6 };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		FILE *file = fopen(tables[i], "re");
		char line[512];

		while (file && fgets(line, sizeof(line), file)) {
			unsigned port, state;

			/* "  0: 0100007F:7532 00000000:0000 06 ..." */
			if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &port, &state) ==
				    2 &&
			    (int)port == number)
				found = found || state == TIME_WAIT;
		}
		if (file)
			fclose(file);
	}
	return found;
}

/* Whether no other process listens is tested as a listener would. */
static int bind_lingering(int number)
{
	int fd = lingers(number) ? bound(number, true) : -1;
	bool free = fd >= 0 && listen(fd, 1) == 0;

	close_variable(&fd);
	if (free)
		return bound(number, true);
	errno = EADDRINUSE;
	return -1;
}

static int number_of(int fd)
{
	union address address = {0};
	socklen_t size = sizeof(address);

	if (getsockname(fd, &address.any, &size) < 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
						       : address.v4.sin_port);
}

static int refuse(int number, int error, const struct about *about, gpumap_report *report)
{
	struct about here = about ? *about : *ABOUT(.origin = "master_port");
	const char *fresh = here.fix ? here.fix : SETTING("master_port = auto") " takes a free one";

	here.fix = FORMAT("%s%s%s", error == EACCES ? "ports below 1024 are root's; " : "", fresh,
			  error == EADDRINUSE ? "; 'ss -ltnp' shows who listens" : "");
	return report_fail(report, GPUMAP_EFILE, FINDING_PORT_TAKEN, &here,
			   "port %d cannot be used: %s", number, strerror(error));
}

int port_hold(struct port *ret, int number, const struct about *about, gpumap_report *report)
{
	const int on = 1;
	int fd;

	if (number < 0 || number > MAX_PORT)
		return report_fail(report, GPUMAP_EINPUT, FINDING_PORT_TAKEN,
				   ABOUT(.origin = about ? about->origin : "master_port",
					 .fix = "ports are from 1 to 65535"),
				   "there is no port %d", number);
	fd = bound(number, false);
	if (fd < 0 && number && errno == EADDRINUSE)
		fd = bind_lingering(number);
	/* Set after the bind, so that no program with the option can bind before this one. */
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0) {
		*ret = (struct port){.fd = fd, .number = number_of(fd)};
		return GPUMAP_OK;
	}
	close_variable(&fd);
	return refuse(number, errno, about, report);
}

void port_release(struct port *port)
{
	close_variable(&port->fd);
}

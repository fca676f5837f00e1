/* SPDX-License-Identifier: MIT */
/* See rdzv_options.h. */
#include "job/rdzv_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/hosts.h"
#include "report/report.h"

#define BACKEND "--rdzv-backend"
#define ENDPOINT "--rdzv-endpoint"
#define ID "--rdzv-id"

/* The port where torchrun's c10d listens by default. */
enum { C10D_PORT = 29400, MAX_PORT = 65535 };

const char *rendezvous_first_option(const struct rendezvous *rendezvous)
{
	return rendezvous->backend    ? BACKEND
	       : rendezvous->endpoint ? ENDPOINT
	       : rendezvous->id       ? ID
				      : NULL;
}

const char *rendezvous_free_port(const char *origin)
{
	return origin && starts_with(origin, "--rdzv-") ? "write " BACKEND " c10d " ENDPOINT
							  " localhost:0 for a free one"
							: NULL;
}

/* --- what is wrong ---------------------------------------------------------------------- */

static int refuse(const char *origin, const char *value, const char *why, const char *fix,
		  gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			   ABOUT(.origin = origin, .fix = fix), "'%s' %s", QUOTE(span_of(value)),
			   why);
}

static int check_backend(const char *backend, gpumap_report *report)
{
	static const char *const others[] = {"etcd", "etcd-v2", "zeus", "mpi"};

	if (streq(backend, "c10d") || streq(backend, "static"))
		return GPUMAP_OK;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (streq(backend, others[i]))
			return refuse(BACKEND, backend, "is not a way to meet here",
				      "write " BACKEND " c10d " ENDPOINT " HOST:PORT, HOST being "
				      "node 0",
				      report);
	return refuse(BACKEND, backend, "is not a backend", "write c10d or static", report);
}

/* The id is part of file names. */
static int check_id(const char *id, gpumap_report *report)
{
	return is_run_name(id)
		       ? GPUMAP_OK
		       : refuse(ID, id, "is not a name of a run",
				*id ? "write a name without /" : "write a name, or leave it out",
				report);
}

/* --- the endpoint ------------------------------------------------------------------------ */

static bool is_host(const char *host)
{
	bool named = false;

	for (const char *c = host; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr(".:_-", *c))
			return false;
		named = named || isalnum((unsigned char)*c);
	}
	return named;
}

/* Parses HOST, HOST:PORT, [ADDRESS]:PORT. *port -1: there is none. */
static int parse(struct rendezvous *r, int64_t *port, gpumap_report *report)
{
	struct span host = span_trim(span_of(r->endpoint));
	const char *end = host.text + host.length, *colon = memrchr(host.text, ':', host.length);

	*port = -1;
	if (colon && host.text[host.length - 1] != ']') {
		*port = span_number((struct span){colon + 1, (size_t)(end - colon - 1)}, MAX_PORT);
		if (*port < 0)
			return refuse(ENDPOINT, r->endpoint, "has no port from 0 to 65535",
				      "write HOST:PORT, as in localhost:29400", report);
		host.length = (size_t)(colon - host.text);
	}
	if (host.length > 1 && host.text[0] == '[' && host.text[host.length - 1] == ']')
		host = (struct span){host.text + 1, host.length - 2};
	snprintf(r->host, sizeof(r->host), "%.*s",
		 (int)(host.length < sizeof(r->host) ? host.length : 0), host.text);
	return is_host(r->host) ? GPUMAP_OK
				: refuse(ENDPOINT, r->endpoint, "has no name or address of a host",
					 "write HOST:PORT, as in localhost:29400", report);
}

/* static needs a port, and c10d has a default; port 0 is a free one. */
static int endpoint_port(struct rendezvous *r, int64_t port, bool c10d, gpumap_report *report)
{
	if (port < 0 && !c10d)
		return refuse(ENDPOINT, r->endpoint, "has no port, which static needs",
			      "write HOST:PORT, or " BACKEND " c10d", report);
	if (!port && !c10d)
		return refuse(ENDPOINT, r->endpoint, "has port 0, which static cannot have",
			      "write a number from 1, or " BACKEND " c10d for a free port", report);
	r->any_port = !port;
	if (!port)
		snprintf(r->port, sizeof(r->port), "auto");
	else
		snprintf(r->port, sizeof(r->port), "%d", port < 0 ? C10D_PORT : (int)port);
	return GPUMAP_OK;
}

/* As in torchrun, the endpoint wins over the master's options. */
static void set(struct profile_options *profile, const char *option, const char *value,
		gpumap_report *report)
{
	const char *earlier = profile_option_value(profile, option);

	if (earlier && !streq(earlier, value))
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = option, .fix = "leave one of them out"),
			   "'%s' is not used: " ENDPOINT " sets where ranks meet",
			   QUOTE(span_of(earlier)));
	profile_option(profile, option, value, ENDPOINT);
}

static int set_endpoint(struct rendezvous *r, struct profile_options *profile, bool c10d,
			gpumap_report *report)
{
	int64_t port;
	int code = parse(r, &port, report);

	if (code == GPUMAP_OK)
		code = endpoint_port(r, port, c10d, report);
	if (code != GPUMAP_OK)
		return code;
	set(profile, "--master-addr", r->host, report);
	set(profile, "--master-port", r->port, report);
	return GPUMAP_OK;
}

/* c10d without an endpoint is the store of this node; the master's options can also give its place.
 */
static void set_own(struct rendezvous *r, struct profile_options *profile)
{
	if (profile_option_value(profile, "--master-addr"))
		return;
	r->own_host = true;
	snprintf(r->host, sizeof(r->host), "localhost");
	snprintf(r->port, sizeof(r->port), "%d", C10D_PORT);
	profile_option(profile, "--master-addr", r->host, BACKEND);
	if (!profile_option_value(profile, "--master-port"))
		profile_option(profile, "--master-port", r->port, BACKEND);
}

int rendezvous_check_nodes(const struct rendezvous *r, int64_t nodes, gpumap_report *report)
{
	if (nodes > 1 && r->any_port)
		return refuse(ENDPOINT, r->endpoint,
			      "has port 0, on which several nodes cannot agree",
			      "write a number from 1, the same on every node", report);
	if (nodes > 1 && r->own_host)
		return refuse(BACKEND, r->backend,
			      "cannot meet on several nodes: there is no endpoint",
			      "write " ENDPOINT " HOST:PORT, HOST being node 0", report);
	return GPUMAP_OK;
}

int rendezvous_settle(struct rendezvous *r, struct profile_options *profile, bool standalone,
		      gpumap_report *report)
{
	bool c10d = r->backend && streq(r->backend, "c10d");
	bool endpoint = r->endpoint && span_trim(span_of(r->endpoint)).length;
	int code = r->backend ? check_backend(r->backend, report) : GPUMAP_OK;

	if (code == GPUMAP_OK && r->id)
		code = check_id(r->id, report);
	if (code != GPUMAP_OK)
		return code;
	/* The same condition as in torchrun. */
	if (standalone && endpoint && !streq(r->endpoint, "localhost:0"))
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = ENDPOINT, .fix = "leave it out"),
			   "'%s' is not used: --standalone meets at a free port of this node",
			   QUOTE(span_of(r->endpoint)));
	if (standalone)
		return GPUMAP_OK;
	if (endpoint)
		return set_endpoint(r, profile, c10d, report);
	if (c10d)
		set_own(r, profile);
	return GPUMAP_OK;
}

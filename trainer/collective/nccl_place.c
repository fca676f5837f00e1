/* SPDX-License-Identifier: MIT */
/* Where ranks of several machines meet, by the environment: see nccl.h. */
#include "collective/nccl.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static bool port_of(const char *text, int *port, struct train_error *error)
{
	int64_t number = span_number(span_of(text), 65535);

	if (number < 1)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "MASTER_PORT: '%.40s' is not a port, 1 to 65535: set it to the "
				  "same free port for all ranks",
				  text);
	*port = (int)number;
	return true;
}

/* PyTorch's agent has its store at the port, for workers to use. */
static bool agent_listens(const char *const *envp)
{
	const char *value = environ_nonempty(envp, "TORCHELASTIC_USE_AGENT_STORE");

	return value && strcmp(value, "True") == 0;
}

bool nccl_place(char *text, size_t size, bool *found, const char *const *envp,
		struct train_error *error)
{
	const char *place = environ_nonempty(envp, "NCCL_COMM_ID");
	const char *address = environ_nonempty(envp, "MASTER_ADDR"),
		   *port = environ_nonempty(envp, "MASTER_PORT");
	bool bare = address && strchr(address, ':') && address[0] != '[';
	int number = 0, length;

	*found = place || address || port;
	if (!*found)
		return true;
	if (!place && (!address || !port))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s is set and %s is not: set both for all ranks, to rank 0's "
				  "machine and a free port there",
				  address ? "MASTER_ADDR" : "MASTER_PORT",
				  address ? "MASTER_PORT" : "MASTER_ADDR");
	if (!place && !port_of(port, &number, error))
		return false;
	if (place)
		length = snprintf(text, size, "%s", place);
	else
		length = snprintf(text, size, bare ? "[%s]:%d" : "%s:%d", address,
				  agent_listens(envp) ? number % 65535 + 1 : number);
	return (length >= 0 && (size_t)length < size) ||
	       train_fail(error, TRAIN_BAD_INPUT, "%s is too long: give a name of rank 0's machine",
			  place ? "NCCL_COMM_ID" : "MASTER_ADDR");
}

bool nccl_has_mpi(const char *const *envp)
{
	return environ_nonempty(envp, "OMPI_COMM_WORLD_SIZE") ||
	       environ_nonempty(envp, "PMIX_RANK");
}

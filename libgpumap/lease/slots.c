/* SPDX-License-Identifier: MIT */
/* How many jobs can share a GPU: the smallest number of slots that one of them allows. */
#include "lease/lease.h"

void load_add(struct lease_load *load, size_t slots)
{
	load->used++;
	load->most = slots < load->most ? slots : load->most;
}

size_t load_room(const struct lease_load *load, size_t slots)
{
	size_t most = slots < load->most ? slots : load->most;

	return load->used < most ? most - load->used : 0;
}

/* SPDX-License-Identifier: MIT */
/* Of how many slots a job takes one, and how many jobs can share a GPU: the smallest number of
 * slots that one of them allows. */
#include "lease/lease.h"

#include "lease/claim.h"

size_t slots_of_claim(const gpumap_claim *claim, size_t site)
{
	return site && !claim->slots_set && !claim->instances ? site : claim->terms.slots;
}

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

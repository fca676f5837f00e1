/* SPDX-License-Identifier: MIT */
/*
 * What can be leased: the GPUs of a host, and their MIG instances. The units of an inventory are an
 * inventory too, in which the instances of each GPU follow it. Its devices are copies that share
 * what they have with the original ones, so it must not outlive that inventory.
 */
#ifndef GM_LEASE_UNITS_H
#define GM_LEASE_UNITS_H

#include "inventory/inventory.h"
#include "text.h"

/* NULL without memory. */
gpumap_inventory *units_of(const gpumap_inventory *inventory);
/* Also of NULL. */
void units_free(gpumap_inventory *units);

/* The inventory whose units these are; an inventory itself if it is not a list of units. */
static inline const gpumap_inventory *units_machine(const gpumap_inventory *units)
{
	return units->whole ? units->whole : units;
}

/* The device that a unit is a copy of. */
const gpumap_device *unit_device(const gpumap_device *unit);

static inline bool is_instance(const gpumap_device *unit)
{
	return unit->mig_position >= 0;
}

/* A GPU with MIG enabled can only be used through its instances, and an instance without a UUID
 * cannot be named in a list. */
static inline bool unit_can_be_leased(const gpumap_device *unit)
{
	return is_instance(unit) ? unit->uuid != NULL : unit->mig_enabled != 1;
}

/* "GPU 3", "MIG 1 of GPU 3". */
const char *unit_text(struct quoted *ret, const gpumap_device *unit);
#define UNIT_TEXT(unit) unit_text(&(struct quoted){{0}}, unit)

/* Whether a word of a list names the unit: the number of its GPU, or the beginning of its UUID or
 * of that of its GPU. */
bool unit_is_named(const gpumap_device *unit, struct span word);
/* The same of a word of the list, "0,3". */
bool unit_is_listed(const gpumap_device *unit, const char *list);

/* The units of the machine, of which the lease has some, and the place of its i-th unit there. */
const gpumap_inventory *lease_units(const gpumap_lease *lease);
size_t lease_unit(const gpumap_lease *lease, size_t i);
/* Whether the lease has only a slot of that unit. */
bool lease_has_slot(const gpumap_lease *lease, size_t i);

#endif

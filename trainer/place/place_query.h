/* SPDX-License-Identifier: MIT */
/* The state of place_devices, and its queries of libgpumap. */
#ifndef TRAIN_PLACE_PLACE_QUERY_H
#define TRAIN_PLACE_PLACE_QUERY_H

#include "place/place.h"

struct place_query {
	struct place *place;
	const struct command_line *command;
	const struct settings *settings;
	gpumap_inventory *inventory;
	gpumap_report *report;      /* of the last mapping */
	gpumap_mapping *mapping;    /* the last one */
	int mig[PLACE_MAX_DEVICES]; /* which instance of its GPU a device is, -1: all of it */
	bool kept;                  /* place_keep was called */
	bool as_stages;             /* dp is queried as mp, whose remarks do not apply */
	bool named_host;            /* a remark has named --inventory host */
};

/* One more statement of the trainer's own. */
bool place_state(struct place_query *f, const char *key, const char *value,
		 struct train_error *error);

/* A new mapping of all statements, in place of the last one. */
bool place_resolve(struct place_query *f, struct train_error *error);
void place_drop(struct place_query *f);
/* Bad input if it ends in an error. */
bool place_answered(const struct place_query *f, struct train_error *error);
/* Keeps the facts of the run's first mapping, and prints its remarks. */
void place_keep(struct place_query *f);

/* Rule S5: no list was stated. */
bool place_all_devices(const struct place_query *f);
/* find_devices.c: adds the devices of this process, as the mode has them. */
bool place_find_devices(struct place_query *f, struct train_error *error);

/* Adds a device to the place. It must be known, and be free or shared. */
bool place_add(struct place_query *f, const gpumap_entry *entry, struct train_error *error);
bool place_add_chosen(struct place_query *f, struct train_error *error);
bool place_add_replicas(struct place_query *f, size_t count, struct train_error *error);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: everything that a run needs to continue as if it had not stopped, in one safetensors
 * file.
 *
 * FOLDER/checkpoint-000000000120.safetensors was written after step 120 and holds
 *
 * 	fc1.weight                      parameters, F32, named as in PyTorch's state_dict
 * 	bn1.running_mean                buffers, the same
 * 	bn1.num_batches_tracked         counters, I64, scalars
 * 	optimizer.exp_avg.fc1.weight    the optimizer's state, optimizer.SLOT.PARAMETER, F32, of the
 * 	                                parameter's shape
 * 	in __metadata__                 crc32 (safetensors.h), format "pt" (PyTorch's order of
 * 	                                dimensions), checkpoint "1" (the version of this list), the
 * 	                                numbers of struct checkpoint_progress by their names, and
 * texts
 *
 * Nothing in it depends on ranks, devices or modes, so a run of any kind can continue from it.
 * Files of other programs that have a state_dict only are read too; the "module." that DataParallel
 * and DistributedDataParallel put before each name is removed.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "checkpoint/safetensors.h"

/* Where a run is. Numbers are 0 or more; the scale is finite. */
struct checkpoint_progress {
	int64_t step;           /* steps done, those that the scaler skipped included */
	int64_t optimizer_step; /* without those: t of Adam */
	int64_t epoch;          /* from 0, the argument of set_epoch */
	int64_t position;       /* samples of the epoch's order that all ranks together have used */
	int64_t history;        /* bytes of the file of losses for these steps */
	int64_t elapsed_ms;     /* of training, by all runs up to here; 0 in files without it */
	int64_t scaler_growth;  /* steps since the scale changed: GradScaler's _growth_tracker */
	float scaler_scale;     /* GradScaler's scale; 0 without one */
	uint64_t seed;
};

/* The optimizer's state for each parameter. */
struct checkpoint_slot {
	const char *name;   /* as PyTorch has it: "exp_avg", "momentum_buffer" */
	float *const *data; /* data[i] has the shape of parameters[i] */
};

/* A whole number of the state_dict. */
struct checkpoint_counter {
	const char *name; /* "bn1.num_batches_tracked" */
	int64_t *value;
};

struct checkpoint {
	const struct tensor *parameters;
	size_t count;
	const struct checkpoint_slot *slots;
	size_t slot_count;
	const struct safetensors_text *texts; /* for people and checks: {"model", "convnet"} */
	size_t text_count;
	struct checkpoint_progress progress;
	const struct tensor *buffers; /* of the state_dict, besides parameters */
	size_t buffer_count;
	const struct checkpoint_counter *counters;
	size_t counter_count;
};

/* Writes a checkpoint into folder, which it creates if needed, and then removes those of earlier
 * steps until `keep` are left, with this one (0: removes none). Only one process per folder may
 * call it, rank 0 of a run.
 *
 * It is written under another name in the folder, synced and renamed, and the folder is synced. So
 * existing checkpoints stay intact after a failure, when a process dies and when a disk is full.
 * First it removes files of processes that were killed while writing. If RLIMIT_FSIZE is set,
 * ignore SIGXFSZ, or it ends the process. */
bool checkpoint_save(const char *folder, const struct checkpoint *what, int keep,
		     struct train_error *error);

/* Checks that checkpoints can be written there, before hours of training; if not, bad input. Leaves
 * nothing behind, not even a folder that it created. */
bool checkpoint_try(const char *folder, struct train_error *error);

/* Checks that the folder has no checkpoints, damaged ones included, for a run that begins from step
 * 0: it would later resume a checkpoint of another run. If it has, bad input; a missing folder is
 * fine. */
bool checkpoint_none(const char *folder, struct train_error *error);

/* Opens the checkpoint of the latest step that is complete and has finite parameters; those of a
 * run that diverged are not finite. Later ones are rejected: `refused` gets the reason of each, in
 * one line with its name. *ret is NULL if there is no checkpoint or no folder. If all are rejected,
 * that is TRAIN_BAD_INPUT; if one cannot be opened or memory runs out, that is an error too, as the
 * file may be good. */
bool checkpoint_newest(struct safetensors **ret, const char *folder,
		       void (*refused)(void *data, const char *why), void *data,
		       struct train_error *error);

/* Copies a checkpoint into the state_dict, slots and progress of the run. It must have exactly
 * these names and shapes. A NULL data pointer stands for a tensor of another rank, which is
 * compared and not copied. An infinite or NaN parameter or buffer is bad input, and a counter below
 * 0 or above 2^62. On failure nothing is changed. */
bool checkpoint_load(struct checkpoint *into, const struct safetensors *file,
		     struct train_error *error);

/* The same for the state_dict only, from any file; the optimizer's state is ignored. A counter that
 * is missing stays unchanged: files of PyTorch before 0.4.1 have none. */
bool checkpoint_load_model(const struct checkpoint *into, const struct safetensors *file,
			   struct train_error *error);

/* Whether the file is a complete checkpoint; its progress. */
bool checkpoint_progress(struct checkpoint_progress *progress, const struct safetensors *file,
			 struct train_error *error);

/* Checks that every parameter and buffer of the file is finite; otherwise bad input, with the first
 * that is not. */
bool checkpoint_finite(const struct safetensors *file, struct train_error *error);

#endif

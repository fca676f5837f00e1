/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: all that a run needs to go on as if it had not stopped, in one safetensors file.
 *
 * FOLDER/checkpoint-000000000120.safetensors was written after step 120 and holds
 *
 *	fc1.weight                      parameters, F32, named as in PyTorch's state_dict
 *	optimizer.exp_avg.fc1.weight    the optimizer's state, optimizer.SLOT.PARAMETER, F32, of the
 *	                                parameter's shape
 *	in __metadata__                 crc32 (safetensors.h), format "pt" (PyTorch's order of
 *	                                dimensions), checkpoint "1" (the version of this list), the
 *	                                numbers of struct checkpoint_progress by their names, and
 *texts
 *
 * Nothing in it depends on ranks, devices or modes: any of them writes it, and any can go on with
 *it. Files of others, weights alone, are read too; DataParallel and DistributedDataParallel put
 * "module." before each name, which is taken off.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "checkpoint/safetensors.h"

/* Where a run is. Numbers are 0 or more; the scale is finite. */
struct checkpoint_progress {
	int64_t step;           /* steps done, those that the scaler skipped included */
	int64_t optimizer_step; /* without those: t of Adam */
	int64_t epoch;          /* from 0, what set_epoch is told */
	int64_t position;       /* samples of the epoch's order that all ranks together have used */
	int64_t history;        /* bytes of the file of losses that describe these steps */
	int64_t elapsed_ms;     /* of training, by all runs up to here; 0 in files without it */
	int64_t scaler_growth;  /* steps since the scale changed: GradScaler's _growth_tracker */
	float scaler_scale;     /* GradScaler's scale; 0 without one */
	uint64_t seed;
};

/* What the optimizer keeps for each parameter. */
struct checkpoint_slot {
	const char *name;   /* as PyTorch has it: "exp_avg", "momentum_buffer" */
	float *const *data; /* data[i] has the shape of parameters[i] */
};

struct checkpoint {
	const struct tensor *parameters;
	size_t count;
	const struct checkpoint_slot *slots;
	size_t slot_count;
	const struct safetensors_text *texts; /* kept for people and checks: {"model", "convnet"} */
	size_t text_count;
	struct checkpoint_progress progress;
};

/* Writes a checkpoint into folder, which is made if need be, and then removes those of earlier
 * steps until `keep` are left, this one included (0: all are left). One process per folder, the
 * rank 0 of a run, may call it.
 *
 * It is written under another name in the folder, synced, renamed, and the folder synced: whenever
 * a process dies or a disk is full, the checkpoints that were there stay as they were, and so they
 * do on failure. What processes left that were killed while they wrote is removed first. Where
 * RLIMIT_FSIZE is set SIGXFSZ must be ignored, or it ends the process. */
bool checkpoint_save(const char *folder, const struct checkpoint *what, int keep,
		     struct train_error *error);

/* Whether checkpoints can be written there, so that it is known before hours of training; if not,
 * bad input. Leaves nothing behind, not even a folder that it made. */
bool checkpoint_try(const char *folder, struct train_error *error);

/* Whether no checkpoint is in the folder, nor damaged ones, for a run that begins anew: a later one
 * of another run would be what is gone on from. If not, bad input; no folder is good. */
bool checkpoint_none(const char *folder, struct train_error *error);

/* Opens the checkpoint of the latest step that is whole and whose parameters are finite, which
 * those of a run that diverged are not. Each later one is refused: `refused` is told why, in one
 * line with its name. *ret is NULL where there is no checkpoint or no folder; it is an error when
 * all are refused (TRAIN_BAD_INPUT), and when one cannot be opened or memory runs out, which says
 * nothing against the file. */
bool checkpoint_newest(struct safetensors **ret, const char *folder,
		       void (*refused)(void *data, const char *why), void *data,
		       struct train_error *error);

/* Copies a checkpoint into what the run has: parameters, slots and progress. The names must be the
 * same, none missing and none besides, and so the shapes. A data pointer that is NULL is of a
 * tensor that another rank holds: it is compared and not copied. A parameter with a value that is
 * infinite or NaN is bad input. Nothing is changed on failure. */
bool checkpoint_load(struct checkpoint *into, const struct safetensors *file,
		     struct train_error *error);

/* The same for parameters alone, out of any file: the optimizer's state is left aside. */
bool checkpoint_load_parameters(const struct tensor *parameters, size_t count,
				const struct safetensors *file, struct train_error *error);

/* Whether the file is a whole checkpoint; its progress. */
bool checkpoint_progress(struct checkpoint_progress *progress, const struct safetensors *file,
			 struct train_error *error);

/* Whether every parameter of the file is finite; otherwise bad input, with the first that is not.
 */
bool checkpoint_finite(const struct safetensors *file, struct train_error *error);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The settings of a training run, from options and the [trainer] section of a profile. settings.def
 * has a row for each, with its option, key, default, values and help.
 */
#ifndef TRAIN_SETTINGS_SETTINGS_H
#define TRAIN_SETTINGS_SETTINGS_H

#include <gpumap.h>

#include "kernels/value.h"
#include "data/sampler.h"
#include "base/error.h"
#include "optim/optimizer.h"
#include "report/metrics.h"

enum train_mode { MODE_SINGLE, MODE_DP, MODE_DDP, MODE_MP };
enum { TRAIN_MAX_STAGES = 32 };

struct settings {
	/* Model and data */
	const char *model;
	int64_t image_size;   /* of resnet18 and resnet50; 0: the usual */
	const char *data;     /* a folder of CIFAR-10, or "synthetic" */
	int64_t samples;      /* of synthetic data to train with, 1 or more */
	int64_t test_samples; /* of synthetic data, 1 or more */
	bool augment;
	uint64_t seed;

	/* The batch; of the first two one is given, the other 0 */
	int64_t global_batch, batch_per_device;
	bool batch_default;    /* neither was given: the ranks may round it */
	int64_t accumulate;    /* passes of a step, 1: no accumulation */
	int64_t micro_batches; /* mp: of a pass */
	enum sampler_order sampler;
	enum sampler_tail tail;
	bool drop_last; /* a last batch that is not full */
	int64_t epochs; /* 0: as many as the steps take */
	int64_t steps;  /* end after so many; 0: after the epochs */

	/* The optimizer */
	struct optimizer_settings optimizer;
	enum schedule_kind schedule;
	double lr, lr_min, warmup;
	double clip_norm; /* 0: none */
	enum value_type precision;

	/* Parallel */
	enum train_mode mode;
	const char *collective; /* "auto", "self", "shm", "peer", "mpi", "nccl" */
	const char *stages;     /* mp: the first layer of each but the first, "conv2,fc1"; "" */
	double bucket_mib, first_bucket_mib;
	enum overlap { OVERLAP_AUTO, OVERLAP_YES, OVERLAP_NO } overlap;
	int64_t timeout_ms;
	bool sync_batch_norm;
	bool find_unused_parameters;
	bool allow_share;

	/* Devices */
	const char *backend; /* "auto", "onednn", "reference", "cuda" */
	int threads;         /* of each device; 0: the cores of the process, divided */
	bool exact;          /* the rounding of plain sums */
	bool deterministic;  /* the same bits in every run, on GPUs too */
	bool verify_mapping; /* of real GPUs */

	/* Checkpoints */
	const char *checkpoint;         /* folder, or NULL */
	int64_t checkpoint_every, keep; /* steps; 0: at the end of each epoch */
	bool resume;
	const char *weights; /* a file to begin with, or NULL */

	/* Progress and reports */
	enum progress_style progress;
	const char *metrics, *plot;
	int64_t evaluate_every; /* epochs; 0: never */
	int64_t burn_ms;        /* a burn test; 0: a training run */
	int64_t profile_steps;  /* 0: none */
	const char *profile_to; /* NAME.svg and NAME.json */
};

/* The request collects the statements for the mapping: --visible, --device and the other statements
 * of gpumap-explain(1), and the environment. */
struct command_line {
	struct settings settings;
	gpumap_request *request;
	const char *inventory;  /* the value of --inventory, as in gpumap; NULL: not given */
	const char *device_ids; /* the value of --device-ids, as in gpumap; NULL: not given */
	bool device;            /* --device or --set-device was given */
	const char *const *envp;
	bool asked;   /* --help or --version was answered: there is nothing to do */
	void *memory; /* of the texts, until settings_free */
};

/* Reads the settings: options win over GPUMAP_* variables, these over the [trainer] section, and
 * that over defaults. argv and envp must outlive it. Remarks go to stderr. On failure there is
 * nothing to free. */
bool settings_read(struct command_line *ret, int argc, char **argv, const char *const *envp,
		   struct train_error *error);
void settings_free(struct command_line *command);
/* Refuses the modes of one process in a world of several ranks. */
bool settings_fit_world(const struct settings *s, int rank, int world, const char *launcher,
			struct train_error *error);

#endif

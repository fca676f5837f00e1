/* SPDX-License-Identifier: MIT */
/*
 * How a step is divided: a table of operations per mode. Each rank of a run has one; in single and
 * dp there is one rank.
 *  - single: a replica.
 *  - dp: a replica on each device of this process (nn.DataParallel). The batch is scattered in
 *    chunks (rule G6), and outputs are gathered on the master. The loss is taken there, gradients
 *    are summed there in the order of the devices, the optimizer runs there, and all get its
 *    parameters.
 *  - ddp: a replica per rank (DistributedDataParallel). Parameters come from rank 0, gradients are
 *    summed over ranks in buckets while backward runs, and every rank steps alike.
 *  - mp: a stage per rank, and micro-batches in flight: one forward, one backward.
 *
 * The gradient of a step is that of the mean loss over all of its samples, whichever way they are
 * divided: each sample's is scaled by 1 / of_all, and all are summed.
 */
#ifndef TRAIN_PARALLEL_H
#define TRAIN_PARALLEL_H

#include "collective/collective.h"
#include "model/model.h"
#include "kernels/scaler.h"
#include "report/timeline.h"
#include "place/place.h"

struct parallel_options {
	const struct settings *settings;
	const struct place *place;
	const struct backend *backend;
	const struct model_spec *spec;
	const struct dataset *train, *test;
	int rank, world;
	struct rendezvous *rendezvous;
	const struct collective *collective;
	int64_t batch;             /* the most samples of a step_input */
	int64_t profiled;          /* the most steps in time lines */
	enum value_type precision; /* what layers compute in */
	cpu_set_t cpus;            /* the cores that this process may use */
	/* dp: called by the thread of a replica that has failed, before it ends the others. May be
	 * NULL. */
	void (*failed)(const struct train_error *why);
};

/* The samples of a step: those of this rank, in mp those of all. */
struct step_input {
	int64_t epoch;
	const int64_t *indices;
	int64_t count;  /* 0 is possible */
	int64_t of_all; /* of all ranks */
	struct rates rates;
};

/* The results of a step besides parameters and states; the same on all ranks. */
struct optimizer_progress {
	int64_t steps;        /* that were made */
	struct scaler scaler; /* of float16; the device continues with it */
};

/* The results of this rank; the whole step's are their sums over ranks. */
struct step_output {
	double loss; /* the sum over its samples; in mp the last stage's */
	int64_t correct;
	bool finite; /* the gradients were finite, and the step was made; the same on all ranks */
	double norm; /* of the gradients, the same on all; NAN unless requested */
	/* The time within the step in which the rank waited for gradients after backward, and for
	 * other ranks. -1: not measured, as on GPUs in steps without a time line, in which the host
	 * does not wait. */
	int64_t exposed_ns, waited_ns;
};

/* A device computed loss and gradients of some samples. */
struct device_check {
	uint64_t hash; /* of the gradients */
	int64_t ns;    /* that it took */
	bool flip;     /* for tests: one bit of the gradients is flipped */
	bool spoil;    /* for tests: a weight becomes NaN afterwards */
};

struct parallel;
struct replica;
struct step_graph;

enum { PARALLEL_PARAMETERS = -1, PARALLEL_BUFFERS = -2 }; /* states */

struct parallel_calls {
	/* Call it, and all that follows, by the rank's thread. Parameters are zero. Close *parallel
	 * unless it is NULL, even after a failure. */
	bool (*open)(struct parallel **parallel, const struct parallel_options *options,
		     struct train_error *error);
	void (*close)(struct parallel *parallel);
	/* A step, or an evaluation of test data, which leaves parameters as they are. They return
	 * when it is submitted; at most MAX_FETCH may be in flight. */
	bool (*step)(struct parallel *parallel, const struct step_input *input,
		     struct train_error *error);
	bool (*evaluate)(struct parallel *parallel, const struct step_input *input,
			 struct train_error *error);
	/* On devices with streams, which the host does not see: sets the times of *output to those
	 * that the time lines have of the step, -1 for none. NULL: there are none to set. */
	void (*times)(const struct parallel *parallel, int step, struct step_output *output);
	/* Parameters (state -1) and the optimizer's states between rank 0's host memory, in
	 * PyTorch's order, and the ranks that hold them; with PARALLEL_BUFFERS `parameter` is the
	 * index of a buffer. All ranks make these calls; `host` is NULL except on rank 0. After
	 * writing, synchronize sends everything to all ranks. */
	bool (*read)(struct parallel *parallel, int state, int parameter, float *host,
		     struct train_error *error);
	bool (*write)(struct parallel *parallel, int state, int parameter, const float *host,
		      struct train_error *error);
	bool (*synchronize)(struct parallel *parallel, const struct optimizer_progress *progress,
			    struct train_error *error);
	/* Each device of this rank computes the gradients of the same samples, at most those of
	 * its pass, without the other devices and without an update; checks[i] is that of
	 * device[i]. It waits. Equal devices give equal bits if they are deterministic. NULL: a
	 * device has a part of the model only. */
	bool (*check)(struct parallel *parallel, const struct step_input *input,
		      struct device_check *checks, struct train_error *error);
	/* Ends the waiting for another rank or replica that will not come. Any thread may call
	 * it. */
	void (*abort)(struct parallel *parallel, const struct train_error *why);
};

enum { PARALLEL_REMARK = 704 };

/* The common part of the modes, which callers may read. */
struct parallel {
	const struct parallel_calls *calls;
	struct parallel_options options;
	struct communicator *comm;
	/* The replica whose parameters and states this rank reads and writes; of dp the master. */
	struct replica *replica;
	struct step_graph *evaluations; /* of rank_evaluate() */
	struct model_shapes shapes;
	/* The forward passes of training whose batches have moved the buffers that this rank reads,
	 * since it was opened: what num_batches_tracked counts. */
	const int64_t *batches_tracked;
	/* For each device its computation, then what this rank sends; none unless options.profiled.
	 */
	struct timeline *timeline[PLACE_MAX_DEVICES + 1];
	int timelines;
	/* The outputs of submitted steps, as far as the host knows them. */
	struct step_output outputs[MAX_FETCH];
	int profiled[MAX_FETCH];  /* the number of the step in time lines, or -1 */
	int submitted, completed; /* in all */
	/* For the user, after a step; the caller prints it and sets it to "". */
	char remark[PARALLEL_REMARK];
	int devices; /* of this rank, and what they hold */
	struct device *device[PLACE_MAX_DEVICES];
	int first_layer[PLACE_MAX_DEVICES], last_layer[PLACE_MAX_DEVICES];
};

/* Waits for the oldest step, or evaluation, and adds its results to *output. */
bool parallel_result(struct parallel *parallel, struct step_output *output,
		     struct train_error *error);

extern const struct parallel_calls parallel_single, parallel_dp, parallel_ddp, parallel_mp;

/* By settings.mode. */
const struct parallel_calls *parallel_find(enum train_mode mode);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A model, or a stage of one, in training on one device: the unit of every mode. A step is one or
 * more passes of `rows` samples each, whose gradients are summed, and then an update.
 */
#ifndef TRAIN_REPLICA_H
#define TRAIN_REPLICA_H

#include "parallel/inputs.h"
#include "parallel/step_graph.h"

struct replica_options {
	const struct place_device *place;
	int index, sharing; /* the index among the devices that share this process's cores */
	int first, last;    /* layers */
	int64_t rows;       /* of a pass */
	int slots;          /* passes in flight */
	int64_t passes;     /* the most of a step */
	bool learns;        /* has an optimizer */
	bool alone;         /* the whole model, and the only replica: it makes replica_step()s */
};

/* The results of a step on the device. */
struct step_results {
	struct loss_result loss;
	struct gradient_measure measure; /* if gradients are measured */
};

struct replica {
	const struct parallel_options *options;
	struct device *device;
	struct model *model;
	struct device_data *train, *test;
	struct optimize *optimize;
	struct timeline *timeline;
	int64_t traced_at; /* a mark: the end of the previous operation */
	int64_t rows;
	bool has_loss;
	float *sum;           /* of the gradients of passes, NULL with one pass */
	struct inputs inputs; /* of a step */
	/* On the device, for steps in turn, as their inputs are: those of a step are fetched while
	 * the next one computes. */
	struct step_results *all_results;
	struct scaler *scaler; /* on the device, where it learns in float16; else NULL */
	int parameters;        /* of the stage, the first of which is */
	int first_parameter;
	int64_t batches_tracked; /* forward passes of training with at least a row */
	int early_layer; /* the parameters of this layer and of those after it are early; -1: none
			  */
};

/* The source of a pass's rows. */
struct replica_rows {
	int64_t epoch;
	const int64_t *indices;
	int64_t count;  /* at most `rows` */
	int64_t of_all; /* of the whole step */
	bool test;      /* labels are the test data's */
};

/* Those of the step that began last. */
static inline struct step_results *replica_results(const struct replica *replica)
{
	return &replica->all_results[replica->inputs.turn];
}

/* The options are borrowed until it is closed. */
bool replica_open(struct replica *replica, const struct parallel_options *options,
		  const struct replica_options *how, struct train_error *error);
void replica_close(struct replica *replica);
/* Of the clock of a time line, whose argument is the device. */
int64_t replica_mark(void *device);
int64_t replica_mark_ns(void *device, int64_t mark);
/* Records its operations in a time line, from now on. */
void replica_trace(struct replica *replica, struct timeline *timeline);

/* Before a step or an evaluation: set the rows of each pass, then send them with begin. */
void replica_set_rows(struct replica *replica, int64_t pass, const struct replica_rows *rows);
bool replica_begin(struct replica *replica, const struct step_input *input,
		   struct train_error *error);
/* Both of these, for a step whose passes take the input's samples one after the other. */
bool replica_begin_all(struct replica *replica, const struct step_input *input, bool test,
		       struct train_error *error);

/* A pass in a slot. fill: images for the first layer, labels for the last; test data are not
 * augmented. loss: of the rows, with its gradient unless only the loss is requested; pass 0 is the
 * first, and the others add their loss to its. */
bool replica_fill(struct replica *replica, int slot, int64_t pass, bool test,
		  struct train_error *error);
bool replica_forward(struct replica *replica, int slot, int64_t pass, bool test,
		     struct train_error *error);
bool replica_loss(struct replica *replica, int slot, int64_t pass, bool gradient,
		  struct train_error *error);
/* Backward of pass `pass` of `passes`; after the last, the model's gradients are the sum of all.
 * `watch` is notified in the last pass, as by model_backward(), with the sums complete. */
bool replica_backward(struct replica *replica, int slot, int64_t pass, int64_t passes,
		      const struct model_watch *watch, struct train_error *error);

/* Runs forward, loss and backward of all passes of a step that has begun. */
bool replica_passes(struct replica *replica, int64_t passes, const struct model_watch *watch,
		    struct train_error *error);
/* Passes and the update of a step of the only replica. Unless gradients are measured, the update of
 * most parameters runs beside the rest of backward. In a time line each operation is alone. */
bool replica_step(struct replica *replica, int64_t passes, struct train_error *error);
/* For a burn test: from now on a wait for the device fails before --timeout ends; 0 is no limit.
 * `alone`: it waits for no other device, so the error names it by its UUID. */
void replica_watch(struct replica *replica, bool alone);
/* A pass of at most `rows` samples, for parallel_calls.check. */
bool replica_check(struct replica *replica, const struct step_input *input,
		   struct device_check *check, struct train_error *error);
/* Adds loss and correct rows of test samples, after replica_begin_all(). */
bool replica_evaluate(struct replica *replica, int64_t passes, struct train_error *error);
/* Whether gradients are measured before an update: because they are clipped, or in float16. */
bool replica_measures(const struct replica *replica);
bool replica_measure(struct replica *replica, struct train_error *error);
/* The norm of the model, after the sums over stages. */
bool replica_norm(struct replica *replica, struct train_error *error);
/* The optimizer's step with the current gradients: clipped, and skipped if they are not finite. */
bool replica_learn(struct replica *replica, struct train_error *error);
/* Measures if needed, and makes the optimizer's step. */
bool replica_update(struct replica *replica, struct train_error *error);
/* A graph of steps of this replica, without waits for other ranks. */
struct step_graph *replica_graph(const struct replica *replica, graph_issue *issue, void *argument);
/* Fetches the results of a step or an evaluation; the second call adds them to output. */
bool replica_fetch(struct replica *replica, struct train_error *error);
bool replica_take(struct replica *replica, struct step_output *output, struct train_error *error);

/* The flat buffer of parameters (state -1) or of a state of the optimizer; NULL: no such state. Its
 * elements are those of the model. */
void *replica_flat(const struct replica *replica, int state);
/* One parameter, or its part of a state, to and from PyTorch's order on the host. With the state
 * PARALLEL_BUFFERS `parameter` is the index of a buffer. */
bool replica_read(struct replica *replica, int state, int parameter, float *host,
		  struct train_error *error);
bool replica_write(struct replica *replica, int state, int parameter, const float *host,
		   struct train_error *error);
/* After all of them were written: sets the progress of the optimizer. */
bool replica_written(struct replica *replica, const struct optimizer_progress *progress,
		     struct train_error *error);

/* The passes of a step, at least 1, and the rows of one, which may be none: with
 * --sync-batch-norm all ranks make as many passes. */
int64_t replica_pass_count(const struct replica *replica, const struct step_input *input);
struct replica_rows replica_pass_rows(const struct replica *replica, const struct step_input *input,
				      int64_t pass, bool test);

/* Processes of this run on this machine. */
int replica_processes(const struct parallel_options *options);

#endif

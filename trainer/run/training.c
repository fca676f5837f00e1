/* SPDX-License-Identifier: MIT */
/* See training.h. */
#include "run/training.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/names.h"
#include "base/clock.h"
#include "data/cifar10.h"
#include "place/cores.h"
#include "run/stop.h"

static bool open_synthetic(struct training *t, struct train_error *error)
{
	const struct settings *s = t->settings;
	int outputs = t->spec->layers[t->spec->count - 1].out;
	struct dataset_synthetic of = {
		.shape = {t->spec->channels, t->spec->height, t->spec->width},
		/* a label is a byte */
		.classes = outputs < DATASET_MAX_CLASSES ? outputs : DATASET_MAX_CLASSES,
		.samples = s->samples ? s->samples : 10000,
		.seed = s->seed,
	};

	if (!dataset_make(&t->train, &of, error))
		return false;
	of.first = of.samples;
	of.samples = s->test_samples ? s->test_samples : 2000;
	return dataset_make(&t->test, &of, error);
}

/* Images larger than the model's are cropped; other differences are errors. */
static bool check_shape(const struct training *t, struct train_error *error)
{
	const struct dataset_shape *shape = &t->train.shape;
	const struct model_spec *spec = t->spec;

	if (shape->channels == spec->channels && shape->height >= spec->height &&
	    shape->width >= spec->width && t->train.classes == spec->layers[spec->count - 1].out)
		return true;
	return train_fail(
		error, TRAIN_BAD_INPUT,
		"model %s takes %d x %d x %d and has %d classes, but %s has samples of %d "
		"x %d x %d in %d classes; use --data synthetic, another model, or a ResNet with "
		"--image-size %d",
		spec->name, spec->channels, spec->height, spec->width,
		spec->layers[spec->count - 1].out, t->settings->data, shape->channels,
		shape->height, shape->width, t->train.classes, shape->height);
}

static bool open_data(struct training *t, struct train_error *error)
{
	const char *data = t->settings->data;

	if (strcmp(data, "synthetic") == 0)
		return open_synthetic(t, error);
	return cifar10_read(&t->train, data, CIFAR10_TRAIN, 0, error) &&
	       cifar10_read(&t->test, data, CIFAR10_TEST, 0, error) && check_shape(t, error);
}

enum { MAX_BATCH = 100000000 }; /* as --global-batch */

/* The next multiple: all ranks have the same number, at least one sample in each pass. */
static void round_batch(struct training *t, int64_t ranks)
{
	int64_t wanted = t->global_batch, each = (wanted + ranks - 1) / ranks;

	if (each < t->settings->accumulate)
		each = t->settings->accumulate;
	t->global_batch = each * ranks;
	if (t->global_batch != wanted && t->place.rank == 0)
		fprintf(stderr,
			"gpumap-train: remark: the default batch of %lld is rounded up for %lld "
			"ranks: --global-batch %lld\n",
			(long long)wanted, (long long)ranks, (long long)t->global_batch);
}

static bool divide_batch(struct training *t, struct train_error *error)
{
	const struct settings *s = t->settings;
	int64_t devices = s->mode == MODE_DDP  ? t->place.world
			  : s->mode == MODE_DP ? t->place.count
					       : 1;
	int64_t ranks = s->mode == MODE_DDP ? t->place.world : 1;

	if (s->batch_per_device > MAX_BATCH / devices / s->accumulate)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"--batch-per-device %lld: on %lld devices, in %lld passes, a step "
			"has more than %d samples; give less",
			(long long)s->batch_per_device, (long long)devices,
			(long long)s->accumulate, MAX_BATCH);
	t->global_batch =
		s->global_batch ? s->global_batch : s->batch_per_device * devices * s->accumulate;
	if (s->batch_default)
		round_batch(t, ranks);
	if (t->global_batch % ranks != 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--global-batch %lld is not a multiple of %lld ranks; give %lld",
				  (long long)t->global_batch, (long long)ranks,
				  (long long)((t->global_batch / ranks + 1) * ranks));
	t->sampler_ranks = (int)ranks;
	t->rank_batch = t->global_batch / ranks;
	if (t->rank_batch < s->accumulate)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--accumulate %lld: a rank has %lld samples in a step; give at "
				  "most that many",
				  (long long)s->accumulate, (long long)t->rank_batch);
	return true;
}

static bool find_precision(struct training *t, struct train_error *error)
{
	const struct place_device *first = &t->place.devices[0];
	const struct device_options options = {.physical = first->physical,
					       .logical = first->logical,
					       .uuid = first->uuid,
					       .threads = 1};
	struct device *device;
	char remark[256];

	t->precision = t->settings->precision;
	if (t->precision == VALUE_FLOAT32)
		return true;
	if (!t->backend->open(&device, &options, error))
		return false;
	t->precision = backend_type(device, t->precision, remark, sizeof(remark));
	t->backend->close(device);
	if (*remark && t->place.rank == 0)
		fprintf(stderr, "gpumap-train: remark: %s\n", remark);
	return true;
}

static bool check_threads(const struct training *t, struct train_error *error)
{
	int threads = t->settings->threads, cores = CPU_COUNT(&t->cpus);
	int max = cores_max_threads(&t->cpus);

	if (max == 0 || threads <= max)
		return true;
	return train_fail(error, TRAIN_BAD_INPUT,
			  "--threads %d: this process may use %d %s; give at most %d, or leave it "
			  "out for a thread on each",
			  threads, cores, cores == 1 ? "core" : "cores", max);
}

/* After the ranks have met, a failure is reported to the others. */
static bool meet(struct training *t, struct train_error *error)
{
	const struct settings *s = t->settings;
	const struct rendezvous_options rendezvous = {
		.world = t->place.world,
		.ranks = t->place.ranks,
		.rank = t->place.rank,
		.name = *t->place.rendezvous ? t->place.rendezvous : NULL,
		.timeout_ms = (int)s->timeout_ms,
		.local = t->place.local_world,
		.messages = s->mode == MODE_MP,
	};

	t->collective = collective_choose(s->collective, &rendezvous, t->backend->name,
					  backend_simulates(t->backend->name), error);
	return t->collective && t->collective->meet(&t->rendezvous, &rendezvous, error);
}

/* There is a thread rank for each device, so they meet when the devices are known. */
static bool find_devices(struct training *t, const struct command_line *command,
			 struct train_error *error)
{
	bool processes = t->place.world > 1;

	return (!processes || meet(t, error)) && (!t->backend->ready || t->backend->ready(error)) &&
	       place_devices(&t->place, command, error) && (processes || meet(t, error));
}

static bool find_all(struct training *t, struct train_error *error)
{
	const struct settings *s = t->settings;
	struct model_shapes shapes;

	/* Before a device is opened. */
	if (s->verify_mapping && !verify_open(&t->verify, getpid(), error))
		return false;
	if (!check_threads(t, error) ||
	    !model_for_images(&t->model, s->model, (int)s->image_size, error))
		return false;
	t->spec = &t->model;
	return model_shapes(&shapes, t->spec, error) &&
	       (s->find_unused_parameters || model_all_live(&shapes, t->spec, error)) &&
	       divide_batch(t, error) && find_precision(t, error) && open_data(t, error);
}

/* MPI ends the process here, so a rank with its own process prints its error before. */
void training_failed(struct training *t, struct parallel *parallel, int rank,
		     const struct train_error *error)
{
	stop_failed(error);
	pthread_mutex_lock(&t->mutex);
	if (t->first.status == TRAIN_OK)
		t->first = *error;
	pthread_mutex_unlock(&t->mutex);
	if (t->place.ranks < t->place.world) {
		fprintf(stderr, "gpumap-train: %s\n", error->text);
		*t->first.text = '\0';
		stop_reported();
	}
	if (parallel && parallel->comm)
		parallel->calls->abort(parallel, error);
	else
		t->collective->cancel(t->rendezvous, rank, error);
}

static void report_more_cores(const struct training *t, int more)
{
	if (more > 0 && t->place.rank == 0)
		fprintf(stderr,
			"gpumap-train: remark: this process may use %d more %s, with numbers from "
			"%d on, that no device uses; choose lower ones with taskset, or write "
			"--threads\n",
			more, more == 1 ? "core" : "cores", CPU_SETSIZE);
}

bool training_open(struct training *t, const struct command_line *command,
		   struct train_error *error)
{
	int more;

	*t = (struct training){.settings = &command->settings, .started_ns = clock_ns()};
	pthread_mutex_init(&t->mutex, NULL);
	more = cores_allowed(&t->cpus);
	t->backend = backend_find(t->settings->backend, error);
	if (!t->backend || !place_rank(&t->place, command, error))
		return false;
	report_more_cores(t, more);
	if (!find_devices(t, command, error) || !find_all(t, error)) {
		if (t->rendezvous)
			training_failed(t, NULL, t->place.rank, error);
		training_close(t);
		return false;
	}
	return true;
}

void training_close(struct training *t)
{
	if (t->rendezvous)
		t->collective->leave(t->rendezvous);
	verify_close(t->verify);
	dataset_free(&t->train);
	dataset_free(&t->test);
}

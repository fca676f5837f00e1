/* SPDX-License-Identifier: MIT */
/* Devices of the CPU: values, threads and cores, events, steps, and data. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "backends.h"
#include "model/model.h"
#include "stage.h"

enum { FILLED = 7 };

START_TEST(values_round_to_nearest_even)
{
	static const struct {
		enum value_type type;
		double value;
		uint16_t bits;
	} rows[] = {
		{VALUE_BFLOAT16, 1.0, 0x3f80},
		{VALUE_BFLOAT16, 1.0 + 1.0 / 256.0, 0x3f80},
		{VALUE_BFLOAT16, 1.0 + 3.0 / 256.0, 0x3f82},
		{VALUE_BFLOAT16, -3.4e38, 0xff80},
		{VALUE_BFLOAT16, 1e-40, 0x0001},
		{VALUE_BFLOAT16, NAN, 0x7fc0},
		{VALUE_FLOAT16, 1.0, 0x3c00},
		{VALUE_FLOAT16, 1.0 + 1.0 / 2048.0, 0x3c00},
		{VALUE_FLOAT16, 1.0 + 3.0 / 2048.0, 0x3c02},
		{VALUE_FLOAT16, 2047.5, 0x6800},
		{VALUE_FLOAT16, -65504.0, 0xfbff},
		{VALUE_FLOAT16, 65519.9, 0x7bff},
		{VALUE_FLOAT16, 65520.0, 0x7c00},
		{VALUE_FLOAT16, 0x1p-24, 0x0001},
		{VALUE_FLOAT16, 0x1p-25, 0x0000},
		{VALUE_FLOAT16, 0x1.8p-24, 0x0002},
		{VALUE_FLOAT16, 0x1.ffcp-15, 0x0400},
		{VALUE_FLOAT16, NAN, 0x7e00},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint16_t bits = 0xdead, again;

		value_set(rows[i].type, &bits, 0, rows[i].value);
		ck_assert_msg(bits == rows[i].bits, "%s %g is %04x, not %04x",
			      value_name(rows[i].type), rows[i].value, bits, rows[i].bits);
		value_set(rows[i].type, &again, 0, value_get(rows[i].type, &bits, 0));
		ck_assert_uint_eq(again, bits);
	}
}
END_TEST

static int threads_now(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = -2; /* . and .. */

	ck_assert_ptr_nonnull(tasks);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

/* A convolution that is worth both threads. */
static const struct stage_case wide = {
	"wide", 4,  16,
	16,     16, {{.name = "c", .kind = LAYER_CONVOLUTION, .out = 16, .kernel = 3, .pad = 1}},
	1};

START_TEST(threads_are_as_many_as_asked)
{
	const struct backend *backend = backends[BACKENDS - 1];
	const struct stage_setting one = {backend, VALUE_FLOAT32, true, 1};
	const struct stage_setting two = {backend, VALUE_FLOAT32, true, 2};
	struct train_error error = {.status = TRAIN_OK};
	struct stage_result result;

	ck_assert(stage_run(&result, &wide, &one, -1, 0.0, &error));
	stage_free(&result);
	ck_assert_int_eq(threads_now(), 1);
	ck_assert(stage_run(&result, &wide, &two, -1, 0.0, &error));
	stage_free(&result);
	ck_assert_int_eq(threads_now(), backend == &backend_reference ? 1 : 2);
}
END_TEST

static void *run_on_core(void *argument)
{
	const struct backend *backend = argument;
	struct device_options options = {.physical = 1, .threads = 1};
	struct device *device;
	cpu_set_t cpus, now;
	int core = sched_getcpu();
	volatile float tiny = 1e-38f;

	CPU_ZERO(&cpus);
	CPU_SET(core, &cpus);
	options.cpus = &cpus;
	device = opened(backend, &options);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	ck_assert(CPU_EQUAL(&now, &cpus));
#ifdef __SSE__
	ck_assert_msg(tiny * 1e-5f == 0.0f, "denormals are kept");
#endif
	backend->close(device);
	return NULL;
}

START_TEST(cores_are_the_devices_own)
{
	const struct backend *backend = backends[_i];
	pthread_t thread;
	cpu_set_t before, after;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_on_core, (void *)(uintptr_t)backend), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

START_TEST(cores_that_are_not_there)
{
	struct device_options options = {.physical = 5, .threads = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = NULL;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	options.cpus = &cpus;
	ck_assert(!backends[_i]->open(&device, &options, &error));
	ck_assert_ptr_null(device);
	ck_assert_msg(strstr(error.text, "device 5 cannot have its cores") != NULL, "%s",
		      error.text);
}
END_TEST

struct waiter {
	struct device *device;
	struct event *event;
	int *shared;
	int seen;
	bool passed;
	struct train_error error;
};

static void *wait_twice(void *argument)
{
	struct waiter *w = argument;
	const struct backend *backend = w->device->backend;

	w->passed = backend->event_wait(w->device, w->event, 2, &w->error);
	w->seen = *w->shared;
	return NULL;
}

START_TEST(events_order_devices)
{
	const struct backend *backend = backends[_i];
	const struct device_options options = {.physical = 0, .threads = 1};
	struct device *a = opened(backend, &options), *b = opened(backend, &options);
	int shared = 0;
	struct waiter w = {.device = b, .shared = &shared};
	pthread_t thread;

	ck_assert(backend->event_new(&w.event, a, &w.error));
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_twice, &w), 0);
	ck_assert(backend->event_record(w.event, &w.error));
	shared = 7;
	ck_assert(backend->event_record(w.event, &w.error));
	pthread_join(thread, NULL);
	ck_assert(w.passed);
	ck_assert_int_eq(w.seen, 7);
	backend->event_abort(w.event);
	ck_assert(!backend->event_wait(b, w.event, 3, &w.error));
	ck_assert_msg(strstr(w.error.text, "another device failed") != NULL, "%s", w.error.text);
	backend->event_free(w.event);
	backend->close(b);
	backend->close(a);
}
END_TEST

static bool count_up(void *argument, struct train_error *error)
{
	int *count = argument;

	return ++*count < 3 || train_fail(error, TRAIN_FAILED, "three");
}

START_TEST(steps_run_again)
{
	const struct backend *backend = backends[_i];
	const struct device_options options = {.physical = 0, .threads = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened(backend, &options);
	struct recording *step;
	int count = 0;

	ck_assert(backend->recording_new(&step, device, count_up, &count, &error));
	ck_assert(backend->recording_run(step, &error) && backend->recording_run(step, &error));
	ck_assert(!backend->recording_run(step, &error));
	ck_assert_str_eq(error.text, "three");
	backend->recording_free(step);
	backend->close(device);
}
END_TEST

/* Sizes around those from which all threads work, at addresses that are not aligned. */
START_TEST(memory_by_threads)
{
	static const int64_t sizes[] = {0, 1, 17, 65535, 65536, 65537, 65552, 300001};
	const struct device_options options = {.physical = 0, .threads = 3};
	struct device *device = opened(backends[_i], &options);
	struct train_error error = {.status = TRAIN_OK};
	int64_t max = 300001 + 2;
	float *from = malloc((size_t)max * sizeof(*from)), *to = malloc((size_t)max * sizeof(*to));

	ck_assert(from && to);
	for (int64_t i = 0; i < max; i++)
		from[i] = (float)(i % 1000 - 500);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		int64_t n = sizes[s];
		size_t bytes = (size_t)n * sizeof(*to);

		to[0] = to[n + 1] = 7;
		ck_assert(backends[_i]->copy(device, to + 1, device, from, bytes, &error));
		ck_assert_msg(memcmp(to + 1, from, bytes) == 0, "copy of %d", (int)n);
		ck_assert(backends[_i]->add(device, to + 1, from + 1, n, &error));
		for (int64_t i = 0; i < n; i++)
			if (to[i + 1] != from[i] + from[i + 1])
				ck_abort_msg("sum %d of %d", (int)i, (int)n);
		ck_assert(backends[_i]->zero(device, to + 1, bytes, &error));
		for (int64_t i = 0; i < n; i++)
			if (to[i + 1] != 0)
				ck_abort_msg("zero %d of %d", (int)i, (int)n);
		ck_assert_msg(to[0] == 7 && to[n + 1] == 7, "ends of %d", (int)n);
	}
	free(from);
	free(to);
	backends[_i]->close(device);
}
END_TEST

static void fill_with(const struct backend *backend, int threads, const struct dataset *dataset,
		      const struct batch_options *options, float *images, int32_t *labels)
{
	static const int64_t indices[] = {3, 0, 11, 7, 7, 2, 5};
	const struct device_options where = {.physical = 0, .threads = threads};
	struct pass_control control = {.epoch = 2, .rows = FILLED};
	const struct layout layout = layout_host(VALUE_FLOAT32, FILLED, dataset->shape.channels,
						 options->height, options->width);
	struct data_batch batch = {options, FILLED, &control, indices, &layout, images, labels};
	struct train_error error = {.status = TRAIN_OK};
	struct device_data *data;
	struct device *device;

	if (threads == 0) {
		batch_fill(images, labels, dataset, options, 2, indices, FILLED);
		return;
	}
	device = opened(backend, &where);
	ck_assert(backend->data_open(&data, device, dataset, &error));
	ck_assert(backend->data_fill(data, &batch, &error));
	control.rows = 0;
	batch.images = images + FILLED;
	batch.labels += FILLED;
	ck_assert(backend->data_fill(data, &batch, &error));
	backend->data_close(data);
	backend->close(device);
}

/* As batch_fill(), in any number of threads, and nothing behind the last sample. */
START_TEST(data_is_filled)
{
	const struct dataset_synthetic synthetic = {
		.shape = {3, 9, 8}, .classes = 4, .samples = 12, .seed = 5};
	const struct batch_options options = {.height = 7, .width = 8, .augment = true, .seed = 9};
	enum { PIXELS = 3 * 7 * 8 };
	float want[FILLED * PIXELS + 1], got[FILLED * PIXELS + 1];
	int32_t want_labels[FILLED + 1], got_labels[FILLED + 1];
	struct train_error error = {.status = TRAIN_OK};
	struct dataset dataset;

	ck_assert_msg(dataset_make(&dataset, &synthetic, &error), "%s", error.text);
	memset(want, 0x55, sizeof(want));
	memset(want_labels, 0x55, sizeof(want_labels));
	fill_with(backends[_i], 0, &dataset, &options, want, want_labels);
	for (int threads = 1; threads <= 9; threads += 2) {
		memset(got, 0x55, sizeof(got));
		memset(got_labels, 0x55, sizeof(got_labels));
		fill_with(backends[_i], threads, &dataset, &options, got, got_labels);
		ck_assert_msg(memcmp(got, want, sizeof(got)) == 0, "%d threads", threads);
		ck_assert_msg(memcmp(got_labels, want_labels, sizeof(got_labels)) == 0,
			      "labels, %d threads", threads);
	}
	dataset_free(&dataset);
}
END_TEST

/* Planning uses a type if has_type() is true, and otherwise float32 with a remark. */
START_TEST(types_that_are_not_there)
{
	static const enum value_type types[] = {VALUE_FLOAT32, VALUE_BFLOAT16, VALUE_FLOAT16};
	struct device *device = opened_with(backends[_i], 1);

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		const struct stage_setting setting = {backends[_i], types[i], false, 1};
		struct train_error error = {.status = TRAIN_OK};
		enum value_type type;
		struct stage_result result;
		char text[200];
		bool runs = stage_run(&result, &wide, &setting, -1, 0.0, &error);

		if (runs)
			stage_free(&result);
		type = backend_type(device, types[i], text, sizeof(text));
		ROW_EQ_INT(value_name(types[i]), type, runs ? types[i] : VALUE_FLOAT32);
		ck_assert_msg(runs ? !*text
				   : strstr(text, value_name(types[i])) &&
					      strstr(text, "computes in float32"),
			      "%s: %s", value_name(types[i]), text);
	}
	ck_assert_int_eq(device->bytes, 0);
	ck_assert_int_eq(device->peak_bytes, 0);
	backends[_i]->close(device);
}
END_TEST

START_TEST(backends_by_name)
{
	struct train_error error = {.status = TRAIN_OK};

	ck_assert_ptr_eq(backend_find("reference", &error), &backend_reference);
	ck_assert_ptr_null(backend_find("abacus", &error));
	ck_assert_msg(strstr(error.text, "--backend abacus: ") == error.text &&
			      strstr(error.text, "reference"),
		      "%s", error.text);
	ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backend");
	TCase *tests = tcase_create("backend");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, values_round_to_nearest_even);
	tcase_add_test(tests, threads_are_as_many_as_asked);
	tcase_add_loop_test(tests, cores_are_the_devices_own, 0, BACKENDS);
	tcase_add_loop_test(tests, cores_that_are_not_there, 0, BACKENDS);
	tcase_add_loop_test(tests, events_order_devices, 0, BACKENDS);
	tcase_add_loop_test(tests, steps_run_again, 0, BACKENDS);
	tcase_add_loop_test(tests, memory_by_threads, 0, BACKENDS);
	tcase_add_loop_test(tests, data_is_filled, 0, BACKENDS);
	tcase_add_loop_test(tests, types_that_are_not_there, 0, BACKENDS);
	tcase_add_test(tests, backends_by_name);
	return unit_run(suite);
}

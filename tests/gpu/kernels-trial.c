/* SPDX-License-Identifier: MIT */
#include "kernels-trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * How much a kernel's numbers may differ from the reference's, which takes sums in double. `value`
 * is relative to the value, for one rounding of the type. `sum` is for sums in fp32 of values of at
 * most 4; it is multiplied by the root of their number.
 */
static const struct {
	double value, sum;
} tolerances[] = {
	[VALUE_FLOAT32] = {0x1p-22, 2e-6},
	[VALUE_BFLOAT16] = {0x1p-8, 2e-6},
	[VALUE_FLOAT16] = {0x1p-10, 2e-6},
	[VALUE_FLOAT64] = {1e-12, 1e-12},
};

char *why_ended;

static void __attribute__((format(printf, 1, 2), noreturn)) end(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(why_ended, WHY_BYTES, format, list);
	va_end(list);
	fflush(NULL);
	_exit(99); /* after a fault, what the runtime does at exit may not end */
}

void must(cudaError_t code, const char *call)
{
	if (code != cudaSuccess)
		end("%s: %s", call, cudaGetErrorString(code));
}

static void *must_allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		end("%zu bytes of memory are not there", bytes);
	return memory;
}

struct buffer *add_buffer(struct trial *t, const char *name, size_t bytes)
{
	struct buffer *b = &t->buffers[t->count++];

	b->name = name;
	b->bytes = bytes;
	b->at[HOST] = must_allocate(bytes + GUARD_BYTES);
	memset(b->at[HOST], POISON, bytes + GUARD_BYTES);
	return b;
}

struct buffer *add_scratch(struct trial *t, size_t bytes)
{
	struct buffer *b = add_buffer(t, "scratch", bytes);

	b->scratch = true;
	memset(b->at[HOST], 0, KERNEL_TICKET_BYTES);
	return b;
}

struct buffer *add_scaler(struct trial *t, float scale)
{
	struct buffer *b = add_buffer(t, "scaler", sizeof(struct scaler));
	struct scaler *scaler = b->at[HOST];

	*scaler = scaler_default();
	scaler->scale = scale;
	return b;
}

struct buffer *add_values(struct trial *t, const char *name, enum value_type type, int64_t count,
			  bool bad)
{
	struct buffer *b = add_buffer(t, name, (size_t)count * value_bytes(type));

	for (int64_t i = 0; i < count; i++) {
		uint32_t bits = random_u32(&t->random);
		double value = ((int)(bits % 129) - 64) / 16.0;

		if (bad && bits >> 24 == 0)
			value = bits >> 23 & 1   ? (double)NAN
				: bits >> 22 & 1 ? INFINITY
						 : -INFINITY;
		value_set(type, b->at[HOST], i, value);
	}
	return b;
}

struct buffer *add_output(struct trial *t, const char *name, enum value_type type, int64_t count,
			  enum closeness closeness)
{
	struct buffer *b = add_buffer(t, name, (size_t)count * value_bytes(type));

	add_view(b, (struct view){.count = count, .type = type, .closeness = closeness});
	return b;
}

void add_view(struct buffer *b, struct view view)
{
	b->written = true;
	b->views[b->view_count++] = view;
}

void *at(const struct trial *t, int buffer, enum place place)
{
	const struct buffer *b = &t->buffers[buffer];

	return b->bytes ? b->at[place] : NULL;
}

void *at_value(const struct trial *t, int buffer, enum place place, enum value_type type, int64_t n)
{
	char *first = at(t, buffer, place);

	return n ? first + n * (int64_t)value_bytes(type) : first;
}

/* If scratch is not poisoned, only its ticket is copied: initcheck finds reads of the rest. */
static void to_device(const struct trial *t, const struct buffer *b)
{
	size_t bytes = b->bytes + GUARD_BYTES;

	if (b->scratch && !t->poisons)
		bytes = KERNEL_TICKET_BYTES;
	MUST(cudaMemcpy(b->at[DEVICE], b->before, bytes, cudaMemcpyHostToDevice));
}

static void run_on_device(struct trial *t, const struct kernel_test *test, bool first)
{
	for (int i = 0; i < t->count; i++)
		if (first || !t->buffers[i].scratch) /* each run leaves it for the next */
			to_device(t, &t->buffers[i]);
	must(test->run(t, DEVICE), test->name);
	MUST(cudaStreamSynchronize(t->stream));
	for (int i = 0; i < t->count; i++) {
		struct buffer *b = &t->buffers[i];

		if (b->scratch)
			continue;
		if (first)
			MUST(cudaMemcpy(b->first, b->at[DEVICE], b->bytes + GUARD_BYTES,
					cudaMemcpyDeviceToHost));
	}
}

static double allowed(const struct view *view, double want)
{
	double value = fabs(want) * tolerances[view->type].value;

	if (view->closeness == EXACT)
		return 0;
	if (view->closeness == ROUNDED)
		return value;
	return (view->closeness == SUMMED ? 1 : 2) * value +
	       tolerances[view->type].sum * sqrt(view->summed);
}

static bool same_views(const struct buffer *b, const struct view *view, char *why, size_t size,
		       double *greatest)
{
	const char *got = (const char *)b->first + view->offset;
	const char *want = (const char *)b->at[HOST] + view->offset;

	for (int64_t i = 0; i < view->count; i++) {
		double x =
			view->integers ? ((const int32_t *)got)[i] : value_get(view->type, got, i);
		double y = view->integers ? ((const int32_t *)want)[i]
					  : value_get(view->type, want, i);
		double max = view->integers ? 0 : allowed(view, y), off = fabs(x - y);

		if (x == y || (isnan(x) && isnan(y)))
			continue;
		if (!(off <= max)) {
			snprintf(why, size, "%s[%lld] is %.9g, not %.9g (allowed: %.3g)", b->name,
				 (long long)i, x, y, max);
			return false;
		}
		*greatest = fmax(*greatest, off / max);
	}
	return true;
}

/* Inputs are unchanged, outputs are close to the reference's, nothing is written behind the end. */
static bool same_buffer(const struct buffer *b, char *why, size_t size, double *greatest)
{
	const unsigned char *behind = (const unsigned char *)b->first + b->bytes;

	if (b->scratch)
		return true;
	for (int i = 0; i < GUARD_BYTES; i++)
		if (behind[i] != POISON) {
			snprintf(why, size, "%s is written %d bytes behind its end", b->name, i);
			return false;
		}
	if (!b->written && memcmp(b->first, b->before, b->bytes) != 0) {
		snprintf(why, size, "%s is written to", b->name);
		return false;
	}
	for (int i = 0; i < b->view_count; i++)
		if (!same_views(b, &b->views[i], why, size, greatest))
			return false;
	return true;
}

static bool same_again(struct trial *t, const struct kernel_test *test, char *why, size_t size)
{
	run_on_device(t, test, false);
	for (int i = 0; i < t->count; i++) {
		const struct buffer *b = &t->buffers[i];
		void *again = must_allocate(b->bytes + GUARD_BYTES);
		bool same;

		if (!b->scratch)
			MUST(cudaMemcpy(again, b->at[DEVICE], b->bytes + GUARD_BYTES,
					cudaMemcpyDeviceToHost));
		same = b->scratch || memcmp(again, b->first, b->bytes + GUARD_BYTES) == 0;
		free(again);
		if (!same) {
			snprintf(why, size, "%s differs from run to run", b->name);
			return false;
		}
	}
	return true;
}

void trial_prepare(struct trial *t, const struct kernel_test *test, uint64_t seed)
{
	random_seed(&t->random, seed);
	test->prepare(t);
	for (int i = 0; i < t->count; i++) {
		struct buffer *b = &t->buffers[i];

		b->before = must_allocate(b->bytes + GUARD_BYTES);
		memcpy(b->before, b->at[HOST], b->bytes + GUARD_BYTES);
	}
	test->run(t, HOST);
}

bool trial_check(struct trial *t, const struct kernel_test *test, char *why, size_t size,
		 double *greatest)
{
	*greatest = 0;
	/* A stream that waits for copies from the host, which are on the default stream. */
	MUST(cudaStreamCreate(&t->stream));
	for (int i = 0; i < t->count; i++) {
		struct buffer *b = &t->buffers[i];

		b->first = must_allocate(b->bytes + GUARD_BYTES);
		MUST(cudaMalloc(&b->at[DEVICE], b->bytes + GUARD_BYTES));
	}
	if (t->place)
		t->place(t);
	run_on_device(t, test, true);
	for (int i = 0; i < t->count; i++)
		if (!same_buffer(&t->buffers[i], why, size, greatest))
			return false;
	return same_again(t, test, why, size);
}

enum { RUNS = 20 };

struct call {
	cudaError_t (*make)(const void *argument);
	const void *argument;
	cudaStream_t stream;
	cudaGraphExec_t graph; /* of RUNS calls; NULL: they cannot be recorded */
};

static cudaError_t make_calls(const struct call *call)
{
	cudaError_t status = cudaSuccess;

	for (int i = 0; i < RUNS && status == cudaSuccess; i++)
		status = call->make(call->argument);
	return status;
}

/* Calls are recorded as steps record them: a launch of each takes longer than a small kernel. */
static void record_calls(struct call *call)
{
	cudaGraph_t graph = NULL;
	bool good;

	if (cudaStreamBeginCapture(call->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
		good = make_calls(call) == cudaSuccess;
		good = cudaStreamEndCapture(call->stream, &graph) == cudaSuccess && good;
		if (!good || cudaGraphInstantiate(&call->graph, graph, 0) != cudaSuccess)
			call->graph = NULL;
		if (graph)
			cudaGraphDestroy(graph);
	}
	cudaGetLastError();
}

static cudaError_t run_calls(const struct call *call)
{
	return call->graph ? cudaGraphLaunch(call->graph, call->stream) : make_calls(call);
}

/* Microseconds of a call, the mean of RUNS calls after some that are not counted. */
static double time_of(struct call *call)
{
	cudaEvent_t begin, end;
	float milliseconds;

	MUST(cudaEventCreate(&begin));
	MUST(cudaEventCreate(&end));
	MUST(call->make(call->argument));
	record_calls(call);
	MUST(run_calls(call));
	MUST(cudaEventRecord(begin, call->stream));
	MUST(run_calls(call));
	MUST(cudaEventRecord(end, call->stream));
	MUST(cudaEventSynchronize(end));
	MUST(cudaEventElapsedTime(&milliseconds, begin, end));
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	if (call->graph)
		cudaGraphExecDestroy(call->graph);
	return (double)milliseconds * 1000 / RUNS;
}

struct timed {
	struct trial *trial;
	const struct kernel_test *test;
};

static cudaError_t run_timed(const void *argument)
{
	const struct timed *timed = argument;

	return timed->test->run(timed->trial, DEVICE);
}

double trial_time(struct trial *t, const struct kernel_test *test)
{
	const struct timed timed = {t, test};
	struct call call = {run_timed, &timed, t->stream, NULL};

	return time_of(&call);
}

struct copy {
	void *memory;
	size_t bytes;
	cudaStream_t stream;
};

static cudaError_t run_copy(const void *argument)
{
	const struct copy *copy = argument;

	return cudaMemcpyAsync((char *)copy->memory + copy->bytes, copy->memory, copy->bytes,
			       cudaMemcpyDeviceToDevice, copy->stream);
}

double trial_copy_time(const struct trial *t)
{
	struct copy copy = {NULL, (size_t)(t->moved / 2 / 256 + 1) * 256, t->stream};
	struct call call = {run_copy, &copy, t->stream, NULL};
	double time;

	MUST(cudaMalloc(&copy.memory, 2 * copy.bytes));
	time = time_of(&call);
	MUST(cudaFree(copy.memory));
	return time;
}

void trial_free(struct trial *t)
{
	for (int i = 0; i < t->count; i++) {
		free(t->buffers[i].at[HOST]);
		free(t->buffers[i].before);
		free(t->buffers[i].first);
		MUST(cudaFree(t->buffers[i].at[DEVICE]));
	}
	MUST(cudaStreamDestroy(t->stream));
	t->count = 0;
}

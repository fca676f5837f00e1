/* SPDX-License-Identifier: MIT */
/* The lines that report the beginning of a run. */
#include <stdio.h>
#include <string.h>

#include "backend/names.h"
#include "report/format.h"
#include "run/run.h"

static int64_t divided(int64_t count, int64_t parts)
{
	return (count + parts - 1) / parts;
}

/* Rule G6: dp's replicas have chunks of a pass, the last ones maybe less. */
static void report_batch(const struct run *r)
{
	const struct training *t = r->training;
	bool stages = r->settings->mode == MODE_MP, replicas = r->settings->mode == MODE_DP;
	int64_t passes = r->settings->accumulate, pass = divided(t->rank_batch, passes);
	int64_t parts = stages     ? r->settings->micro_batches
			: replicas ? t->place.count
				   : t->sampler_ranks;
	int64_t each = stages || replicas ? divided(pass, parts) : pass;
	const char *part = stages ? "micro-batch" : "device";

	printf("Global batch %lld: %s%lld sample%s per %s x %lld %s%s x %lld pass%s\n",
	       (long long)t->global_batch,
	       each * parts * passes == t->global_batch ? "" : "at most ", (long long)each,
	       each == 1 ? "" : "s", part, (long long)parts, part,
	       parts == 1 ? ""
	       : stages   ? "es"
			  : "s",
	       (long long)passes, passes == 1 ? "" : "es");
}

/* The samples that --tail pad adds, so that all ranks have the same number. */
static void report_repeated(const struct run *r)
{
	enum { NAMED = 8 };
	int64_t repeats = sampler_repeats(&r->sampler);

	if (repeats == 0)
		return;
	printf("%lld sample%s at the end of each epoch (--tail pad), in epoch %lld:",
	       (long long)repeats, repeats == 1 ? " comes again" : "s come again",
	       (long long)r->epoch + 1);
	for (int64_t i = 0; i < repeats && i < NAMED; i++)
		printf("%s %lld", i ? "," : "", (long long)sampler_repeated(&r->sampler, i));
	if (repeats > NAMED)
		printf(" and %lld more", (long long)(repeats - NAMED));
	putchar('\n');
}

/* Also reports why no GPU is used, unless that was requested. */
static void report_backend(const struct run *r, int devices)
{
	const char *name = r->training->backend->name, *why = "";

	if (!backend_simulates(name)) {
		printf("Backend: %s\n", name);
		return;
	}
	if (strcmp(r->settings->backend, "auto") == 0)
		why = backend_exists("cuda") ? "; --backend cuda computes on GPUs"
					     : "; this build has no CUDA";
	printf("Backend: %s, the CPU simulates the device%s%s\n", name, devices == 1 ? "" : "s",
	       why);
}

static void report_training(const struct run *r)
{
	const struct training *t = r->training;
	const char *data = r->settings->data, *s = t->train.samples == 1 ? "" : "s";

	printf("%s: %s on %lld ", r->settings->burn_ms ? "Burn test" : "Training",
	       r->settings->model, (long long)t->train.samples);
	if (strcmp(data, "synthetic") == 0)
		printf("generated image%s", s);
	else
		printf("image%s of %s", s, data);
	if (r->settings->burn_ms) {
		char time[NUMBER_TEXT];

		printf(", for %s\n", number_time(time, (double)r->settings->burn_ms * 1e-3));
		return;
	}
	printf(": %lld step%s, %lld per epoch\n", (long long)r->steps, r->steps == 1 ? "" : "s",
	       (long long)r->sampler.steps);
	if (!r->settings->checkpoint)
		puts("Checkpoints: none; --checkpoint DIR saves the training run");
}

static void report_begun(const struct run *r)
{
	if (r->begun_with)
		printf("Resumed from %s: continues with step %lld of %lld, in epoch %lld of %lld\n",
		       r->begun_with, (long long)r->step + 1, (long long)r->steps,
		       (long long)r->epoch + 1, (long long)divided(r->steps, r->sampler.steps));
	else if (r->settings->weights)
		printf("Begins with the weights of %s\n", r->settings->weights);
}

/* The samples that --tail drop and --drop-last leave out. */
static void report_left_out(const struct run *r)
{
	const struct sampler *sampler = &r->sampler;
	int64_t less = sampler_left_out(sampler);
	bool by_tail = sampler->total < sampler->options.samples;
	bool by_batch = sampler->options.samples - less < sampler->total;

	if (less > 0)
		printf("%lld sample%s left out of each epoch (%s%s%s)\n", (long long)less,
		       less == 1 ? " is" : "s are", by_tail ? "--tail drop" : "",
		       by_tail && by_batch ? ", " : "", by_batch ? "--drop-last" : "");
}

void run_report_beginning(const struct run *r, int devices)
{
	report_backend(r, devices);
	report_training(r);
	report_batch(r);
	report_repeated(r);
	report_left_out(r);
	report_begun(r);
}

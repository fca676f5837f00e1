/* SPDX-License-Identifier: MIT */
/* See metrics.h. */
#include "report/metrics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report/metrics_lines.h"
#include "report/plot.h"
#include "report/progress.h"
#include "report/atomic_stream.h"

enum { NOTE = 512 };

struct metrics {
	struct progress progress;
	struct lines *lines; /* NULL: no file */
	struct plot *plot;   /* NULL: no picture */
	char *picture, *title;
};

/* Fails now and not after hours if the picture cannot be written. */
static bool open_plot(struct metrics *metrics, const struct metrics_options *options,
		      struct train_error *error)
{
	struct atomic_stream attempt;

	metrics->plot = xcalloc(1, sizeof(*metrics->plot));
	metrics->picture = xstrdup(options->plot);
	metrics->title = xstrdup(options->title ? options->title : "");
	if (!atomic_stream_open(&attempt, metrics->picture, error))
		return false;
	atomic_stream_drop(&attempt);
	return true;
}

static void release(struct metrics *metrics)
{
	free(metrics->plot);
	free(metrics->picture);
	free(metrics->title);
	free(metrics);
}

bool metrics_open(struct metrics **ret, const struct metrics_options *options,
		  struct train_error *error)
{
	struct metrics *metrics = xcalloc(1, sizeof(*metrics));
	int64_t keep = options->keep > 0 ? options->keep : 0;
	bool good;

	progress_open(&metrics->progress, options);
	good = !options->plot || open_plot(metrics, options, error);
	if (good && options->file)
		good = lines_open(&metrics->lines, options->file, keep, metrics->plot, error);
	if (good) {
		*ret = metrics;
		return true;
	}
	progress_close(&metrics->progress);
	release(metrics);
	return false;
}

bool metrics_step(struct metrics *metrics, const struct step_metrics *step,
		  struct train_error *error)
{
	plot_step(metrics->plot, step);
	progress_step(&metrics->progress, step);
	return !metrics->lines || lines_step(metrics->lines, step, error);
}

bool metrics_evaluation(struct metrics *metrics, const struct evaluation_metrics *evaluation,
			struct train_error *error)
{
	plot_evaluation(metrics->plot, evaluation);
	progress_evaluation(&metrics->progress, evaluation);
	return !metrics->lines || lines_evaluation(metrics->lines, evaluation, error);
}

void metrics_note(struct metrics *metrics, const char *format, ...)
{
	char text[NOTE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	progress_note(&metrics->progress, text);
}

void metrics_end(struct metrics *metrics)
{
	if (metrics)
		progress_end(&metrics->progress);
}

bool metrics_position(struct metrics *metrics, int64_t *bytes, struct train_error *error)
{
	*bytes = 0;
	return !metrics->lines || lines_position(metrics->lines, bytes, error);
}

bool metrics_close(struct metrics *metrics, struct train_error *error)
{
	bool good;

	if (!metrics)
		return true;
	progress_close(&metrics->progress);
	good = lines_close(metrics->lines, error);
	if (metrics->plot && !plot_svg(metrics->plot, metrics->picture, metrics->title, error))
		good = false;
	release(metrics);
	return good;
}

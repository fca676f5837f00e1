/* SPDX-License-Identifier: MIT */
/* Lines of earlier parts of a run, for the picture of all of it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "report/atomic_stream.h"
#include "report/metrics_lines.h"

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool add_line(const json_t *object, struct plot *plot)
{
	const char *type = json_string_value(json_object_get(object, "type"));
	const json_t *step = json_object_get(object, "step");
	const json_t *epoch = json_object_get(object, "epoch");
	double loss = number(object, "loss"), accuracy = number(object, "accuracy");

	if (!type || !json_is_integer(step) || json_integer_value(step) < 0 ||
	    !json_is_integer(epoch))
		return false;
	if (strcmp(type, "step") == 0)
		plot_step(plot, &(struct step_metrics){.step = json_integer_value(step),
						       .loss = loss,
						       .accuracy = accuracy});
	else if (strcmp(type, "evaluation") == 0)
		plot_evaluation(plot, &(struct evaluation_metrics){.step = json_integer_value(step),
								   .loss = loss,
								   .accuracy = accuracy});
	return true; /* lines of later versions are skipped */
}

static bool read_all(FILE *file, const char *name, int64_t keep, struct plot *plot,
		     struct train_error *error)
{
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;
	int64_t at = 0, count = 0;
	ssize_t length;

	while (at < keep && (length = getline(&line, &room, file)) > 0) {
		json_error_t why;
		json_auto_t *object = json_loadb(line, (size_t)length, 0, &why);

		at += length;
		count++;
		if (!object && json_error_code(&why) == json_error_out_of_memory)
			memory_ran_out();
		if (!add_line(object, plot))
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%s:%" PRId64
					  ": not a line of metrics, so the file cannot be "
					  "continued; name the file of the run that is resumed, "
					  "or none",
					  name, count);
	}
	return at >= keep ||
	       train_fail(error, TRAIN_FAILED, "%s: cannot read: %s; name another file", name,
			  ferror(file) ? strerror(errno) : "it ends too early");
}

bool lines_read(int fd, const char *name, int64_t keep, struct plot *plot,
		struct train_error *error)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;
	bool good;

	if (!file) {
		output_failed(name, "read", error);
		if (copy >= 0)
			close(copy);
		return false;
	}
	good = read_all(file, name, keep, plot, error);
	fclose(file);
	return good;
}

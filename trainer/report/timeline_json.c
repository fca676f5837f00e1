/* SPDX-License-Identifier: MIT */
/* "Trace Event Format", its JSON object form, by its public description: complete events ("X") and
 * metadata ("M"). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "report/atomic_stream.h"
#include "report/format.h"
#include "report/timeline_rows.h"
#include "text.h"

static void put_string(FILE *out, const char name[TIMELINE_NAME])
{
	char text[TIMELINE_NAME + 1];

	snprintf(text, sizeof(text), "%.*s", TIMELINE_NAME, name);
	fputc('"', out);
	for (size_t i = 0, n, length = strlen(text); i < length; i += n) {
		bool shown;

		n = utf8_next(text + i, length - i, &shown);
		if (shown && (text[i] == '"' || text[i] == '\\'))
			fputc('\\', out);
		fwrite(shown ? text + i : "?", 1, shown ? n : 1, out);
	}
	fputc('"', out);
}

/* Microseconds with all digits of the nanoseconds. */
static void put_time(FILE *out, const char *key, int64_t ns)
{
	fprintf(out, "%s%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void put_name(FILE *out, const struct timeline_row *row, const char *who, bool process)
{
	fprintf(out, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"",
		process ? "process_name" : "thread_name", row->rank, row->lane);
	if (process)
		fprintf(out, "%s %d, GPU %d\"}}", who, row->rank, row->device);
	else
		fprintf(out, "%s\"}}", timeline_lane_name(row->lane));
}

static void put_all(FILE *out, const struct timeline_rows *rows, const char *who)
{
	const char *before = "\n";

	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
	for (int i = 0; i < rows->rows_count; i++) {
		const struct timeline_row *row = &rows->rows[i];

		for (int process = 0; process < 2; process++) {
			if (process && i && row->rank == row[-1].rank)
				continue;
			fputs(before, out);
			put_name(out, row, who, process);
			before = ",\n";
		}
	}
	for (int i = 0; i < rows->count; i++) {
		const struct timeline_interval *at = rows->order[i];

		fprintf(out, "%s{\"name\":", before);
		before = ",\n";
		put_string(out, at->name);
		fprintf(out, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d",
			timeline_lane_name(at->lane), at->rank, at->lane);
		put_time(out, ",\"ts\":", at->begin_ns - rows->begin_ns);
		put_time(out, ",\"dur\":", timeline_duration(at));
		fprintf(out, ",\"args\":{\"step\":%d}}", at->step);
	}
	fputs("\n]}\n", out);
}

bool timeline_json(const char *file, const struct timeline_interval *intervals, int count,
		   const char *who, struct train_error *error)
{
	CLEANUP(timeline_rows_free) struct timeline_rows rows;
	struct atomic_stream stream;

	timeline_rows_make(&rows, intervals, count);
	if (!atomic_stream_open(&stream, file, error))
		return false;
	put_all(stream.stream, &rows, who);
	return atomic_stream_close(&stream, error);
}

/* SPDX-License-Identifier: MIT */
#include "driver-record.h"

#include <stdlib.h>
#include <string.h>

#include "visible/visible.h"

enum { SHOWN = 20, NO_DEVICE = 100 };

static void print_gpus(FILE *file, const int *gpus, int count)
{
	if (!count)
		fputs("none", file);
	for (int i = 0; i < count; i++)
		fprintf(file, "%s%d", i ? "," : "", gpus[i]);
}

static void print_value(FILE *file, const char *value)
{
	if (!value) {
		fputs("<unset>", file);
		return;
	}
	fputc('"', file);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(file, "\\x%02x", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

/* The answer of the dialect. */
static void predict(const struct run *run, const char *value, struct answer *want, int *unsure)
{
	const char *uuids[MAX_GPUS];
	struct visible_view view = {
		.count = run->gpu_count, .uuids = uuids, .uuid_count = (size_t)run->gpu_count};
	struct visible_list list;

	*want = (struct answer){.count = run->gpu_count};
	*unsure = 0;
	for (int i = 0; i < run->gpu_count; i++) {
		uuids[i] = run->uuids[i];
		want->gpus[i] = i;
	}
	if (!value)
		return;
	if (visible_parse(&list, DIALECT_DRIVER, span_of(value), &view) != 0) {
		fprintf(stderr, "driver-visible: the dialect failed\n");
		exit(99);
	}
	*unsure = list.notes.unsure != 0;
	want->count = (int)list.count;
	for (int i = 0; i < want->count; i++)
		want->gpus[i] = list.entries[i].ordinal >= 0 ? list.entries[i].ordinal
							     : list.entries[i].gpu;
	visible_list_free(&list);
}

static const char *judge(struct run *run, size_t i, struct answer *want)
{
	const struct answer *got = &run->answers[i];
	int unsure;

	predict(run, run->values.texts[i], want, &unsure);
	if (got->code != 0 && got->code != NO_DEVICE) {
		run->unanswered++;
		return "no answer";
	}
	run->unsure += unsure != 0;
	if (got->count == want->count &&
	    memcmp(got->gpus, want->gpus, (size_t)got->count * sizeof(*got->gpus)) == 0)
		return unsure ? "agree, was unsure" : "agree";
	if (run->differing++ < SHOWN) {
		printf("# differs: ");
		print_value(stdout, run->values.texts[i]);
		printf(": the driver has ");
		print_gpus(stdout, got->gpus, got->count);
		printf(", the dialect ");
		print_gpus(stdout, want->gpus, want->count);
		printf("%s\n", unsure ? " (unsure)" : "");
	}
	return unsure ? "differ, was unsure" : "differ";
}

void write_head(const struct run *run, const struct options *options)
{
	const char *order = getenv("CUDA_DEVICE_ORDER");
	char line[256];
	FILE *file = fopen("/proc/driver/nvidia/version", "r");

	fprintf(run->record, "# CUDA_VISIBLE_DEVICES, asked of the driver; value, driver, code of "
			     "cuInit, dialect, verdict\n");
	fprintf(run->record, "# cuda\t%d.%d\n", run->version / 1000, run->version % 1000 / 10);
	if (file && fgets(line, sizeof(line), file))
		fprintf(run->record, "# driver\t%s", line);
	if (file)
		fclose(file);
	fprintf(run->record, "# CUDA_DEVICE_ORDER\t%s\n", order ? order : "<unset>");
	fprintf(run->record, "# values\t%zu, seed %llu\n", run->values.count, options->seed);
	for (int i = 0; i < run->gpu_count; i++)
		fprintf(run->record, "# gpu %d\t%s\n", i, run->lines[i]);
}

void write_record(struct run *run, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct answer want;
		const char *verdict = judge(run, i, &want);

		print_value(run->record, run->values.texts[i]);
		fputc('\t', run->record);
		print_gpus(run->record, run->answers[i].gpus, run->answers[i].count);
		fprintf(run->record, "\t%d\t", run->answers[i].code);
		print_gpus(run->record, want.gpus, want.count);
		fprintf(run->record, "\t%s\n", verdict);
	}
}

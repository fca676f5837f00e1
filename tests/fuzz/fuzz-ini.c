/* SPDX-License-Identifier: MIT */
/* The INI reader: what it hands over lies in the text and can be written and read again. */
#include "strbuf.h"
#include "text/inifile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	struct span text;
	int line;
};

static void check_inside(const struct fuzz *fuzz, struct span s)
{
	if (s.text < fuzz->text.text || s.text + s.length > fuzz->text.text + fuzz->text.length)
		abort();
}

static int section(void *data, struct span name, int line)
{
	struct fuzz *fuzz = data;

	check_inside(fuzz, name);
	if (!name.length || line <= fuzz->line)
		abort();
	fuzz->line = line;
	return name.length % 7 == 3 ? GPUMAP_EINPUT : GPUMAP_OK;
}

/* A text that is encoded and decoded is the same text. */
static void check_round_trip(const char *text, size_t length)
{
	struct strbuf written = {0}, read = {0};
	const char *wrong, *why;

	inifile_encode(&written, (struct span){text, length});
	if (inifile_value_length((struct span){written.text, written.length}, ' ', &wrong, &why) !=
		    written.length ||
	    wrong)
		abort();
	inifile_decode(&read, (struct span){written.text, written.length});
	if (read.length != length || (length && memcmp(read.text, text, length) != 0))
		abort();
	strbuf_free(&written);
	strbuf_free(&read);
}

static int entry(void *data, const struct inifile_entry *e)
{
	static const char *const names[] = {"a", "name", "cuda_fastest", NULL};
	struct fuzz *fuzz = data;
	struct strbuf decoded = {0};
	struct span rest = e->value, item;
	int lines[3] = {0};

	check_inside(fuzz, e->section);
	check_inside(fuzz, e->key);
	check_inside(fuzz, e->value);
	if (e->line <= fuzz->line || e->column < 1 || e->key_column < 1 || !e->key.length ||
	    e->value.length > INIFILE_MAX_WRITTEN)
		abort();
	fuzz->line = e->line;
	inifile_key(e, names, lines, "fuzz", NULL);
	inifile_decode(&decoded, e->value);
	if (decoded.length > e->value.length ||
	    (decoded.length && memchr(decoded.text, '\0', decoded.length)))
		abort();
	if (decoded.length)
		check_round_trip(decoded.text, decoded.length);
	strbuf_free(&decoded);
	while (inifile_item(&rest, &item))
		check_inside(fuzz, item);
	return e->value.length % 11 == 7 ? GPUMAP_EINPUT : GPUMAP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct inifile_handler handler = {section, entry};
	struct fuzz fuzz = {.text = {(const char *)data, size}};
	gpumap_report *report;
	int r;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	r = inifile_read(fuzz.text, "fuzz", &handler, &fuzz, report);
	if (r != GPUMAP_OK && r != GPUMAP_EINPUT)
		abort();
	if (gpumap_report_count(report) > INIFILE_MAX_ERRORS + 1)
		abort();
	gpumap_report_free(report);
	return 0;
}

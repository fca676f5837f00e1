/* SPDX-License-Identifier: MIT */
/* See site_settings.h. */
#include "lease/site_settings.h"

#include <errno.h>

#include "closing.h"
#include "lease/claim.h"
#include "memory.h"
#include "readfile.h"
#include "strbuf.h"
#include "trust.h"

enum { FIRST = PKEY_LEASES_gpus_per_user };

/* --- an entry ----------------------------------------------------------------------------- */

static void set_number(struct lease_settings *settings, enum profile_key_id key, int64_t number)
{
	if (number <= 0)
		return;
	if (key == PKEY_LEASES_gpus_per_user)
		settings->gpus_per_user = (size_t)number;
	else if (key == PKEY_LEASES_slots)
		settings->slots = (size_t)number;
	else
		settings->longest_ms = number;
}

static int set(struct lease_settings *settings, enum profile_key_id key, const char *value,
	       const struct about *about, gpumap_report *report)
{
	struct key_value read;
	int r = profile_value_read(&read, profile_key(key), span_of(value), about, report);

	if (r == GPUMAP_OK)
		set_number(settings, key, read.number);
	return r;
}

int lease_settings_entry(struct lease_settings *settings, const struct inifile_entry *entry,
			 const char *origin, gpumap_report *report)
{
	const char *names[LEASE_SETTING_COUNT + 1] = {0};
	struct about about = {.origin = origin, .line = entry->line, .column = entry->column};
	CLEANUP_FREE char *value = NULL;
	struct strbuf decoded = {0};
	int n;

	for (int i = 0; i < LEASE_SETTING_COUNT; i++)
		names[i] = profile_key((enum profile_key_id)(FIRST + i))->key.name;
	n = inifile_key(entry, names, settings->lines, origin, report);
	if (n < 0)
		return n == INIFILE_SITE_KEY ? GPUMAP_OK : GPUMAP_EINPUT;
	inifile_decode(&decoded, entry->value);
	value = strbuf_take(&decoded);
	if (!value)
		return report_nomem(report);
	if (strlen(value) != entry->value.length)
		about.column = 0; /* quotes were removed, so a place inside would be wrong */
	return set(settings, (enum profile_key_id)(FIRST + n), value, &about, report);
}

/* --- the file ----------------------------------------------------------------------------- */

struct reader {
	struct lease_settings *settings;
	gpumap_report *report;
	bool inside, found; /* in [leases]; it was there */
};

static int begin_section(void *data, struct span name, int line)
{
	struct reader *r = data;

	r->inside = span_is(name, "leases");
	if (r->inside && r->found)
		return report_fail(r->report, GPUMAP_EINPUT, FINDING_SYNTAX,
				   ABOUT(.origin = r->settings->file, .line = line, .column = 1,
					 .fix = "keep one of the two"),
				   "a second [leases]");
	r->found = r->found || r->inside;
	return GPUMAP_OK;
}

/* The other sections are those of profiles. */
static int read_entry(void *data, const struct inifile_entry *entry)
{
	struct reader *r = data;

	return r->inside ? lease_settings_entry(r->settings, entry, r->settings->file, r->report)
			 : GPUMAP_OK;
}

/* *why: the reason why it has no effect; NULL also if there is no file, and *text is unchanged. */
static int read_trusted(char **text, size_t *size, const char *path, const char **why)
{
	CLEANUP_CLOSE int fd = open_trusted(path, why);
	int error = fd < 0 ? 0 : read_all(fd, GPUMAP_MAX_PROFILE, text, size);

	if (error)
		*why = strerror(error);
	return error == ENOMEM ? GPUMAP_ENOMEM : GPUMAP_OK;
}

int lease_settings_read(struct lease_settings *ret, const gpumap_claim *claim,
			gpumap_report *report)
{
	static const struct inifile_handler handler = {begin_section, read_entry};
	const char *path = claim->settings ? claim->settings : SYSTEM_FILE, *why;
	CLEANUP_FREE char *text = NULL;
	struct reader reader = {.settings = ret, .report = report};
	size_t size = 0;

	*ret = (struct lease_settings){0};
	if (!*path)
		return GPUMAP_OK;
	if (read_trusted(&text, &size, path, &why) != GPUMAP_OK)
		return report_nomem(report);
	if (why)
		report_add(report, FINDING_LEASE_SETTINGS,
			   ABOUT(.origin = path, .fix = "make it a file of root with mode 0644"),
			   "its [leases] has no effect: %s", why);
	if (why || !text)
		return GPUMAP_OK;
	ret->file = xstrdup(path);
	if (!ret->file)
		return report_nomem(report);
	return inifile_read((struct span){text, size}, path, &handler, &reader, report);
}

void lease_settings_free(struct lease_settings *settings)
{
	free(settings->file);
	*settings = (struct lease_settings){0};
}

const char *lease_setting_place(struct quoted *ret, const struct lease_settings *settings,
				enum profile_key_id key)
{
	return format_text(ret, "%.255s:%d", settings->file ? settings->file : "",
			   settings->lines[key - FIRST]);
}

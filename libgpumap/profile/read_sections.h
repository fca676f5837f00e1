/* SPDX-License-Identifier: MIT */
/* Shared by the readers of profile files: sections (read.c), entries (entry.c), includes. */
#ifndef GM_PROFILE_READ_H
#define GM_PROFILE_READ_H

#include "lease/site_settings.h"
#include "profile/profile.h"
#include "text/inifile.h"

enum { MAX_KEYS = PKEY_COUNT + 1 };

/* State that all files share. */
struct load {
	gpumap_profile *profile;
	profile_source *source;
	void *data;
	gpumap_report *report;
	const char *read[MAX_FILES]; /* all files read so far */
	size_t read_count;
	bool incomplete; /* a section was refused: names may be missing */
};

struct file {
	struct load *load;
	struct file *outer; /* the file that includes this one */
	const char *path;
	struct about at; /* the section's line, or the value of the entry that is read */
	int key_column;  /* of that entry */
	size_t section;  /* in the profile; NONE: [gpumap], [leases], or a section for sites */
	enum profile_section kind; /* [gpumap] or [leases]; SECTION_COUNT: another one */
	bool has_head, has_leases, newer;
	int lines[MAX_KEYS];          /* lines of the section's known keys so far */
	struct lease_settings leases; /* checked, and not used */
};

/* Fails at what is read, or at its key. */
#define FAIL_AT(f, at_column, id, remedy, ...) \
	report_fail((f)->load->report, GPUMAP_EINPUT, id, \
		    ABOUT(.origin = (f)->path, .line = (f)->at.line, .column = (at_column), \
			  .fix = (remedy)), \
		    __VA_ARGS__)
#define FAIL(f, ...) FAIL_AT(f, (f)->at.column, __VA_ARGS__)
#define FAIL_KEY(f, ...) FAIL_AT(f, (f)->key_column, __VA_ARGS__)

/* Reads a file's text; `outer` NULL: the first one. */
int profile_read_text(struct load *load, const char *path, struct span text, struct file *outer);

/* Reads an entry of [gpumap], and one of any other section. */
int profile_read_head(struct file *f, const struct inifile_entry *entry);
int profile_read_entry(struct file *f, const struct inifile_entry *entry);

/* Why a variable cannot be in [env] or [unset]: what to do instead, as gpumap sets it. NULL: it
 * can. */
const char *env_section_refuses(struct span name);

/* Reads the files that `include` names. */
int profile_include(struct file *f, const struct inifile_entry *entry);

#endif

/* SPDX-License-Identifier: MIT */
/* What the administrator sets for the leases of all users: [leases] in SYSTEM_FILE. */
#ifndef GM_SITE_SETTINGS_H
#define GM_SITE_SETTINGS_H

#include "request/profile_keys.h"
#include "text/inifile.h"

enum { LEASE_SETTING_COUNT = PKEY_COUNT - PKEY_LEASES_gpus_per_user };

struct lease_settings {
	size_t gpus_per_user;               /* 0: no limit */
	int64_t longest_ms;                 /* 0: no limit */
	size_t slots;                       /* of jobs that do not set them; 0: not set */
	char *file;                         /* NULL: there is none */
	int lines[LEASE_SETTING_COUNT + 1]; /* of the keys, in their order; 0: not set */
};

/* Reads an entry of [leases] in the file `origin`. The settings begin as {0}. GPUMAP_EINPUT,
 * GPUMAP_ENOMEM, after their error. */
int lease_settings_entry(struct lease_settings *settings, const struct inifile_entry *entry,
			 const char *origin, gpumap_report *report);

/* Reads the file that the claim names, by default SYSTEM_FILE. A file that is not trusted, or
 * cannot be read, has no effect, and a warning says so. Free the settings with
 * lease_settings_free(), also after a failure. GPUMAP_EINPUT: its [leases] is malformed.
 * GPUMAP_ENOMEM. */
int lease_settings_read(struct lease_settings *ret, const gpumap_claim *claim,
			gpumap_report *report);
void lease_settings_free(struct lease_settings *settings);

/* The line that has the key: "/etc/gpumap/gpumap.ini:4". */
const char *lease_setting_place(struct quoted *ret, const struct lease_settings *settings,
				enum profile_key_id key);
#define SETTING_PLACE(settings, key) lease_setting_place(&(struct quoted){{0}}, settings, key)

#endif

/* SPDX-License-Identifier: MIT */
/* The files that a run writes; checks that none overwrites another. */
#ifndef TRAIN_SETTINGS_OUTPUT_FILES_H
#define TRAIN_SETTINGS_OUTPUT_FILES_H

#include "settings/arguments_raw.h"

/* False, with bad input that names both options, if two of --metrics, --plot and --profile-to write
 * one file, or if one of them writes the file of --weights. Files are compared by name, and
 * existing ones by their identity, through any link. A file that is not regular, such as /dev/null,
 * may be named twice. Creates nothing. */
bool targets_differ(const struct arguments_raw *raw, const struct settings *settings,
		    struct train_error *error);

#endif

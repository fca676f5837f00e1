/* SPDX-License-Identifier: MIT */
/* Which files a run writes, and that none of them is lost to another. */
#ifndef TRAIN_SETTINGS_TARGETS_H
#define TRAIN_SETTINGS_TARGETS_H

#include "settings/arguments_raw.h"

/* False, with bad input that names both options, where two of --metrics, --plot and --profile-to
 * write one file, or one of them writes that of --weights: by its name, or where it exists by
 * whatever link. What is no regular file, /dev/null, may be named twice. Nothing is created. */
bool targets_differ(const struct arguments_raw *raw, const struct settings *settings,
		    struct train_error *error);

#endif

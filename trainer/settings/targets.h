/* SPDX-License-Identifier: MIT */
/* The files that a run writes; checks that none overwrites another. */
#ifndef TRAIN_SETTINGS_TARGETS_H
#define TRAIN_SETTINGS_TARGETS_H

#include "settings/arguments_raw.h"

/* False, with bad input that names both options, where two of --metrics, --plot and --profile-to
 * write one file, or one of them writes that of --weights: by its name, or where it exists by
 * whatever link. A file that is not regular, such as /dev/null, may be named twice. Creates
 * nothing. */
bool targets_differ(const struct arguments_raw *raw, const struct settings *settings,
		    struct train_error *error);

#endif

/* SPDX-License-Identifier: MIT */
/* Which files a run writes, and that none of them is lost to another. */
#ifndef TRAIN_RUN_TARGETS_H
#define TRAIN_RUN_TARGETS_H

#include "run/told.h"

/* False, with bad input that names both options, where two of --metrics, --plot and --profile-to
 * write one file, or one of them writes that of --weights: by its name, or where it exists by
 * whatever link. What is no regular file, /dev/null, may be named twice. Nothing is created. */
bool targets_differ(const struct told *told, const struct settings *settings,
		    struct train_error *error);

#endif

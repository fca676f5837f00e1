/* SPDX-License-Identifier: MIT */
/* What follows from the settings together: defaults, and what has no effect or excludes the rest.
 */
#ifndef TRAIN_SETTINGS_SETTLE_H
#define TRAIN_SETTINGS_SETTLE_H

#include "settings/arguments_raw.h"

/* Makes the settings of what was given. An option without effect is bad input; a key is left out.
 */
bool settings_settle(const struct arguments_raw *raw, struct settings *ret,
		     struct train_error *error);

/* --- settle_burn.c ----------------------------------------------------------------------- */

/* The model of --burn, if none is named. */
extern const char settings_burned_model[];
/* The same for --burn alone. */
bool settings_settle_burn(const struct arguments_raw *raw, struct settings *s,
			  struct train_error *error);

#endif

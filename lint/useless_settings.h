/* SPDX-License-Identifier: MIT */
/* Settings of a launch profile that cannot work together, or do nothing. */
#ifndef GM_USELESS_SETTINGS_H
#define GM_USELESS_SETTINGS_H

#include "gpumap.h"

/* Reports such settings of the chosen profile, whose variables must be known. It reports nothing
 * that needs a plan. */
void lint_settings(const gpumap_profile *profile, gpumap_report *report);

#endif

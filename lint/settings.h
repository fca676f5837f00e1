/* SPDX-License-Identifier: MIT */
/* Settings of a launch profile that cannot work together, or do nothing. */
#ifndef GM_LINT_SETTINGS_H
#define GM_LINT_SETTINGS_H

#include "gpumap.h"

/* Reports on the chosen profile, whose variables must be known. Findings that need a plan are made
 * elsewhere. */
void lint_settings(const gpumap_profile *profile, gpumap_report *report);

#endif

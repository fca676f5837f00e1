/* SPDX-License-Identifier: MIT */
#ifndef GM_WRITEFILE_H
#define GM_WRITEFILE_H

#include "report/report.h"
#include "text.h"

/* Writes a whole file; "-" is standard output. The file appears complete or not at all; until then
 * an old file of that name stays. Never writes through a symbolic link, and replaces only regular
 * files. `what` names it in messages. GPUMAP_EFILE, GPUMAP_ENOMEM. */
int write_file(const char *path, struct span text, const char *what, gpumap_report *report);
/* The same for an executable file. */
int write_script(const char *path, struct span text, const char *what, gpumap_report *report);

#endif

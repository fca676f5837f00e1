/* SPDX-License-Identifier: MIT */
/* Numbers with a unit, as people write them: memory and time. */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include "text.h"

/* "500M", "2G", "2GB" or "2GiB", which are the same, or bytes; -1: anything else. */
int64_t span_bytes(struct span s);

/* "1500ms", "30s", "2m", "1h", or seconds, in milliseconds; -1: anything else. */
int64_t span_milliseconds(struct span s);

#endif

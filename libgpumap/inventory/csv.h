/* SPDX-License-Identifier: MIT */
/* Between the files that read nvidia-smi's CSV. */
#ifndef GM_CSV_H
#define GM_CSV_H

#include "inventory/recorded.h"

/* Takes the next field off *rest, without blanks and quotes; NO_SPAN at the end. */
struct span csv_field(struct span *rest);

/* Set the columns and return true: from a line of names; from a command line such as
 * "$ nvidia-smi --query-gpu=index,uuid --format=csv,noheader"; or from the shape of a
 * row. There a UUID or an address makes it a row. Of several sizes the largest is the
 * memory; one alone may be the memory in use. */
bool csv_header(struct recorded *r, struct span list);
bool csv_command(struct recorded *r, struct span s);
bool csv_guess(struct recorded *r, struct span row);

bool csv_has(const struct csv_state *csv, enum column column);
bool csv_names_gpus(const struct csv_state *csv);

bool csv_is_uuid(struct span field);
/* "49140 MiB", and without units "49140"; -1 if it is no size. */
int64_t csv_mib(struct span field, bool *unit);

#endif

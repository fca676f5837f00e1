/* SPDX-License-Identifier: MIT */
/* What other launchers' options are called here, and what people take for options. */
#ifndef GM_UNKNOWN_OPTION_H
#define GM_UNKNOWN_OPTION_H

#include <stddef.h>

#include "text.h"

struct foreign {
	const char *name;   /* with - for each _ */
	const char *remedy; /* what to write instead */
};

/* Options of torchrun, torch.distributed.launch, accelerate, deepspeed and mpirun that no
 * command has, ended by a name of NULL. */
extern const struct foreign foreign_options[];

/* What to write instead of an option that explain does not have; NULL: nothing known. */
const char *explain_option(struct span name);

/* The launcher that a program is, "torchrun" for python -m torch.distributed.run too; NULL:
 * none that starts ranks of its own. */
const char *foreign_launcher(const char *const *arguments, size_t count);

#endif

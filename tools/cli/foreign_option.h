/* SPDX-License-Identifier: MIT */
/* Options of other launchers, and others that people expect of gpumap: what to write instead. */
#ifndef GM_FOREIGN_OPTION_H
#define GM_FOREIGN_OPTION_H

#include <stddef.h>

#include "text.h"

/* Where the Python module is. */
#define PYTHON_MODULE \
	"./dev portable in the source builds the wheel of import gpumap; then python3 -m pip " \
	"install _build/portable/libgpumap-*.whl (never pip install gpumap, which is another " \
	"project)"

#define PYTHON_JSON \
	"gpumap --json is for scripts, as in import json, subprocess; answer = " \
	"json.loads(subprocess.run(['gpumap', '--json'], stdout=subprocess.PIPE).stdout); " \
	"print(answer['visible'])"

/* Remedies here are for hint_fill() (hint_line.h). */
struct foreign {
	const char *name; /* with - for each _ */
	const char *fix;  /* what to write instead */
};

/* Options of torchrun, torch.distributed.launch, accelerate, deepspeed and mpirun that no command
 * has, ended by a name of NULL. */
extern const struct foreign foreign_options[];

/* What to write instead of an option that people expect of this one command; NULL: not known. */
const char *guessed_option(const char *command, struct span name);

/* The same for a word that says what is wanted, "reserve" or "--reserve", of any command. */
const char *intended(struct span word);

/* The launcher that a program is, "torchrun" also for python -m torch.distributed.run; NULL: it is
 * not a launcher that starts ranks. */
const char *foreign_launcher(const char *const *arguments, size_t count);

#endif

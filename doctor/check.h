/* SPDX-License-Identifier: MIT */
/* The checks: pure functions over the facts. checks.def lists them. */
#ifndef GM_CHECK_H
#define GM_CHECK_H

#include "facts.h"
#include "report/report.h"

enum outcome {
	OUTCOME_MOOT, /* it is about something that this machine does not have */
	OUTCOME_FINE,
	OUTCOME_UNSEEN, /* what it needs is not visible */
	OUTCOME_WRONG
};

struct verdict {
	struct arena *arena; /* for the texts */
	enum outcome outcome;
	const char *text; /* WRONG: what was seen; UNSEEN: why not */
	const char *fix;  /* WRONG: the remedy */
};

struct check {
	enum finding_id finding;
	const char *title;
	const char *source; /* that it is wrong, and what to do */
	void (*judge)(const struct facts *facts, struct verdict *verdict);
};

/* All checks, the most useful first. */
const struct check *check_get(size_t i);
size_t check_count(void);

void judge(const struct check *check, const struct facts *facts, struct arena *arena,
	   struct verdict *ret);

/* --- for the checks --------------------------------------------------------------------------- */

/* In a remedy: what follows has to be done on the host. In a container judge() makes it say so. */
#define ON_HOST "\3"

void fine(struct verdict *verdict);
/* `why` NULL: it was not looked for, so the check does not apply. */
void unseen(struct verdict *verdict, const char *why, const char *what);
/* Whether the fact is not visible, which is the verdict then. */
bool is_unseen(struct verdict *verdict, const struct fact *fact, const char *what);
void wrong(struct verdict *verdict, const char *fix, const char *format, ...) PRINTF(3, 4);

/* "GPU 0" or "GPUs 0, 2": those that hold, of the GPUs that this process uses. NULL: none. */
typedef bool gpu_holds(const struct gpu *gpu);
const char *gpus_that(const struct facts *facts, struct verdict *verdict, gpu_holds *holds);

/* Finds "GPU 0, 2 TEXT" where a GPU holds. It is fine if a GPU is `known` and none holds, and moot
 * otherwise; without NVML it is not visible. In the remedy a command ": nvidia-smi -i N ...", which
 * ends at ";" or at the end, gets the addresses of the GPUs for N. */
void judge_gpus(const struct facts *facts, struct verdict *verdict, gpu_holds *known,
		gpu_holds *holds, const char *text, const char *fix);

/* Whether the machine has a GPU, as far as anything shows it. */
bool has_gpu(const struct facts *facts);
/* Whether no driver of a GPU is known, because a recorded machine has no links. Then it is not
 * visible. */
bool without_links(const struct facts *facts, struct verdict *verdict);
/* Whether it is of a model for consumers, to which other devices do not write directly. */
bool is_geforce(const struct gpu *gpu);
/* Whether a build for that CUDA needs a newer driver, of a known version. */
bool needs_newer_driver(const struct facts *facts, int64_t cuda);
/* The first environment that has PyTorch; without one, the last. */
const struct python *first_with_torch(const struct facts *facts);
/* Why nothing about the program could be compared with the machine; NULL: something was, or no
 * program is named. A wrapper, such as srun, needs neither such a package nor CUDA. */
const char *program_unchecked(const struct facts *facts, struct arena *arena);
/* "2.5.1" or "of an unknown version" */
const char *version_text(const struct package *package);
/* Whether a libcuda is that of the package cuda-compat. */
bool is_compat(const struct library *library);

#define CHECK(name, function, title, source) \
	void function(const struct facts *facts, struct verdict *verdict);
#include "checks.def"
#undef CHECK

#endif

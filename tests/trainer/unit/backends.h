/* SPDX-License-Identifier: MIT */
/* The backends of this build, for tests that are run with each. */
#ifndef TRAIN_TESTS_BACKENDS_H
#define TRAIN_TESTS_BACKENDS_H

#include "config.h"
#include "backend/backend.h"
#include "unit.h"

static const struct backend *const backends[] = {
	&backend_reference,
#ifdef HAVE_DNNL
	&backend_onednn,
#endif
};

enum { BACKENDS = sizeof(backends) / sizeof(*backends) };

static inline struct device *opened(const struct backend *backend,
				    const struct device_options *options)
{
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = NULL;

	ck_assert_msg(backend->open(&device, options, &error), "%s: %s", backend->name, error.text);
	return device;
}

/* A device with so many threads of its own, on any cores. */
static inline struct device *opened_with(const struct backend *backend, int threads)
{
	const struct device_options options = {.physical = 0, .threads = threads};

	return opened(backend, &options);
}

#endif

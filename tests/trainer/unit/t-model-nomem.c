/* SPDX-License-Identifier: MIT */
/* Each allocation of a model fails in turn: then opening fails and leaves nothing. */
#include <string.h>

#include "config.h"
#include "model/model.h"
#include "unit.h"

static int left; /* allocations that still succeed */
static const struct backend *backend;

static void *allocate(struct device *device, size_t bytes, const char *what,
		      struct train_error *error)
{
	if (left-- > 0)
		return backend->allocate_zeros(device, bytes, what, error);
	train_nomem(error, what);
	return NULL;
}

static void try_all(const char *name)
{
	const struct model_options options = {2, 2, VALUE_FLOAT32, 0, 3};
	const struct device_options where = {.physical = 0, .threads = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct backend ending;
	struct device *device;
	struct model *model = NULL;
	int max = 0;

	backend = backend_find(name, &error);
	ck_assert(backend && backend->open(&device, &where, &error));
	ending = *backend;
	ending.allocate_zeros = allocate;
	device->backend = &ending;
	for (; !model; max++) {
		error.status = TRAIN_OK;
		left = max;
		if (model_open(&model, model_find("net28", &error), device, &options, &error))
			break;
		ck_assert_ptr_null(model);
		ck_assert_uint_eq(device->bytes, 0);
		ck_assert_msg(strncmp(error.text, "out of memory, for ", 19) == 0, "%s",
			      error.text);
	}
	ck_assert_int_eq(max, 4); /* values, gradients, slots, and what they share */
	model_close(model);
	ck_assert_uint_eq(device->bytes, 0);
	backend->close(device);
}

START_TEST(reference_without_memory)
{
	try_all("reference");
}
END_TEST

#ifdef HAVE_DNNL
START_TEST(onednn_without_memory)
{
	try_all("onednn");
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("model-nomem");
	TCase *tests = tcase_create("model-nomem");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, reference_without_memory);
#ifdef HAVE_DNNL
	tcase_add_test(tests, onednn_without_memory);
#endif
	return unit_run(suite);
}

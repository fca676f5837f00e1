/* SPDX-License-Identifier: MIT */
/* If any allocation fails, opening a model fails, leaves nothing allocated and names the memory. */
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

/* Opens a model with ever more allocations. `names` are those of the memory that is allocated. */
static void try_all(const char *with, const char *name, int slots, const char *const *names,
		    int count)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct model_spec *spec = model_find(name, &error);
	const struct model_options options = {2,     slots, VALUE_FLOAT32, 0, spec->count - 1,
					      false, 0};
	const struct device_options where = {.physical = 0, .threads = 1};
	struct backend ending;
	struct device *device;
	struct model *model = NULL;

	backend = backend_find(with, &error);
	ck_assert(backend && backend->open(&device, &where, &error));
	ending = *backend;
	ending.allocate_zeros = allocate;
	device->backend = &ending;
	for (int max = 0; max <= count; max++) {
		char wanted[100];

		error.status = TRAIN_OK;
		left = max;
		ck_assert_msg(model_open(&model, spec, device, &options, &error) == (max == count),
			      "%s, %s, %d slots, %d allocations: %s", with, name, slots, max,
			      error.text);
		if (max == count)
			break;
		ck_assert_ptr_null(model);
		ck_assert_uint_eq(device->bytes, 0);
		snprintf(wanted, sizeof(wanted), "out of memory, for %s", names[max]);
		ROW_EQ_STR(with, error.text, wanted);
	}
	model_close(model);
	ck_assert_uint_eq(device->bytes, 0);
	backend->close(device);
}

static void try_slots(const char *with)
{
	static const char *const one[] = {"parameters", "gradients",
					  "activations, their gradients and scratch"};
	static const char *const two[] = {"parameters", "gradients",
					  "activations and their gradients",
					  "gradients of activations, and scratch"};

	static const char *const normalized[] = {"parameters", "gradients", "running statistics",
						 "activations, their gradients and scratch"};

	try_all(with, "net28", 1, one, 3);
	try_all(with, "net28", 2, two, 4);
	try_all(with, "resnet18", 1, normalized, 4);
}

START_TEST(reference_without_memory)
{
	try_slots("reference");
}
END_TEST

#ifdef HAVE_DNNL
START_TEST(onednn_without_memory)
{
	try_slots("onednn");
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

/* SPDX-License-Identifier: MIT */
/* Every allocation of saving, finding and loading fails once. */
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>

#include "failing_malloc.h"
#include "folders.h"
#include "models.h"

enum { MAX_ALLOCATIONS = 5000 };

/* Which allocation fails; 0: the next json_loadb as a whole. */
static size_t failing;

/* jansson's parser (2.14) writes past a buffer that it could not let grow, so none of its own
 * allocations fails here: the parser fails, or nothing in it. */
__attribute__((visibility("default"))) json_t *json_loadb(const char *bytes, size_t size,
							  size_t flags, json_error_t *error)
{
	json_t *(*real)(const char *, size_t, size_t, json_error_t *);
	size_t done = allocations_count();
	bool failed = allocations_failed();
	json_t *root;

	if (!failing) {
		errno = ENOMEM;
		return NULL;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "json_loadb");
	allocations_fail_at(0);
	root = real(bytes, size, flags, error);
	if (!failed && failing > done)
		allocations_fail_at(failing - done);
	return root;
}

static bool save(const char *folder, struct model *m, struct refusals *refusals,
		 struct train_error *error)
{
	(void)refusals;
	return checkpoint_save(folder, &m->checkpoint, 1, error);
}

static bool resume(const char *folder, struct model *m, struct refusals *refusals,
		   struct train_error *error)
{
	struct safetensors *file = NULL;
	bool good = checkpoint_newest(&file, folder, model_refused, refusals, error);

	if (good)
		good = file && checkpoint_load(&m->checkpoint, file, error);
	safetensors_free(file);
	return good;
}

static const struct {
	const char *name;
	bool (*act)(const char *folder, struct model *m, struct refusals *refusals,
		    struct train_error *error);
	int seed; /* of the model */
} rows[] = {{"save", save, 2}, {"resume", resume, 0}};

START_TEST(every_allocation)
{
	struct refusals refusals = {0};
	size_t n;

	failing = 1;
	model_save("c", 1, 1);
	for (n = 0; n < MAX_ALLOCATIONS; n++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model m;
		bool good;

		model_make(&m, rows[_i].seed);
		failing = n;
		allocations_fail_at(n);
		good = rows[_i].act("c", &m, &refusals, &error);
		allocations_fail_at(0);
		if (n && good && !allocations_failed())
			break;
		ck_assert_msg(good || error.status == TRAIN_FAILED, "%s, allocation %zu: %s",
			      rows[_i].name, n, error.text);
		ck_assert_msg(good || strstr(error.text, "memory"), "%s, allocation %zu: %s",
			      rows[_i].name, n, error.text);
		ck_assert_msg(refusals.count == 0, "%s, allocation %zu: %s", rows[_i].name, n,
			      refusals.last);
	}
	failing = n;
	ck_assert_uint_gt(n, 10);
	ck_assert_uint_lt(n, MAX_ALLOCATIONS);
	ck_assert_int_eq(newest_step("c", &refusals), rows[_i].seed ? rows[_i].seed : 1);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("checkpoint-nomem");
	tests = tcase_create("checkpoint-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, every_allocation, 0, sizeof(rows) / sizeof(*rows));
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* Memory of the CPU's devices. */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends.h"

static int wanted, touched; /* calls of madvise(), and those of memory that was used before */

/* The trainer calls this one instead of the C library's. */
int madvise(void *memory, size_t bytes, int advice)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
	unsigned char *resident = calloc(pages, 1);

	ck_assert(resident && mincore(memory, bytes, resident) == 0);
	wanted++;
	for (size_t i = 0; i < pages; i++)
		if (resident[i] & 1) {
			touched++;
			break;
		}
	free(resident);
	return (int)syscall(SYS_madvise, memory, bytes, advice);
}

START_TEST(memory_is_counted)
{
	const struct device_options options = {.physical = 3, .threads = 1};
	struct device *device = opened(backends[_i], &options);
	struct train_error error = {.status = TRAIN_OK};
	void *a = backends[_i]->allocate(device, 100, "a", &error);
	void *b = backends[_i]->allocate(device, 1, "b", &error);

	ck_assert(a && b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
	ck_assert_uint_eq(device->bytes, 101);
	backends[_i]->release(device, a);
	ck_assert_uint_eq(device->bytes, 1);
	ck_assert_uint_eq(device->peak_bytes, 101);
	ck_assert_ptr_null(backends[_i]->allocate(device, SIZE_MAX - 5, "everything", &error));
	ck_assert_msg(strstr(error.text, "device 3: no memory for") != NULL, "%s", error.text);
	error = (struct train_error){.status = TRAIN_OK};
	ck_assert_ptr_null(
		backends[_i]->allocate_zeros(device, SIZE_MAX - 5, "everything", &error));
	ck_assert_msg(strstr(error.text, "device 3: no memory for") != NULL, "%s", error.text);
	ck_assert_uint_eq(device->bytes, 1);
	backends[_i]->release(device, b);
	backends[_i]->close(device);
}
END_TEST

/* Large blocks are allocated in another way. Memory that is allocated again is zero too. */
START_TEST(memory_is_zero)
{
	static const size_t sizes[] = {
		1, 63, 100000, (4 << 20) - 65, (4 << 20) - 64, 4 << 20, (4 << 20) + 4097, 9000001};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened_with(backends[_i], 2);

	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			unsigned char *p =
				backends[_i]->allocate_zeros(device, sizes[i], "a", &error);

			ck_assert(p && (uintptr_t)p % 64 == 0);
			ck_assert_uint_eq(device->bytes, sizes[i]);
			for (size_t at = 0; at < sizes[i]; at++)
				if (p[at] != 0)
					ck_abort_msg("%zu bytes: %zu is %d", sizes[i], at, p[at]);
			memset(p, 0xa5, sizes[i]);
			backends[_i]->release(device, p);
		}
	ck_assert_uint_eq(device->bytes, 0);
	backends[_i]->close(device);
}
END_TEST

#if !SANITIZED
/* Where a page was touched before, the kernel gives no huge page. Memory of this size is new; the
 * sanitizer would write its first bytes. */
START_TEST(huge_pages_are_asked_for_first)
{
	enum { BYTES = 40 << 20 };
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = opened_with(backends[_i], 2);
	void *a, *b;

	wanted = touched = 0;
	a = backends[_i]->allocate_zeros(device, BYTES, "a", &error);
	b = backends[_i]->allocate(device, BYTES, "b", &error);
	ck_assert(a && b);
	ck_assert_int_eq(wanted, 2);
	ck_assert_int_eq(touched, 0);
	backends[_i]->release(device, a);
	backends[_i]->release(device, b);
	backends[_i]->close(device);
}
END_TEST
#define SEES_PAGES 1
#endif

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tests = tcase_create("memory");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, memory_is_counted, 0, BACKENDS);
	tcase_add_loop_test(tests, memory_is_zero, 0, BACKENDS);
#ifdef SEES_PAGES
	tcase_add_loop_test(tests, huge_pages_are_asked_for_first, 0, BACKENDS);
#endif
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* The wishes of jobs that wait, by their tickets; every allocation may fail. */
#include <stdio.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "inventory/inventory.h"
#include "lease/wishes.h"
#include "unit.h"

enum { GPUS = 3, TICKETS = 2 };

/* GPU 1 has memory in use, and GPU 2 a load. 0 and 2 are linked. */
static const char description[] =
	"[snapshot]\nschema = 2\n"
	"[gpu 0]\nmemory = 85899345920\nused = 0\nreserved = 0\nutilization = 0\nprocesses = all\n"
	"nvlink = 2\n"
	"[gpu 1]\nmemory = 85899345920\nused = 2147483648\nreserved = 0\nutilization = 0\n"
	"processes = all\nnvlink = none\n"
	"[gpu 2]\nmemory = 85899345920\nused = 0\nreserved = 0\nutilization = 50\n"
	"processes = all\nnvlink = 0\n";

static gpumap_inventory *machine;
static struct lease_folder folder;
static char path[] = "/tmp/t-wishes-XXXXXX";
static int tickets[TICKETS];
static uint64_t numbers[TICKETS];

static void begin(void)
{
	char all[] = "", two[] = "gpu-0 gpu-1", last[] = "gpu-2", other[] = "gpu-9 gpu-1";
	const struct lease_ticket wishes[TICKETS] = {
		{.count = 2,
		 .from = all,
		 .prefer = last,
		 .terms = {.max_used = INT64_C(4) << 30, .max_load = 10, .near = true, .slots = 2}},
		{.count = 3, .from = two, .prefer = other, .terms = DEFAULT_TERMS},
	};

	strcpy(path + strlen(path) - 6, "XXXXXX");
	ck_assert(mkdtemp(path));
	ck_assert_int_eq(
		gpumap_inventory_parse(&machine, description, strlen(description), NULL, NULL),
		GPUMAP_OK);
	ck_assert_int_eq(lease_folder_open(&folder, path, path, true, NULL), GPUMAP_OK);
	for (int i = 0; i < TICKETS; i++)
		ck_assert_int_eq(lease_queue_join(&tickets[i], &numbers[i], &folder, &wishes[i]),
				 GPUMAP_OK);
	for (int i = 0; i < 8; i++)
		ck_assert(lease_pass(&folder, numbers[1]));
}

static void end(void)
{
	for (int i = 0; i < TICKETS; i++)
		lease_queue_leave(&folder, tickets[i], numbers[i]);
	lease_folder_close(&folder);
	gpumap_inventory_free(machine);
	ck_assert_int_eq(rmdir(path), 0);
}

/* A claim of a slot of 1 GPU, connected, 1 before others. */
static int make_claim(gpumap_claim **ret)
{
	static const char *const members[][2] = {{"count", "1"},
						 {"near", "yes"},
						 {"prefer", "1"},
						 {"ignore", "Xorg"},
						 {"slots", "4"}};
	gpumap_claim *claim = NULL;
	int r = gpumap_claim_new(&claim);

	for (size_t i = 0; r == GPUMAP_OK && i < ARRAY_SIZE(members); i++)
		r = gpumap_claim_set(claim, members[i][0], members[i][1], "test", NULL);
	if (r == GPUMAP_OK)
		*ret = claim;
	else
		gpumap_claim_free(claim);
	return r;
}

static void describe(char *ret, size_t size, const struct lease_wish *wish)
{
	size_t n = (size_t)snprintf(ret, size, "%zu", wish->count);

	for (size_t i = 0; i < GPUS; i++) {
		size_t g = wish->order[i];

		n += (size_t)snprintf(ret + n, size - n, " %zu%s%s", g, wish->usable[g] ? "u" : "",
				      wish->free_gpus[g] ? "f" : "");
	}
	snprintf(ret + n, size - n, " %zu%s%s of %zu", wish->preferred, wish->near ? " near" : "",
		 wish->firm ? " firm" : "", wish->slots);
}

static void check_wishes(const char *const want[TICKETS + 1])
{
	struct wishes wishes = {0};
	gpumap_claim *claim;
	char got[128];

	ck_assert_int_eq(make_claim(&claim), GPUMAP_OK);
	ck_assert_int_eq(wishes_read(&wishes, &folder, UINT64_MAX, claim, machine, NULL),
			 GPUMAP_OK);
	ck_assert_uint_eq(wishes.count, TICKETS);
	for (size_t i = 0; i < TICKETS + 1; i++) {
		describe(got, sizeof(got), &wishes.list[i]);
		ROW_EQ_STR(i < TICKETS ? "a ticket" : "the claim", got, want[i]);
	}
	wishes_free(&wishes);
	gpumap_claim_free(claim);
}

START_TEST(from_tickets)
{
	/* The count; the GPUs in their order: u usable, f free; how many are preferred; slots. */
	static const char *const want[] = {"2 2u 0uf 1uf 1 near of 2", "0 1u 0uf 2f 1 firm of 1",
					   "1 1u 0uf 2uf 1 near of 4"};

	check_wishes(want);
}
END_TEST

/* MIG was enabled since the tickets were written: the jobs cannot use GPU 1. */
START_TEST(enabled)
{
	static const char *const want[] = {"2 2u 0uf 1f 1 near of 2", "0 1 0uf 2f 1 firm of 1",
					   "1 1 0uf 2uf 1 near of 4"};

	machine->gpus[1].mig_enabled = 1;
	check_wishes(want);
}
END_TEST

/* One choice from the claim to the GPUs. */
static int choose_once(bool *got, size_t *gpu, gpumap_report *report)
{
	bool lacks_memory = false;
	struct wishes wishes = {0};
	gpumap_claim *claim = NULL;
	int r = make_claim(&claim);

	if (r == GPUMAP_OK)
		r = wishes_read(&wishes, &folder, numbers[1], claim, machine, report);
	if (r == GPUMAP_OK) {
		wishes.chosen.gpus = gpu;
		*got = lease_choose(&wishes.chosen, wishes.list, wishes.count + 1, wishes.loads,
				    machine, &lacks_memory);
		r = lacks_memory ? GPUMAP_ENOMEM : GPUMAP_OK;
	}
	wishes_free(&wishes);
	gpumap_claim_free(claim);
	return r;
}

START_TEST(nomem)
{
	gpumap_report *report = NULL;
	bool got = false;
	int r = GPUMAP_ENOMEM;
	size_t gpu = 7, n;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	for (n = 1;; n++) {
		allocations_fail_at(n);
		r = choose_once(&got, &gpu, report);
		allocations_fail_at(0);
		if (r == GPUMAP_OK)
			break;
		ck_assert_int_eq(r, GPUMAP_ENOMEM);
		ck_assert_msg(gpu == 7 && !got, "allocation %zu: the result is changed", n);
	}
	ck_assert_msg(!allocations_failed(), "allocation %zu failed, and no one saw it", n);
	ck_assert_uint_gt(n, 10);
	ck_assert(got);
	ck_assert_uint_eq(gpu, 2);
	gpumap_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wishes");
	TCase *tests = tcase_create("wishes");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, from_tickets);
	tcase_add_test(tests, enabled);
	if (allocations_can_fail())
		tcase_add_test(tests, nomem);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}

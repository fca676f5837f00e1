/* SPDX-License-Identifier: MIT */
/* Which GPUs a job gets, and which are promised to the jobs before it. */
#include <stdio.h>

#include "lease/claim.h"
#include "unit.h"

enum { GPUS = 4, MAX_WISHES = 4 };

/* GPUs 0 and 3 are linked, and so are 1 and 2. */
static const char description[] = "[snapshot]\nschema = 1\n"
				  "[gpu 0]\nnvlink = 3\n[gpu 1]\nnvlink = 2\n"
				  "[gpu 2]\nnvlink = 1\n[gpu 3]\nnvlink = 0\n";
static gpumap_inventory *machine;

/* Wishes are "COUNT[*SLOTS][:GPUS][/FREE][<FIRST][@TIME][n][!]": how many, of how many slots, of
 * which GPUs, which it calls free if those are not the row's, which it prefers, when it can be
 * served, n for near, and ! if it was passed as often as is allowed. The last one is one's own, and
 * its time is when its lease has ended. `passed` has the numbers of the
 * wishes that are passed. After a blank, `free_gpus` has of each GPU how many slots are held, and
 * of how many: "24 00 12" is 2 of 4, none, 1 of 2. */
static const struct {
	const char *name, *wishes, *free_gpus, *want, *passed;
} rows[] = {
	{"one of all", "1", "0123", "0", ""},
	{"all", "4", "0123", "0123", ""},
	{"the free ones", "2", "13", "13", ""},
	{"not enough", "3", "13", "no", ""},
	{"none", "1", "", "no", ""},
	{"more than there are", "5", "0123", "no", ""},
	{"of its own", "1:23", "0123", "2", ""},
	{"of its own, which are in use", "1:23", "01", "no", ""},
	{"after one that will be served", "2 1", "0123", "2", ""},
	{"after one that takes the rest", "3 2", "0123", "no", ""},
	{"after one that waits for all", "4 1", "123", "no", ""},
	{"after one that waits, for GPUs that it cannot use", "2:01 2", "123", "23", ""},
	{"after one that waits, for more", "2:01 3", "123", "no", ""},
	{"all free ones are promised", "3 1", "12", "no", ""},
	{"after two", "2:01 1:2 1", "123", "3", ""},
	{"after two that need the same", "1:0 1:0 1", "0", "no", ""},
	{"the second is promised what the first leaves", "1:01 2:01 1:1", "01", "no", ""},
	{"one that can never be served takes what it can", "3:01 1", "0123", "2", ""},
	{"an earlier job is promised what it calls free", "1/1 1", "01", "0", ""},
	{"and nothing else, if that is enough", "1/12 2", "012", "02", ""},
	{"a job that waits is passed onto what it does not call free", "2/1 1", "01", "0", "0"},
	{"but not onto what it does", "2/1 2", "01", "no", ""},
	{"it is not passed again", "2/1! 1", "01", "no", ""},
	{"except onto GPUs that it cannot use", "2:01/1! 1", "012", "2", ""},
	{"it gets no more than it asks for", "1/1! 1", "01", "0", ""},
	{"two are passed", "1/ 2/ 1", "01", "0", "01"},
	{"one of two is passed", "1:0/ 1:1/ 1:1", "01", "1", "1"},
	{"the second is not passed again", "1/ 1/! 1", "01", "no", ""},
	{"no one is passed by a job that waits", "1/ 3", "01", "no", ""},
	{"a job calls less free than those before it", "1 1/01", "012", "1", ""},
	{"near", "2n", "0123", "03", ""},
	{"near, of what is free", "2n", "012", "12", ""},
	{"near, of what is left", "1 2n", "0123", "12", ""},
	{"one, whose peer is not free", "1n", "012", "0", ""},
	{"one, which leaves a pair", "1n", "123", "3", ""},
	{"all of them, near", "4n", "0123", "0123", ""},
	{"near, not enough", "3n", "01", "no", ""},
	{"a job that waits is promised what is near", "2n 2", "0123", "12", ""},
	{"and not more", "2n 1", "012", "0", ""},
	{"two that want what is near", "2n 2n", "0123", "12", ""},
	{"one that waits for near GPUs is promised all", "3n 1", "01", "no", ""},
	{"the preferred one", "1<2", "0123", "2", ""},
	{"which is not free", "1<2", "013", "0", ""},
	{"which it cannot use", "1:013<2", "0123", "0", ""},
	{"in the order of the list", "2<31", "0123", "31", ""},
	{"one of them is not free", "2<31", "012", "10", ""},
	{"and others", "3<31", "0123", "310", ""},
	{"all of them, preferred", "4<3210", "0123", "3210", ""},
	{"a job that waits is promised what it prefers", "1<2 3", "0123", "013", ""},
	{"both prefer the same", "1<2 1<2", "0123", "0", ""},
	{"the second prefers another", "1<2 1<3", "0123", "3", ""},
	{"near, of the preferred ones", "2<012n", "0123", "12", ""},
	{"preferred before near", "2<01n", "0123", "01", ""},
	{"near to the preferred one", "2<1n", "0123", "12", ""},
	{"near, the preferred one is not free", "2<1n", "023", "03", ""},
	{"a job that calls nothing free", "1 1/", "012", "no", ""},

	{"a slot", "1*4", "0123", "0", ""},
	{"of the GPU with the most", "1*4", "0123 14 24 00 14", "2", ""},
	{"of the first of these", "1*4", "0123 24 14 14 24", "1", ""},
	{"as a job with more slots allows", "1*8", "0123 14 28 44 44", "1", ""},
	{"as this job allows", "1*2", "0123 28 34 24 14", "3", ""},
	{"more are held than this job allows", "1*2", "01 24 34", "no", ""},
	{"more than the others allow", "1*8", "01 22 33", "no", ""},
	{"several", "2*4", "0123 14 14 00 00", "23", ""},
	{"each on another GPU", "2*4", "0", "no", ""},
	{"the preferred one first", "1*4<1", "0123 00 34", "1", ""},
	{"which is full", "1*4<1", "0123 00 44", "0", ""},
	{"slots, near", "2*4n", "0123 00 14 34", "03", ""},
	{"slots, near, with the most room", "2*4n", "0123 24 14 14 34", "12", ""},
	{"a whole GPU beside slots", "1", "0123 14 00 14", "1", ""},
	{"no whole GPU", "1", "01 14 14", "no", ""},
	{"after a slot that is promised", "1*2 1*2", "0", "0", ""},
	{"after two", "1*2 1*2 1*2", "0", "no", ""},
	{"after one, as it allows", "1*2 1*4", "0 14", "no", ""},
	{"after one, as this job allows", "1*4 1*2", "0 14", "no", ""},
	{"a whole GPU after a slot that is promised", "1*2 1", "0", "no", ""},
	{"a slot after a whole GPU that is promised", "2 1*2", "0", "no", ""},
	{"a job that waits for whole GPUs is passed onto slots", "2 1*4", "01 14", "0", "0"},
	{"not onto its whole GPUs", "2:01 1*4", "1", "no", ""},
	{"it is not passed again", "2! 1*4", "01 14", "no", ""},
	{"except onto GPUs that it cannot use", "2:01! 1*4", "012 14 14 14", "2", ""},
	{"a job that waits for slots is passed onto others", "1*2 1*4", "0 24", "0", "0"},
	{"it is not passed again", "1*2! 1*4", "0 24", "no", ""},
	{"no slot that moves a promise", "1*2 1*2:0 1*2:1", "01 12", "no", ""},
	{"another one", "1*2 1*2:0 1*2:12", "012 12", "2", ""},
	{"a whole GPU moves none", "1*2 1*2:0 1:2", "012 12", "2", ""},
	{"nor does a slot where more are left", "1*4 1*4:0 1*4:1", "01 24", "1", ""},
	{"a lease that ends before a promise", "2:01@5 1@4", "0", "0", "0"},
	{"that ends with it", "2:01@5 1@5", "0", "0", "0"},
	{"that ends later", "2:01@5 1@6", "0", "no", ""},
	{"without an end", "2:01@5 1", "0", "no", ""},
	{"before a promise whose time is not known", "2:01 1@1", "0", "no", ""},
	{"before one that will be served", "1@5 1@4", "0", "no", ""},
	{"before one that was passed as often as is allowed", "2@5! 1@4", "0", "no", ""},
	{"before two", "2:01@5 2:02@6 1@5", "0", "0", "01"},
	{"before the first of two", "2:01@5 2:02@4 1@5", "0", "0", "01"},
	{"before the second, to which it is promised", "1:1@5 2:02@4 1@5", "0", "no", ""},
	{"before the first, and not onto what the second gets", "2:02@5 1:01 1:01@4", "01", "0",
	 "0"},
	{"what is not promised comes first", "2:03@5 1@4", "012", "1", ""},
	{"and as much of it as there is", "3:012@5 2@4", "013", "30", "0"},
	{"near, of what is promised", "4@5 2@4n", "012", "12", "0"},
	{"near, not enough", "4@5 4@4n", "012", "no", ""},
	{"a slot that ends before a promise", "2:01@5 1*2@4", "0", "no", ""},
	{"a whole GPU before one that waits for slots", "2*2:01@5 1@4", "0", "0", "0"},
	{"a whole GPU before several slots of it", "2*2:01@5 2*2:01@3 1@4", "0", "no", ""},
};

/* Whose promises take GPUs from one's own job: the wish by the number of each GPU, - if none. */
static const struct {
	const char *name, *wishes, *free_gpus, *want;
} promises[] = {
	{"nothing before it", "1", "0123", "----"},
	{"one", "2 1", "0123", "00--"},
	{"two", "1:1 2:12 1", "0123", "-01-"},
	{"what one of two would use later", "2/1! 1", "01", "00--"},
	{"a slot with room for another one", "1*4 1*4", "0", "----"},
	{"a slot without", "1*4 1*2", "0 14", "0---"},
	{"by the second that takes a slot", "1*2 1*2 1*2", "0", "1---"},
	{"one that yields", "2:01@5 2@4", "0", "0---"},
};

static void mark(bool ret[GPUS], const char *gpus)
{
	for (int g = 0; g < GPUS; g++)
		ret[g] = memchr(gpus, '0' + g, strspn(gpus, "0123"));
}

static void read_loads(struct lease_load ret[GPUS], const char *held)
{
	for (int g = 0; g < GPUS; g++) {
		ret[g] = NO_LOAD;
		if (!*held)
			continue;
		if (*held > '0')
			ret[g] = (struct lease_load){(size_t)(held[0] - '0'),
						     (size_t)(held[1] - '0')};
		held += strcspn(held, " ");
		held += *held == ' ';
	}
}

struct marks {
	bool usable[GPUS], free_gpus[GPUS];
	size_t order[GPUS];
};

/* Puts these GPUs first. Returns how many they are. */
static size_t read_order(size_t order[GPUS], const char *first)
{
	size_t preferred = 0;

	for (size_t g = 0; g < GPUS; g++)
		order[g] = g;
	for (; *first >= '0' && *first <= '3'; first++)
		ck_assert(order_prefer(order, preferred++, (size_t)(*first - '0'), GPUS));
	return preferred;
}

static struct lease_wish read_wish(const char *text, const char *free_gpus, struct marks *marks)
{
	size_t length = strcspn(text, " ");
	const char *gpus = memchr(text, ':', length), *own = memchr(text, '/', length),
		   *first = memchr(text, '<', length), *slots = memchr(text, '*', length),
		   *at = memchr(text, '@', length);
	size_t preferred = read_order(marks->order, first ? first + 1 : "");

	mark(marks->usable, gpus ? gpus + 1 : "0123");
	mark(marks->free_gpus, own ? own + 1 : free_gpus);
	return (struct lease_wish){.count = (size_t)(*text - '0'),
				   .usable = marks->usable,
				   .free_gpus = marks->free_gpus,
				   .order = marks->order,
				   .preferred = preferred,
				   .near = memchr(text, 'n', length),
				   .slots = slots ? (size_t)(slots[1] - '0') : 1,
				   .firm = memchr(text, '!', length),
				   .ready = at ? at[1] - '0' : 0,
				   .end = at ? at[1] - '0' : INT64_MAX};
}

static void print_passed(char *ret, const bool *passed, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (passed[i])
			*ret++ = (char)('0' + i);
	*ret = '\0';
}

/* What is chosen from the texts of a row. */
struct chosen {
	size_t count, gpus[GPUS + 1], promised[GPUS]; /* count: of wishes */
	bool enough, passed[MAX_WISHES];
	size_t wanted;
};

static void choose(struct chosen *ret, const char *texts, const char *free_gpus)
{
	struct lease_chosen chosen = {ret->gpus, ret->passed, ret->promised};
	struct marks marks[MAX_WISHES];
	struct lease_wish wishes[MAX_WISHES];
	struct lease_load loads[GPUS];
	const char *held = strchr(free_gpus, ' ');
	bool nomem;

	ret->count = 0;
	for (const char *at = texts; *at; at += strcspn(at, " "), at += *at == ' ') {
		wishes[ret->count] = read_wish(at, free_gpus, &marks[ret->count]);
		ret->count++;
	}
	read_loads(loads, held ? held + 1 : "");
	ret->wanted = wishes[ret->count - 1].count;
	ret->enough = lease_choose(&chosen, wishes, ret->count, loads, machine, &nomem);
	ck_assert(!nomem);
}

START_TEST(choices)
{
	char text[16] = "no", who[MAX_WISHES + 1];
	struct chosen chosen;

	choose(&chosen, rows[_i].wishes, rows[_i].free_gpus);
	for (size_t i = 0; chosen.enough && i < chosen.wanted; i++)
		snprintf(text + i, sizeof(text) - i, "%zu", chosen.gpus[i]);
	ROW_EQ_STR(rows[_i].name, text, rows[_i].want);
	print_passed(who, chosen.passed, chosen.count - 1);
	ROW_EQ_STR(rows[_i].name, who, rows[_i].passed);
}
END_TEST

START_TEST(promised)
{
	char text[GPUS + 1] = "----";
	struct chosen chosen;

	choose(&chosen, promises[_i].wishes, promises[_i].free_gpus);
	for (size_t g = 0; g < GPUS; g++)
		if (memchr(promises[_i].free_gpus, (char)('0' + g),
			   strcspn(promises[_i].free_gpus, " ")) &&
		    chosen.promised[g] < chosen.count - 1)
			text[g] = (char)('0' + chosen.promised[g]);
	ROW_EQ_STR(promises[_i].name, text, promises[_i].want);
}
END_TEST

START_TEST(preferences)
{
	size_t order[GPUS] = {0, 1, 2, 3};

	ck_assert(order_prefer(order, 0, 2, GPUS));
	ck_assert_msg(!order_prefer(order, 1, 2, GPUS), "twice");
	ck_assert_msg(!order_prefer(order, 1, GPUS, GPUS), "not a GPU");
	ck_assert(order_prefer(order, 1, 1, GPUS));
	for (size_t i = 0; i < GPUS; i++)
		ck_assert_uint_eq(order[i], ((const size_t[]){2, 1, 0, 3})[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("choose");
	TCase *tests = tcase_create("choose");
	int status;

	if (gpumap_inventory_parse(&machine, description, strlen(description), NULL, NULL))
		return EXIT_FAILURE;
	tcase_add_loop_test(tests, choices, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, promised, 0, ARRAY_SIZE(promises));
	tcase_add_test(tests, preferences);
	suite_add_tcase(suite, tests);
	status = unit_run(suite);
	gpumap_inventory_free(machine);
	return status;
}

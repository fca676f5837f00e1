/* SPDX-License-Identifier: MIT */
/* Where ranks of several machines meet, by the environment. */
#include <string.h>

#include "collective/nccl.h"
#include "unit.h"

enum { MAX = 4 };

static const struct {
	const char *name;
	const char *envp[MAX + 1];
	const char *place; /* NULL: none */
	const char *error;
} rows[] = {
	{"nothing", {"HOME=/", "MASTER_ADDRESS=x"}, NULL, NULL},
	{"a launcher", {"MASTER_ADDR=node0", "MASTER_PORT=29500"}, "node0:29500", NULL},
	{"IPv4", {"MASTER_PORT=1", "MASTER_ADDR=10.0.0.7"}, "10.0.0.7:1", NULL},
	{"IPv6", {"MASTER_ADDR=fe80::1", "MASTER_PORT=65535"}, "[fe80::1]:65535", NULL},
	{"IPv6 in brackets", {"MASTER_ADDR=[::1]", "MASTER_PORT=80"}, "[::1]:80", NULL},
	{"NCCL_COMM_ID holds",
	 {"MASTER_ADDR=node0", "MASTER_PORT=29500", "NCCL_COMM_ID=node9:4711"},
	 "node9:4711",
	 NULL},
	{"NCCL_COMM_ID alone", {"NCCL_COMM_ID=node9:4711"}, "node9:4711", NULL},
	{"NCCL_COMM_ID is empty", {"NCCL_COMM_ID=", "MASTER_ADDR=a", "MASTER_PORT=2"}, "a:2", NULL},
	{"torchrun listens there",
	 {"MASTER_ADDR=a", "MASTER_PORT=29500", "TORCHELASTIC_USE_AGENT_STORE=True"},
	 "a:29501",
	 NULL},
	{"and after the last port comes the first",
	 {"MASTER_ADDR=a", "MASTER_PORT=65535", "TORCHELASTIC_USE_AGENT_STORE=True"},
	 "a:1",
	 NULL},
	{"torchrun does not",
	 {"MASTER_ADDR=a", "MASTER_PORT=29500", "TORCHELASTIC_USE_AGENT_STORE=False"},
	 "a:29500",
	 NULL},
	{"no port", {"MASTER_ADDR=a"}, NULL, "MASTER_ADDR is set and MASTER_PORT is not: "},
	{"an empty port",
	 {"MASTER_ADDR=a", "MASTER_PORT="},
	 NULL,
	 "MASTER_ADDR is set and MASTER_PORT is not: "},
	{"no address", {"MASTER_PORT=1"}, NULL, "MASTER_PORT is set and MASTER_ADDR is not: "},
	{"port 0", {"MASTER_ADDR=a", "MASTER_PORT=0"}, NULL, "MASTER_PORT: '0' is not a port"},
	{"port 65536",
	 {"MASTER_ADDR=a", "MASTER_PORT=65536"},
	 NULL,
	 "MASTER_PORT: '65536' is not a port"},
	{"a signed port", {"MASTER_ADDR=a", "MASTER_PORT=+9"}, NULL, "MASTER_PORT: '+9' is not"},
	{"a word", {"MASTER_ADDR=a", "MASTER_PORT=9x"}, NULL, "MASTER_PORT: '9x' is not a port"},
	{"beyond long",
	 {"MASTER_ADDR=a", "MASTER_PORT=99999999999999999999"},
	 NULL,
	 "MASTER_PORT: '99999999999999999999' is not a port"},
};

START_TEST(places)
{
	struct train_error error = {.status = TRAIN_OK};
	char text[NCCL_PLACE_TEXT] = "";
	bool found = false, good = nccl_place(text, sizeof(text), &found, rows[_i].envp, &error);

	ck_assert_msg(good == !rows[_i].error, "%s: %s", rows[_i].name, error.text);
	if (rows[_i].error) {
		ROW_EQ_INT(rows[_i].name, error.status, TRAIN_BAD_INPUT);
		ck_assert_msg(strstr(error.text, rows[_i].error) == error.text, "%s: %s",
			      rows[_i].name, error.text);
		return;
	}
	ROW_EQ_INT(rows[_i].name, found, rows[_i].place != NULL);
	ROW_EQ_STR(rows[_i].name, text, rows[_i].place ? rows[_i].place : "");
}
END_TEST

START_TEST(too_long_a_place)
{
	static const char *const envp[] = {"MASTER_ADDR=a.host.with.a.name", "MASTER_PORT=29500",
					   NULL};
	struct train_error error = {.status = TRAIN_OK};
	char text[26];
	bool found;

	ck_assert(!nccl_place(text, 24, &found, envp, &error));
	ck_assert_msg(strstr(error.text, "MASTER_ADDR is too long"), "%s", error.text);
	error.status = TRAIN_OK;
	ck_assert(nccl_place(text, 26, &found, envp, &error) && found);
	ck_assert_str_eq(text, "a.host.with.a.name:29500");
}
END_TEST

START_TEST(mpi_by_its_variables)
{
	static const struct {
		const char *name, *envp[2];
		bool has;
	} cases[] = {
		{"Open MPI", {"OMPI_COMM_WORLD_SIZE=4"}, true},
		{"PMIx", {"PMIX_RANK=0"}, true},
		{"empty", {"PMIX_RANK="}, false},
		{"none", {"OMPI_COMM_WORLD_SIZES=4"}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ROW_EQ_INT(cases[i].name, nccl_has_mpi(cases[i].envp), cases[i].has);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nccl-place");
	TCase *tests = tcase_create("place");

	tcase_add_loop_test(tests, places, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, too_long_a_place);
	tcase_add_test(tests, mpi_by_its_variables);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}

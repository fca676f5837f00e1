/* SPDX-License-Identifier: MIT */
/* Keys, statements, device strings and environments, before anything is resolved. */
#include <stdio.h>

#include "inventory/inventory.h"
#include "machines.h"
#include "resolve/resolve.h"
#include "unit.h"

#define BAD "GM002"

/* The answer of gpumap_request_set to a value: its code, the finding and its remedy. */
static const struct {
	const char *key, *value;
	int code;
	const char *id, *text, *fix;
} values[] = {
	{"mode", "dp", 0, NULL, NULL, NULL},
	{"mode", "ddb", -2, BAD, "mode cannot be 'ddb'", "did you mean ddp?"},
	{"mode", "parallel", -2, BAD, "mode cannot be 'parallel'", "write single, dp, ddp or mp"},
	{"mode", "", -2, BAD, "mode cannot be ''", "write single, dp, ddp or mp"},
	{"dialect", "torch", 0, NULL, NULL, NULL},
	{"dialect", "touch", -2, BAD, "dialect cannot be 'touch'", "did you mean torch?"},
	{"strict", "on", 0, NULL, NULL, NULL},
	{"strict", "maybe", -2, BAD, "strict cannot be 'maybe'",
	 "write yes, no, true, false, on, off, 1 or 0"},
	{"device", "0", 0, NULL, NULL, NULL},
	{"device", "cuda:2,1", 0, NULL, NULL, NULL},
	{"device", "cuda:2 cuda:3", 0, NULL, NULL, NULL},
	{"device", "cpu", 0, NULL, NULL, NULL},
	{"device", "cpu:1", -2, BAD, "device cannot be 'cpu:1'",
	 "write N or cuda:N, as in cuda:1, in lower case and without blanks"},
	{"device", "-1", -2, BAD, "device cannot be '-1'",
	 "write N or cuda:N, as in cuda:1, in lower case and without blanks"},
	{"device", "cuda:01", -2, BAD, "device cannot be 'cuda:01'", NULL},
	{"device", "cuda:1,", -2, BAD, "device cannot be 'cuda:1,'", NULL},
	{"device", "cuda:-1", -2, BAD, "device cannot be 'cuda:-1'", NULL},
	{"device", "cuda:1\n", -2, BAD, "device cannot be 'cuda:1\\x0a'", NULL},
	{"device", "cuda:99999999999999999999", -2, BAD, NULL, NULL},
	{"set_device", "-1", 0, NULL, NULL, NULL},
	{"set_device", "cuda", -2, BAD, "set_device cannot be 'cuda'",
	 "set_device() needs an index, N or cuda:N"},
	{"set_device", "cpu", -2, BAD, "set_device cannot be 'cpu'", NULL},
	{"device_ids", "0, 1", 0, NULL, NULL, NULL},
	{"device_ids", "cuda:0,cuda:1", 0, NULL, NULL, NULL},
	{"device_ids", "", -2, BAD, "device_ids cannot be ''", "write logical numbers, as in 0,1"},
	{"device_ids", "0,,1", -2, BAD, "device_ids cannot be '0,,1'", NULL},
	{"device_ids", "0,-1", -2, BAD, "device_ids cannot be '0,-1'", NULL},
	{"device_ids", "[0,1]", -2, BAD, "device_ids cannot be '[0,1]'", NULL},
	{"local_rank", "-1", -2, BAD, "local_rank cannot be '-1'", "write a number, 0 or more"},
	{"local_rank", "2147483648", -2, BAD, NULL, NULL},
	{"batch", "0", -2, BAD, "batch cannot be '0'", "write a number of samples, 1 or more"},
	{"batch", "9223372036854775807", -2, BAD, NULL, NULL},
	{"batch", "1e3", -2, BAD, "batch cannot be '1e3'", NULL},
	{"driver", "570", 0, NULL, NULL, NULL},
	{"driver", "570.124.06", 0, NULL, NULL, NULL},
	{"driver", "570.", -2, BAD, "driver cannot be '570.'",
	 "write a version such as 570.124.06"},
	{"driver", "R570", -2, BAD, "driver cannot be 'R570'", NULL},
	{"driver", "5700000", -2, BAD, "driver cannot be '5700000'", NULL},
	{"launcher", "torchrun", 0, NULL, NULL, NULL},
	{"launcher", "ray:0,1", 0, NULL, NULL, NULL},
	{"launcher", "torchrum", -2, BAD, "launcher cannot be 'torchrum'",
	 "did you mean torchrun?"},
	{"launcher", "dask:1", -2, BAD, "launcher cannot be 'dask:1'",
	 "leave the list out: it takes none"},
	{"visble", "1", -3, "GM003", "no such key: 'visble'", "did you mean visible?"},
	{"", "1", -3, "GM003", "no such key: ''", NULL},
	{"zzzzzzzzzzzz", "1", -3, "GM003", NULL, NULL},
	{"prefix", "CUDA_VISIBLE_DEVICE=1", 0, "GM007", "no program reads 'CUDA_VISIBLE_DEVICE'",
	 "did you mean CUDA_VISIBLE_DEVICES?"},
	{"prefix", "PATH=/bin", 0, "GM034", "PATH does not decide which devices are visible", NULL},
	{"container", "\xff\x01", 0, NULL, NULL, NULL},
};

START_TEST(set_values)
{
	const char *name = values[_i].value;
	const gpumap_finding *f;
	gpumap_request *request;
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ROW_EQ_INT(name, gpumap_request_set(request, values[_i].key, name, "here", report),
		   values[_i].code);
	f = gpumap_report_get(report, 0);
	ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_ID), values[_i].id);
	if (values[_i].text)
		ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_TEXT), values[_i].text);
	if (values[_i].fix)
		ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_FIX), values[_i].fix);
	if (f)
		ROW_EQ_STR(name, gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN), "here");
	gpumap_request_free(request);
	gpumap_report_free(report);
}
END_TEST

static const struct {
	const char *text;
	int variable; /* -1: no statement; VARIABLE_COUNT: the dialect's */
	enum verb verb;
	const char *value;
} statements[] = {
	{"0,1", VARIABLE_COUNT, VERB_SET, "0,1"},
	{"", VARIABLE_COUNT, VERB_SET, ""},
	{"-1", VARIABLE_COUNT, VERB_SET, "-1"},
	{"-", VARIABLE_COUNT, VERB_SET, "-"},
	{"CUDA_VISIBLE_DEVICES=2", VARIABLE_CUDA_VISIBLE, VERB_SET, "2"},
	{"CUDA_VISIBLE_DEVICES=", VARIABLE_CUDA_VISIBLE, VERB_SET, ""},
	{"CUDA_VISIBLE_DEVICES?=2", VARIABLE_CUDA_VISIBLE, VERB_DEFAULT, "2"},
	{"-CUDA_VISIBLE_DEVICES", VARIABLE_CUDA_VISIBLE, VERB_UNSET, NULL},
	{"-CUDA_VISIBLE_DEVICES=1", VARIABLE_COUNT, VERB_SET, "-CUDA_VISIBLE_DEVICES=1"},
	{"CUDA_DEVICE_ORDER=PCI_BUS_ID", VARIABLE_CUDA_ORDER, VERB_SET, "PCI_BUS_ID"},
	{"ROCR_VISIBLE_DEVICES=a=b", VARIABLE_ROCR_VISIBLE, VERB_SET, "a=b"},
	{"CUDA_VISIBLE_DEVICES", VARIABLE_COUNT, VERB_SET, "CUDA_VISIBLE_DEVICES"},
	{"GPU-1=2", VARIABLE_COUNT, VERB_SET, "GPU-1=2"},
	{"FOO=1", -1, VERB_SET, NULL},
	{"FOO?=1", -1, VERB_SET, NULL},
	{"-CUDA_VISABLE_DEVICES", -1, VERB_SET, NULL},
	{"-foo", VARIABLE_COUNT, VERB_SET, "-foo"},
	{"=1", VARIABLE_COUNT, VERB_SET, "=1"},
};

START_TEST(read_statements)
{
	const char *name = statements[_i].text, *value = NULL;
	enum variable variable = VARIABLE_COUNT;
	enum verb verb = VERB_SET;
	struct span other;

	if (!statement_parse(name, VARIABLE_COUNT, &variable, &verb, &value, &other)) {
		ROW_EQ_INT(name, statements[_i].variable, -1);
		return;
	}
	ROW_EQ_INT(name, (int)variable, statements[_i].variable);
	ROW_EQ_INT(name, verb, statements[_i].verb);
	ROW_EQ_STR(name, value, statements[_i].value);
}
END_TEST

/* A whole environment against the one key or statement that must come of it. */
static const struct {
	const char *name, *statements, *environment, *want;
	int code;
} environments[] = {
	{"nothing", "", "", "chosen=0", 0},
	{"no equals sign", "", "CUDA_VISIBLE_DEVICES", "visible=0,1,2,3", 0},
	{"an empty name", "", "=1", "visible=0,1,2,3", 0},
	{"a list", "", "CUDA_VISIBLE_DEVICES=3", "visible=3", 0},
	{"lower case is another name", "", "cuda_visible_devices=3", "visible=0,1,2,3", 0},
	{"GPUMAP_ sets a key", "", "GPUMAP_SET_DEVICE=2", "chosen=2", 0},
	{"an option is stronger", "set_device=1", "GPUMAP_SET_DEVICE=2", "chosen=1", 0},
	{"a statement's option is stronger", "prefix=1", "GPUMAP_PREFIX=2", "visible=1", 0},
	{"GPUMAP_ states", "", "GPUMAP_PREFIX=2|CUDA_VISIBLE_DEVICES=1", "loser=environment:1", 0},
	{"GPUMAP_ with a bad value", "", "GPUMAP_MODE=x", "finding=GM002", -2},
	{"GPUMAP_ of no key", "", "GPUMAP_SOMETHING_ELSE=x", "!finding=GM007", 0},
	{"GPUMAP_ nearly a key", "", "GPUMAP_LOCALRANK=1", "finding=GM007", 0},
	{"nearly a variable", "", "CUDA_VISIBLE_DEVCIES=1", "finding=GM007", 0},
	{"the order, nearly", "", "CUDA_DEVICES_ORDER=PCI_BUS_ID", "finding=GM007", 0},
	{"a numbered variable", "", "CUDA_VISIBLE_DEVICES0=1", "!finding=GM007", 0},
	{"far from any", "", "CUDA_HOME=/usr", "!finding=GM007", 0},
	{"bytes of any kind", "", "CUDA_VISIBLE_DEVICES=\xff\x01,0", "visible=", 0},
	{"a name of bytes", "", "\xff\xfe=1|CUDA_VISIBLE_DEVICES=1", "visible=1", 0},
};

START_TEST(read_environments)
{
	const char *name = environments[_i].name;
	gpumap_mapping *mapping = NULL;
	gpumap_report *report;
	char *got;
	bool holds;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(name,
		   resolve_statements(&mapping, environments[_i].statements,
				      environments[_i].environment, "4", report),
		   environments[_i].code);
	holds = term_holds(environments[_i].want, 0, mapping, report, &got);
	ck_assert_msg(holds, "%s: not %s but '%s'", name, environments[_i].want, got);
	free(got);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
}
END_TEST

/* A refused value leaves the request unchanged. */
START_TEST(failure_changes_nothing)
{
	gpumap_mapping *mapping;
	gpumap_request *request;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_set(request, "device", "2", NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_set(request, "device", "x", NULL, NULL), GPUMAP_EINPUT);
	ck_assert_int_eq(gpumap_request_set(request, "devise", "1", NULL, NULL), GPUMAP_EKEY);
	ck_assert_int_eq(gpumap_resolve(&mapping, request, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_entry_int(gpumap_mapping_chosen(mapping), GPUMAP_ENTRY_PHYSICAL),
			 2);
	gpumap_mapping_free(mapping);
	gpumap_request_free(request);
}
END_TEST

#define NOBODY LIST_FROM_NONE
#define ENVIRON LIST_FROM_ENVIRONMENT
#define KEYS LIST_FROM_KEYS
#define ENV_LIST "CUDA_VISIBLE_DEVICES=2,1"

/* Where the list that holds comes from. */
static const struct {
	const char *statements, *environment;
	enum list_from want;
} lists[] = {
	{"", "", NOBODY},
	{"", ENV_LIST, ENVIRON},
	{"", "CUDA_VISIBLE_DEVICES=", ENVIRON},
	{"", "CUDA_DEVICE_ORDER=PCI_BUS_ID", NOBODY},
	{"device=0|mode=dp", "", NOBODY},
	{"device=0|mode=dp", ENV_LIST, ENVIRON},
	{"visible=1", "", KEYS},
	{"visible=1", ENV_LIST, KEYS},
	{"visible=CUDA_DEVICE_ORDER=PCI_BUS_ID", ENV_LIST, ENVIRON},
	{"prefix=1", ENV_LIST, KEYS},
	{"prefix=-CUDA_VISIBLE_DEVICES", ENV_LIST, NOBODY},
	{"prefix=1|in_code=-CUDA_VISIBLE_DEVICES", ENV_LIST, NOBODY},
	{"script_export=CUDA_VISIBLE_DEVICES?=1", ENV_LIST, ENVIRON},
	{"script_export=CUDA_VISIBLE_DEVICES?=1", "", KEYS},
	{"script_inline=1", ENV_LIST, KEYS},
	{"in_code=%l|local_rank=1", ENV_LIST, KEYS},
	{"after_init=1", "", NOBODY},
	{"after_init=1", ENV_LIST, ENVIRON},
	{"", "GPUMAP_VISIBLE=1|" ENV_LIST, KEYS},
	{"", "GPUMAP_PREFIX=1|" ENV_LIST, KEYS},
	{"", "GPUMAP_DEVICE=1|" ENV_LIST, ENVIRON},
	{"launcher=torchrun", ENV_LIST, ENVIRON},
	{"launcher=deepspeed", ENV_LIST, ENVIRON},
	{"launcher=deepspeed:1", ENV_LIST, KEYS},
	{"launcher=accelerate:all", ENV_LIST, ENVIRON},
	{"launcher=accelerate:1", "", KEYS},
	{"launcher=accelerate:1|in_code=-CUDA_VISIBLE_DEVICES", "", NOBODY},
	{"launcher=dask|local_rank=1", "", NOBODY},
	{"launcher=dask|local_rank=1", ENV_LIST, ENVIRON},
	{"launcher=slurm", ENV_LIST, NOBODY},
	{"launcher=slurm:1", ENV_LIST, KEYS},
	{"launcher=slurm:all", "", KEYS},
	{"launcher=ray:all", ENV_LIST, KEYS},
	{"launcher=ray", ENV_LIST, ENVIRON},
	{"launcher=ray:", ENV_LIST, KEYS},
	{"launcher=flux", "", KEYS},
	{"container=2,3", "", KEYS},
	{"container=all", "", NOBODY},
	{"cgroup=2,3", ENV_LIST, ENVIRON},
	{"mps_server=2", "", KEYS},
	{"dialect=torch", ENV_LIST, ENVIRON},
	{"dialect=nvitop|visible=1", ENV_LIST, KEYS},
	{"", "HIP_VISIBLE_DEVICES=1", NOBODY},
	{"dialect=hip", "HIP_VISIBLE_DEVICES=1", ENVIRON},
	{"dialect=hip", "HIP_VISIBLE_DEVICES=", NOBODY},
	{"dialect=hip|prefix=HIP_VISIBLE_DEVICES?=1", "HIP_VISIBLE_DEVICES=", NOBODY},
	{"dialect=hip", "HIP_VISIBLE_DEVICES=|" ENV_LIST, ENVIRON},
	{"dialect=hip", "ROCR_VISIBLE_DEVICES=", ENVIRON},
	{"dialect=hip|visible=1", "ROCR_VISIBLE_DEVICES=4,5", KEYS},
	{"dialect=rocr", "ROCR_VISIBLE_DEVICES=4,5", ENVIRON},
	{"dialect=rocr", ENV_LIST, NOBODY},
};

START_TEST(lists_have_authors)
{
	const char *name = lists[_i].statements;
	gpumap_request *request = NULL;
	enum list_from from;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(set_statements(request, lists[_i].statements, NULL), GPUMAP_OK);
	ck_assert_int_eq(surround(request, lists[_i].environment, NULL), GPUMAP_OK);
	ck_assert_int_eq(resolve_list_from(&from, request), GPUMAP_OK);
	ck_assert_msg(from == lists[_i].want, "%s with %s: %d, not %d", name, lists[_i].environment,
		      from, lists[_i].want);
	gpumap_request_free(request);
}
END_TEST

static const struct {
	const char *variable;
	bool want;
} stating[] = {
	{"PATH=/bin", false},
	{"CUDA_VISIBLE_DEVICES=0", true},
	{"CUDA_VISIBLE_DEVICES=", true},
	{"CUDA_VISIBLE_DEVICES", false},
	{"CUDA_VISIBLE_DEVICES0=1", false},
	{"CUDA_DEVICE_ORDER=PCI_BUS_ID", true},
	{"CUDA_DEVICE_ORDER=", false},
	{"CUDA_HOME=/usr", false},
	{"LOCAL_RANK=1", true},
	{"RANK=0", true},
	{"RANK=", false},
	{"WORLD_SIZE=4", false},
	{"SLURM_PROCID=0", true},
	{"SLURM_JOB_ID=4", false},
	{"OMPI_COMM_WORLD_LOCAL_RANK=0", true},
	{"NVIDIA_VISIBLE_DEVICES=all", false},
	{"HIP_VISIBLE_DEVICES=1", false},
	{"GPUMAP_INVENTORY=4", true},
	{"GPUMAP_INVENTORY=", false},
	{"GPUMAP_DEVICE=0", true},
	{"GPUMAP_DIALECT=hip", true},
	{"GPUMAP_CONFIG=gpumap.ini", false},
	{"GPUMAP_PRETEND_INVENTORY=8", false},
	{"GPUMAP_DEVCE=0", false},
	{"=", false},
	{"", false},
};

START_TEST(environments_state)
{
	const char *envp[] = {"HOME=/", stating[_i].variable, "TERM=dumb", NULL};

	ROW_EQ_INT(stating[_i].variable, environ_states(envp), stating[_i].want);
}
END_TEST

static int check_key(const gpumap_key *key, void *data)
{
	const char *name = gpumap_key_str(key, GPUMAP_KEY_NAME);
	char option[64] = "--", variable[64] = "GPUMAP_";
	size_t *count = data, n = strlen(name);

	for (size_t i = 0; i <= n; i++) {
		option[i + 2] = name[i] == '_' ? '-' : name[i];
		variable[i + 7] = (char)(name[i] >= 'a' ? name[i] - 32 : name[i]);
	}
	ROW_EQ_STR(name, gpumap_key_str(key, GPUMAP_KEY_OPTION), option);
	ROW_EQ_STR(name, gpumap_key_str(key, GPUMAP_KEY_ENVIRONMENT), variable);
	ck_assert_ptr_nonnull(gpumap_key_str(key, GPUMAP_KEY_VALUE));
	ck_assert_ptr_nonnull(gpumap_key_str(key, GPUMAP_KEY_HELP));
	return ++*count == 1000;
}

/* A caller's origin may have any bytes; what the library returns is UTF-8. */
START_TEST(origins_are_text)
{
	static const char origin[] = "a\xff\x1b[31m", shown[] = "a\\xff\\x1b[31m";
	static const char query[] =
		"GPU 0: H100 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n";
	static const char machine[] = "1xa\xff\x1b[31m";
	gpumap_request *request;
	gpumap_inventory *inventory, *assumed;
	gpumap_profile *profile;
	gpumap_mapping *mapping;
	size_t escaped = 0;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_set(request, "visible", "0", origin, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_set(request, "device", "0", origin, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_parse(&inventory, query, strlen(query), origin, NULL),
			 GPUMAP_OK);
	ck_assert_str_eq(gpumap_inventory_str(inventory, GPUMAP_INVENTORY_ORIGIN), shown);
	ck_assert_int_eq(synthetic_parse(&assumed, span_of(machine), NULL), GPUMAP_OK);
	ck_assert_str_eq(gpumap_inventory_str(assumed, GPUMAP_INVENTORY_ORIGIN),
			 "1xa\\xff\\x1b[31m");
	ck_assert_str_eq(gpumap_device_str(gpumap_inventory_get(assumed, 0), GPUMAP_DEVICE_NAME),
			 shown);
	gpumap_inventory_free(assumed);
	ck_assert_int_eq(gpumap_resolve(&mapping, request, inventory, NULL), GPUMAP_OK);
	for (size_t i = 0; i < gpumap_mapping_step_count(mapping); i++) {
		const char *got =
			gpumap_step_str(gpumap_mapping_step(mapping, i), GPUMAP_STEP_ORIGIN);

		ck_assert(!got || !strchr(got, '\x1b'));
		escaped += got && streq(got, shown);
	}
	ck_assert_uint_eq(escaped, 2);
	ck_assert_int_eq(gpumap_profile_new(&profile), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_set(profile, "device", "cuda:0", origin, NULL), GPUMAP_OK);
	ck_assert_str_eq(gpumap_profile_setting(profile, "device", GPUMAP_SETTING_ORIGIN), shown);
	gpumap_profile_free(profile);
	gpumap_mapping_free(mapping);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
}
END_TEST

START_TEST(keys_are_named_alike)
{
	size_t count = 0;

	ck_assert_int_eq(gpumap_key_each(check_key, &count), 0);
	ck_assert_uint_eq(count, KEY_COUNT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("request");
	TCase *tests = tcase_create("request");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, set_values, 0, (int)ARRAY_SIZE(values));
	tcase_add_loop_test(tests, read_statements, 0, (int)ARRAY_SIZE(statements));
	tcase_add_loop_test(tests, read_environments, 0, (int)ARRAY_SIZE(environments));
	tcase_add_loop_test(tests, lists_have_authors, 0, (int)ARRAY_SIZE(lists));
	tcase_add_loop_test(tests, environments_state, 0, (int)ARRAY_SIZE(stating));
	tcase_add_test(tests, failure_changes_nothing);
	tcase_add_test(tests, origins_are_text);
	tcase_add_test(tests, keys_are_named_alike);
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* --verify-mapping of a process: what NVML reported before and reports now, what the mapping names,
 * and what comes of it. */
#include "verify.h"

/* GPU 0 in MIG mode: instances 1 and 2 share a GPU instance. */
static const char parted[] = "[snapshot]\nschema = 1\n"
			     "[gpu 0]\nuuid = " UUID "0\npci = 0000:10:00.0\n"
			     "memory = 85899345920\nmig_enabled = yes\n"
			     "[mig 0:0]\nuuid = " MIG "0\nprofile = 3g.40gb\ngi = 1\nci = 0\n"
			     "[mig 0:1]\nuuid = " MIG "1\nprofile = 1c.3g.40gb\ngi = 2\nci = 0\n"
			     "[mig 0:2]\nuuid = " MIG "2\nprofile = 1c.3g.40gb\ngi = 2\nci = 1\n"
			     "[gpu 1]\nuuid = " UUID "1\npci = 0000:11:00.0\n"
			     "memory = 85899345920\n";

/* How much memory there is was not recorded. */
static const char unmeasured[] = "GPU 0: NVIDIA Z1 (UUID: " UUID "0)\n"
				 "GPU 1: NVIDIA Z1 (UUID: " UUID "1)\n";

#define BY_BOTH \
	"verified after the first step (NVML, by process, and where those are not listed by " \
	"what GPUs have in use): memory is on the GPUs it names, and on no other"
#define MORE_REMEDY \
	"and the mapping does not name it (rule G5); process ids are hidden, so it may be " \
	"another program's; set the device before anything else asks CUDA"
#define UNREAD_REMEDY "look at nvidia-smi, or leave out --verify-mapping"

enum { PID = 4242 };

static const struct {
	const char *name, *machine, *before, *now;
	struct place_device own[3];
	const char *good, *bad;
} rows[] = {
	{"as mapped", whole, "", "3 4242 900\n", {GPU(3)}, BY_PROCESS, NULL},
	{"by its number", whole, "", "3 4242 900\n", {NUMBER(3)}, BY_PROCESS, NULL},
	{"replicas on three",
	 whole,
	 "",
	 "2 4242 900\n1 4242 800\n3 4242 800\n",
	 {GPU(2), GPU(1), GPU(3)},
	 BY_PROCESS,
	 NULL},
	{"others compute elsewhere",
	 whole,
	 "6 99 4000\n",
	 "3 4242 900\n6 99 8000\n5 98 100\n",
	 {GPU(3)},
	 BY_PROCESS,
	 NULL},
	{"a small stray",
	 whole,
	 "",
	 "3 4242 900\n7 4242 1\n",
	 {GPU(3)},
	 NULL,
	 AT(7) ": 1.0 MiB of pid 4242 (rank 0 on GPU 3) after the first step" STRAY_REMEDY},
	{"a context on GPU 0",
	 whole,
	 "",
	 "0 4242 512\n3 4242 900\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": 512.0 MiB of pid 4242 (rank 0 on GPU 3) after the first step" STRAY_REMEDY},
	{"of a process with replicas",
	 whole,
	 "",
	 "0 4242 512\n3 4242 900\n2 4242 900\n",
	 {GPU(3), GPU(2)},
	 NULL,
	 AT(0) ": 512.0 MiB of pid 4242 after the first step" STRAY_REMEDY},
	{"all on the wrong one",
	 whole,
	 "",
	 "0 4242 1400\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": 1.4 GiB of pid 4242 (rank 0 on GPU 3) after the first step" STRAY_REMEDY},
	{"a replica without memory",
	 whole,
	 "",
	 "1 4242 900\n2 4242 900\n",
	 {GPU(2), GPU(1), GPU(3)},
	 NULL,
	 AT(3) ": the mapping names it for pid 4242, but that has no memory there after the first "
	       "step; " NOTHING_REMEDY},

	{"amounts not reported", whole, "", "3 4242 900?\n", {GPU(3)}, BY_PROCESS, NULL},
	{"a stray of such",
	 whole,
	 "0 99 100\n",
	 "0 99 100\n0 4242 512?\n3 4242 900?\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": 512.0 MiB of pid 4242 (rank 0 on GPU 3) after the first step" STRAY_REMEDY},
	{"reported for one of two entries",
	 whole,
	 "",
	 "0 4242 100\n0 4242 412?\n3 4242 900\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": at least 100.0 MiB of pid 4242 (rank 0 on GPU 3) after the first "
	       "step" STRAY_REMEDY},
	{"in two entries",
	 whole,
	 "",
	 "0 4242 100\n0 hidden 7\n0 4242 412\n3 4242 900\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": at least 412.0 MiB of pid 4242 (rank 0 on GPU 3) after the first "
	       "step" STRAY_REMEDY},
	{"neither amounts nor memory reported",
	 unmeasured,
	 "",
	 "0 4242 512?\n1 4242 900?\n",
	 {GPU(1)},
	 NULL,
	 "GPU 0 (0000:01:00.0, " UUID "0): memory of pid 4242 (rank 0 on GPU 1) after the first "
	 "step" STRAY_REMEDY},
	{"a part, and memory not reported",
	 unmeasured,
	 "",
	 "0 4242 100\n0 4242 412?\n1 4242 900\n",
	 {GPU(1)},
	 NULL,
	 "GPU 0 (0000:01:00.0, " UUID "0): at least 100.0 MiB of pid 4242 (rank 0 on GPU 1) after "
	 "the first step" STRAY_REMEDY},
	{"memory not reported", unmeasured, "", "1 4242 900\n", {GPU(1)}, BY_PROCESS, NULL},
	{"entries of 32 bytes",
	 whole,
	 "",
	 "3 wide\n3 7 100\n3 4242 900\n3 8 100\n",
	 {GPU(3)},
	 BY_PROCESS,
	 NULL},
	{"a stray in such",
	 whole,
	 "",
	 "0 wide\n0 7 100\n0 4242 512\n3 4242 9\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": 512.0 MiB of pid 4242 (rank 0 on GPU 3) after the first step" STRAY_REMEDY},

	{"hidden processes", whole, "", "3 hidden 900\n", {GPU(3)}, BY_DIFFERENCE, NULL},
	{"of another namespace", whole, "", "3 31337 900\n", {GPU(3)}, BY_DIFFERENCE, NULL},
	{"an id of another namespace",
	 whole,
	 "5 4242 300\n",
	 "5 4242 300\n3 31337 900\n",
	 {GPU(3)},
	 BY_DIFFERENCE,
	 NULL},
	{"hidden, beside others",
	 whole,
	 "3 hidden 4000\n6 hidden 20000\n",
	 "3 hidden 4900\n6 hidden 19000\n",
	 {GPU(3)},
	 BY_DIFFERENCE,
	 NULL},
	{"hidden, and the driver's own",
	 whole,
	 "",
	 "3 hidden 900\n0 hidden 32\n",
	 {GPU(3)},
	 BY_DIFFERENCE,
	 NULL},
	{"a hidden stray",
	 whole,
	 "0 hidden 1000\n",
	 "3 hidden 900\n0 hidden 1500\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": 500.0 MiB more in use after the first step than before this run, " MORE_REMEDY},
	{"hidden, and none",
	 whole,
	 "3 hidden 7000\n",
	 "3 hidden 7000\n",
	 {GPU(3)},
	 NULL,
	 AT(3) ": the mapping names it for pid 4242 (rank 0 on GPU 3), but no more is in use there "
	       "than before this run after the first step; " NOTHING_REMEDY},
	{"no lists",
	 whole,
	 "3 unlisted\n0 unlisted\n",
	 "3 unlisted\n3 4242 900\n0 unlisted\n",
	 {GPU(3)},
	 BY_DIFFERENCE,
	 NULL},
	{"a list is missing", whole, "", "3 4242 900\n0 unlisted\n", {GPU(3)}, BY_BOTH, NULL},
	{"a stray where it is",
	 whole,
	 "",
	 "3 4242 900\n0 unlisted\n0 4242 500\n",
	 {GPU(3)},
	 NULL,
	 AT(0) ": 500.0 MiB more in use after the first step than before this run, " MORE_REMEDY},
	{"hidden, memory not reported",
	 unmeasured,
	 "",
	 "1 hidden 900\n",
	 {GPU(1)},
	 NULL,
	 "GPU 1 (0000:02:00.0, " UUID "1): the mapping names it for pid 4242 (rank 0 on GPU 1), "
	 "and NVML cannot read it after the first step: its memory "
	 "is not known; " UNREAD_REMEDY},

	{"neither list nor memory reported",
	 unmeasured,
	 "",
	 "1 unlisted\n1 4242 900\n",
	 {GPU(1)},
	 NULL,
	 "GPU 1 (0000:02:00.0, " UUID "1): the mapping names it for pid 4242 (rank 0 on GPU 1), "
	 "and NVML cannot read it after the first step: not supported; " UNREAD_REMEDY},

	{"another GPU is lost",
	 whole,
	 "6 lost\n",
	 "6 lost\n3 4242 900\n",
	 {GPU(3)},
	 BY_PROCESS "; other GPUs cannot be read",
	 NULL},
	{"two are",
	 whole,
	 "",
	 "6 lost\n7 lost\n3 hidden 900\n",
	 {GPU(3)},
	 BY_DIFFERENCE "; other GPUs cannot be read",
	 NULL},
	{"its GPU is lost",
	 whole,
	 "",
	 "3 lost\n",
	 {GPU(3)},
	 NULL,
	 "GPU 3 (its UUID is not known): the mapping names it for pid 4242 (rank 0 on GPU 3), and "
	 "NVML cannot read it after the first step: the GPU is lost; " UNREAD_REMEDY},
	{"its GPU is lost, and another",
	 whole,
	 "",
	 "1 lost\n3 lost\n",
	 {GPU(3)},
	 NULL,
	 "GPU 3 (its UUID is not known): the mapping names it for pid 4242 (rank 0 on GPU 3), and "
	 "NVML cannot read it after the first step: the GPU is lost; " UNREAD_REMEDY},
	{"one without a number, and another is lost",
	 whole,
	 "",
	 "1 lost\n",
	 {{.physical = -1, .uuid = UUID "8"}},
	 NULL,
	 "GPU -1 (" UUID "8): the mapping names it for pid 4242 (rank 0 on GPU -1), and NVML does "
	 "not show it; nvidia-smi -L lists what is here"},
	{"one that is not here",
	 whole,
	 "",
	 "3 4242 900\n",
	 {GPU(3), {.physical = 8, .uuid = UUID "8"}},
	 NULL,
	 "GPU 8 (" UUID "8): the mapping names it for pid 4242, and NVML does not show it; "
	 "nvidia-smi -L lists what is here"},

	{"an instance", parted, "", "0:1 4242 900\n", {PART(0, 1)}, BY_PROCESS, NULL},
	{"a stray in another",
	 parted,
	 "",
	 "0:1 4242 900\n0:0 4242 90\n",
	 {PART(0, 1)},
	 NULL,
	 "GPU 0, instance 0 (0000:10:00.0, " MIG "0): 90.0 MiB of pid 4242 (rank 0 on GPU 0) after "
	 "the first step" STRAY_REMEDY},
	{"any of its instances", parted, "", "0:1 4242 900\n", {GPU(0)}, BY_PROCESS, NULL},
	{"any, by its number", parted, "", "0:1 4242 900\n", {NUMBER(0)}, BY_PROCESS, NULL},
	{"hidden in an instance",
	 parted,
	 "",
	 "0:0 hidden 900\n",
	 {PART(0, 0)},
	 BY_DIFFERENCE,
	 NULL},
	{"memory in common",
	 parted,
	 "",
	 "0:1 hidden 900\n0:2 hidden 900\n",
	 {PART(0, 1)},
	 BY_DIFFERENCE,
	 NULL},
	{"a hidden stray in another",
	 parted,
	 "",
	 "0:1 hidden 900\n0:0 hidden 90\n",
	 {PART(0, 1)},
	 NULL,
	 "GPU 0, instance 0 (0000:10:00.0, " MIG "0): 90.0 MiB more in use after the first step "
	 "than before this run, " MORE_REMEDY},
};

/* A world of one. */
static bool look_alone(const struct verify_options *options, char text[VERIFY_TEXT],
		       struct train_error *error)
{
	const struct rendezvous_options one = {.world = 1, .ranks = 1};
	struct rendezvous *rendezvous = NULL;
	struct communicator *comm = NULL;
	bool good;

	ck_assert(collective_self.meet(&rendezvous, &one, error));
	ck_assert(collective_self.open(&comm, rendezvous, 0, NULL, error));
	good = verify_look(options, comm, text, error);
	collective_self.close(comm);
	collective_self.leave(rendezvous);
	return good;
}

static int count_own(const struct place_device own[3])
{
	int count = 1;

	while (count < 3 && (own[count].physical || *own[count].uuid))
		count++;
	return count;
}

START_TEST(facts)
{
	struct train_error error = {.status = TRAIN_OK};
	struct verify *verify = NULL;
	struct verify_options options = {
		.own = rows[_i].own,
		.own_count = count_own(rows[_i].own),
		.mine = rows[_i].own[0],
		.when = "after the first step",
	};
	char text[VERIFY_TEXT] = "";
	bool good;

	pretend(rows[_i].machine, rows[_i].before);
	ck_assert_msg(verify_open(&verify, PID, &error), "%s: %s", rows[_i].name, error.text);
	options.verify = verify;
	write_use(rows[_i].now);
	good = look_alone(&options, text, &error);
	verify_close(verify);
	if (rows[_i].bad) {
		ck_assert_msg(!good, "%s: is good: %s", rows[_i].name, text);
		ROW_EQ_STR(rows[_i].name, error.text, rows[_i].bad);
		ROW_EQ_INT(rows[_i].name, error.status, TRAIN_FAILED);
	} else {
		ck_assert_msg(good, "%s: %s", rows[_i].name, error.text);
		ROW_EQ_STR(rows[_i].name, text, rows[_i].good);
	}
}
END_TEST

/* More than a first list has room for. */
START_TEST(many_processes)
{
	static const struct place_device own[3] = {GPU(3)};
	struct train_error error = {.status = TRAIN_OK};
	struct verify_options options = {
		.own = own, .own_count = 1, .mine = own[0], .when = "after the first step"};
	struct verify *verify = NULL;
	char text[VERIFY_TEXT] = "", use[4096] = "", *to = use;

	for (int i = 0; i < 100; i++)
		to += sprintf(to, "3 %d 10\n", 5000 + i);
	pretend(whole, use);
	ck_assert_msg(verify_open(&verify, PID, &error), "%s", error.text);
	options.verify = verify;
	sprintf(to, "3 %d 500\n", PID);
	write_use(use);
	ck_assert_msg(look_alone(&options, text, &error), "%s", error.text);
	ck_assert_str_eq(text, BY_PROCESS);
	verify_close(verify);
}
END_TEST

/* --- without NVML */

/* Where GPUs have no driver, that is the reason. */
static void fails_with(const char *reason)
{
	static const char remedy[] = "; NVML comes with NVIDIA's driver; a container needs "
				     "NVIDIA_DRIVER_CAPABILITIES=compute,utility";
	struct train_error error = {.status = TRAIN_OK};
	struct verify *verify = NULL;

	ck_assert(!verify_open(&verify, PID, &error));
	ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
	ck_assert_msg(strncmp(error.text, "--verify-mapping: ", 18) == 0 &&
			      (strstr(error.text, reason) ||
			       strstr(error.text, " on the PCI bus cannot be used;")) &&
			      strstr(error.text, remedy),
		      "%s", error.text);
}

START_TEST(no_library)
{
	void *real = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (real) { /* a machine with a driver */
		dlclose(real);
		return;
	}
	fails_with(": this host has no NVIDIA GPU (none on the PCI bus, and no driver);");
}
END_TEST

START_TEST(no_driver)
{
	pretend("", "");
	unsetenv("GPUMAP_PRETEND_INVENTORY");
	fails_with(" reports: the driver is not loaded");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify");
	TCase *tcase = tcase_create("verify");

	tcase_add_loop_test(tcase, facts, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tcase, many_processes);
	tcase_add_test(tcase, no_library);
	tcase_add_test(tcase, no_driver);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}

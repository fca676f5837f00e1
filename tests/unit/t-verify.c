/* SPDX-License-Identifier: MIT */
/* gpumap verify: what it makes of what can be seen, and its answers when memory runs out. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/verify.h"
#include "report/report.h"
#include "unit.h"

enum { MAX_RANKS = 4 };

/*
 * A rank is "PROCESS LIST OWN USES":
 *	PROCESS	alive, starting, gone, unseen, stopped, exit:N, signal:N
 *	LIST	same, changed, unseen
 *	OWN	devices ("1", "0,1", "0.1" for an instance), - for none, ? for not known
 *	USES	devices, "PID@1" for a child of the rank, - for none
 * A GPU is a letter: v visible, h hidden processes, u unlisted, m unmeasured.
 */
static const struct {
	const char *name, *gpus, *ranks[MAX_RANKS], *states, *ids;
} rows[] = {
	{"all on their GPUs", "vv", {"alive same 0 0", "alive same 1 1"}, "right right", ""},
	{"a child of the rank", "vv", {"alive same 1 900@1"}, "right", ""},
	{"not used yet", "vv", {"alive same 0 0", "alive same 1 -"}, "right unused", ""},
	{"not started", "v", {"starting same 0 -"}, "unused", ""},
	{"two GPUs, one in use", "vv", {"alive same 0,1 1"}, "right", ""},
	{"two ranks on one GPU", "v", {"alive same 0 0", "alive same 0 0"}, "right right", ""},
	{"no GPU planned, none used", "v", {"alive same - -"}, "right", ""},
	{"no GPU planned, one used", "v", {"alive same - 0"}, "wrong", "GM474"},
	{"on another GPU", "vvv", {"alive same 1 2"}, "wrong", "GM474"},
	{"on the GPU of another",
	 "vv",
	 {"alive same 0 0", "alive same 1 0"},
	 "right wrong",
	 "GM474"},
	{"swapped", "vv", {"alive same 0 1", "alive same 1 0"}, "wrong wrong", "GM474 GM474"},
	{"a stray context", "vv", {"alive same 0 0", "alive same 1 0,1"}, "right wrong", "GM475"},
	{"of a child", "vv", {"alive same 1 900@0,1"}, "wrong", "GM475"},
	{"on two other GPUs", "vvv", {"alive same 2 0,1,2"}, "wrong", "GM475 GM475"},
	{"two contexts on one other GPU", "vv", {"alive same 1 900@0,0,1"}, "wrong", "GM475"},
	{"killed", "v", {"signal:9 same 0 -"}, "wrong", "GM472"},
	{"failed", "v", {"exit:3 same 0 -"}, "wrong", "GM472"},
	{"stopped by its launcher", "v", {"stopped same 0 -"}, "ended", ""},
	{"ended well", "v", {"exit:0 same 0 -"}, "ended", ""},
	{"an end that was not seen", "v", {"exit:-1 same 0 -"}, "wrong", "GM472"},
	{"gone", "v", {"gone same 0 -"}, "wrong", "GM472"},
	{"another list", "vv", {"alive changed 0 0"}, "wrong", "GM473"},
	{"another list, and GPU", "vv", {"alive changed 0 1"}, "wrong", "GM473 GM474"},
	{"another list, not used", "vv", {"alive changed 0 -"}, "wrong", "GM473"},
	{"the process is not visible", "v", {"unseen same 0 -"}, "hidden", "GM476"},
	{"the environment is not readable", "v", {"alive unseen 0 0"}, "hidden", "GM476"},
	{"nor is its GPU the right one", "vv", {"alive unseen 0 1"}, "wrong", "GM476 GM474"},
	{"its GPUs are not known", "v", {"alive same ? 0"}, "hidden", "GM476"},
	{"its GPU has hidden processes", "hv", {"alive same 0 -"}, "hidden", "GM476"},
	{"beside its own", "hv", {"alive same 0 0"}, "right", ""},
	{"another GPU has", "vh", {"alive same 0 0", "alive same 1 -"}, "right hidden", "GM476"},
	{"its GPU is not listed", "uv", {"alive same 0 -"}, "hidden", "GM476"},
	{"another GPU is not listed", "vu", {"alive same 0 0"}, "right", "GM476"},
	{"its GPU is not measured", "m", {"alive same 0 -"}, "hidden", "GM476"},
	{"its GPU is not measured, but in use", "m", {"alive same 0 0"}, "right", ""},
	{"its GPU is not there", "v", {"alive same 3 -"}, "hidden", ""},
	{"no NVML", "", {"alive same 0 -"}, "hidden", ""},
	{"no NVML, and killed", "", {"signal:9 same 0 -"}, "wrong", "GM472"},
	{"no NVML, another list", "", {"alive changed 0 -"}, "wrong", "GM473"},
	{"its instance", "v", {"alive same 0.1 0.1"}, "right", ""},
	{"another instance", "v", {"alive same 0.1 0.0"}, "wrong", "GM474"},
	{"an instance that is not known", "v", {"alive same 0.1 0"}, "right", ""},
	{"an instance of its GPU", "v", {"alive same 0 0.1"}, "right", ""},
	{"two instances", "v", {"alive same 0.1 0.0,0.1,0.0"}, "wrong", "GM475"},
};

/* --- facts from text ------------------------------------------------------------------ */

static struct verify_device device_of(struct span text)
{
	struct span gpu;

	span_split(&text, '.', &gpu);
	return (struct verify_device){(int)span_number(gpu, 99),
				      text.text ? (int)span_number(text, 99) : -1};
}

static void set_process(struct verify_rank *rank, struct span word)
{
	static const char *const words[] = {[VERIFY_STARTING] = "starting",
					    [VERIFY_ALIVE] = "alive",
					    [VERIFY_ENDED] = "exit",
					    [VERIFY_GONE] = "gone",
					    [VERIFY_UNSEEN] = "unseen"};

	rank->status = -1;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_is(word, words[i]))
			rank->process = (enum verify_process)i;
	if (span_is(word, "stopped")) {
		rank->process = VERIFY_ENDED;
		rank->signal = SIGTERM;
		rank->stopped = true;
	}
	if (!span_starts(word, "exit:") && !span_starts(word, "signal:"))
		return;
	rank->process = VERIFY_ENDED;
	if (*word.text == 'e')
		rank->status = atoi(word.text + strlen("exit:"));
	else
		rank->signal = atoi(word.text + strlen("signal:"));
}

static void set_own(struct verify_rank *rank, struct span list)
{
	struct span device;

	if (span_is(list, "?"))
		rank->own_unknown = "of a test";
	if (span_is(list, "?") || span_is(list, "-"))
		return;
	while (span_split(&list, ',', &device))
		rank->own[rank->own_count++] = device_of(device);
}

static void set_uses(struct verify_rank *rank, struct span list)
{
	struct span use, pid;

	if (span_is(list, "-"))
		return;
	while (span_split(&list, ',', &use)) {
		struct verify_use *to = &rank->uses[rank->use_count++];

		*to = (struct verify_use){.pid = rank->pid, .memory = (int64_t)500 << 20};
		span_split(&use, '@', &pid);
		if (use.text)
			to->pid = span_number(pid, 9999);
		to->device = device_of(use.text ? use : pid);
	}
}

static void set_rank(struct verify_rank *rank, int number, const char *text)
{
	struct span rest = span_of(text), word;

	rank->rank = number;
	rank->pid = 4700 + number;
	rank->own = calloc(8, sizeof(*rank->own));
	rank->uses = calloc(8, sizeof(*rank->uses));
	rank->variables[VERIFY_VISIBLE].planned = strdup("0");
	span_split(&rest, ' ', &word);
	set_process(rank, word);
	span_split(&rest, ' ', &word);
	rank->list = span_is(word, "changed")  ? VERIFY_LIST_CHANGED
		     : span_is(word, "unseen") ? VERIFY_LIST_UNSEEN
					       : VERIFY_LIST_SAME;
	rank->variables[VERIFY_VISIBLE].now = strdup(span_is(word, "changed") ? "1" : "0");
	span_split(&rest, ' ', &word);
	set_own(rank, word);
	span_split(&rest, ' ', &word);
	set_uses(rank, word);
}

static void make(struct verify *v, size_t row)
{
	*v = (struct verify){.run = strdup("a-run"), .no_usage = !*rows[row].gpus};
	v->ranks = calloc(MAX_RANKS, sizeof(*v->ranks));
	v->gpus = calloc(strlen(rows[row].gpus) + 1, sizeof(*v->gpus));
	for (const char *c = rows[row].gpus; *c; c++) {
		v->gpus[v->gpu_count] =
			(struct verify_gpu){(int)v->gpu_count, *c != 'u', *c == 'h', *c == 'm'};
		v->gpu_count++;
	}
	for (; v->count < MAX_RANKS && rows[row].ranks[v->count]; v->count++)
		set_rank(&v->ranks[v->count], (int)v->count, rows[row].ranks[v->count]);
}

/* --- judging -------------------------------------------------------------------------- */

static void add_word(char *text, size_t size, const char *word)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length ? " " : "", word);
}

START_TEST(each_is_judged)
{
	static const char *const words[] = {
		[VERIFY_RIGHT] = "right",   [VERIFY_OVER] = "ended",  [VERIFY_UNUSED] = "unused",
		[VERIFY_HIDDEN] = "hidden", [VERIFY_WRONG] = "wrong",
	};
	const char *name = rows[_i].name;
	char states[80] = "", ids[80] = "";
	gpumap_report *report = NULL;
	struct verify v;
	bool right;

	make(&v, (size_t)_i);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	verify_compare(&v, report);
	for (size_t i = 0; i < v.count; i++)
		add_word(states, sizeof(states), words[v.ranks[i].state]);
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		add_word(ids, sizeof(ids),
			 gpumap_finding_str(gpumap_report_get(report, i), GPUMAP_FINDING_ID));
	ROW_EQ_STR(name, states, rows[_i].states);
	ROW_EQ_STR(name, ids, rows[_i].ids);
	right = !*ids && !strstr(states, "hidden");
	ROW_EQ_INT(name, verify_is_right(&v), right);
	gpumap_report_free(report);
	verify_free(&v);
}
END_TEST

/* --- messages ------------------------------------------------------------------------- */

static const struct {
	const char *row, *text;
} messages[] = {
	{"on the GPU of another",
	 "rank 1 (process 4701) has memory on GPU 0 (500 MiB), which is rank "
	 "0's, and none on its own GPU 1"},
	{"on another GPU",
	 "rank 0 (process 4700) has memory on GPU 2 (500 MiB), and none on its own "
	 "GPU 1"},
	{"no GPU planned, one used",
	 "rank 0 (process 4700) has memory on GPU 0 (500 MiB), and is to "
	 "use no GPU"},
	{"of a child",
	 "rank 0 (process 900) also has memory on GPU 0 (500 MiB), besides its own GPU "
	 "1"},
	{"two contexts on one other GPU",
	 "rank 0 (process 900) also has memory on GPU 0 (1000 MiB), "
	 "besides its own GPU 1"},
	{"another instance",
	 "rank 0 (process 4700) has memory on GPU 0 MIG 0 (500 MiB), and none on "
	 "its own GPU 0 MIG 1"},
	{"killed", "rank 0 (process 4700): SIGKILL ended it"},
	{"failed", "rank 0 (process 4700): it has ended with status 3"},
	{"gone", "rank 0 (process 4700): its process is gone, and gpumap run has not noticed"},
	{"another list", "rank 0 (process 4700) has CUDA_VISIBLE_DEVICES=1; gpumap run gave it "
			 "CUDA_VISIBLE_DEVICES=0"},
	{"another GPU is not listed",
	 "GPU 1: its processes are not listed, so memory of the job there "
	 "would not be seen"},
};

START_TEST(messages_name_what_differs)
{
	gpumap_report *report = NULL;
	struct verify v;
	size_t row = 0;

	while (row < ARRAY_SIZE(rows) && strcmp(rows[row].name, messages[_i].row) != 0)
		row++;
	ck_assert_msg(row < ARRAY_SIZE(rows), "no row '%s'", messages[_i].row);
	make(&v, row);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	verify_compare(&v, report);
	ck_assert_uint_ge(gpumap_report_count(report), 1);
	ROW_EQ_STR(messages[_i].row,
		   gpumap_finding_str(gpumap_report_get(report, 0), GPUMAP_FINDING_TEXT),
		   messages[_i].text);
	gpumap_report_free(report);
	verify_free(&v);
}
END_TEST

/* --- the answers ------------------------------------------------------------------------ */

/* For people and as JSON, of every row. */
START_TEST(answers_name_the_run)
{
	struct strbuf text = {0}, json = {0};
	struct verify v;

	make(&v, (size_t)_i);
	verify_compare(&v, NULL);
	verify_text(&text, &v);
	verify_json(&json, &v, NULL);
	ck_assert_msg(strstr(text.text, "a-run"), "%s: %s", rows[_i].name, text.text);
	ck_assert_msg(strstr(json.text, "a-run"), "%s: %s", rows[_i].name, json.text);
	strbuf_free(&text);
	strbuf_free(&json);
	verify_free(&v);
}
END_TEST

/* --- reading -------------------------------------------------------------------------- */

/* This process is the rank. Its environment has "0"; the plan is another text for each row. */
static const struct {
	const char *name, *visible, *order, *gpus, *own;
	bool changed;
} plans[] = {
	{"the same", "0", NULL, "0", "GPU 0", false},
	{"in other words", "GPU-5eed0000-0000-4000-8000-000000000000", NULL, "0", "GPU 0", false},
	{"another", "1", NULL, "1", "GPU 1", true},
	{"one more", "0,1", NULL, "0", "GPU 0", true},
	{"all", NULL, NULL, "0", "GPU 0", true},
	{"none", "", NULL, "", "", true},
	{"another order of equal GPUs", "0", "PCI_BUS_ID", "0", "GPU 0", false},
	{"no word", "x", NULL, "0", "GPU 0", true},
	{"own by the list", "1,0", NULL, NULL, "GPU 1 GPU 0", true},
	{"own by UUID", "0", NULL, "GPU-5eed0000-0000-4000-8000-000000000001", "GPU 1", false},
	{"own that is not here", "0", NULL, "7", "?", false},
};

static void read_usage(struct ps *ret)
{
	gpumap_inventory *inventory = NULL;
	char text[1024];

	snprintf(text, sizeof(text),
		 "[snapshot]\nschema = 2\n"
		 "[gpu 0]\nname = X\nuuid = GPU-5eed0000-0000-4000-8000-000000000000\n"
		 "memory = 85899345920\nused = 1048576\nprocesses = all\n"
		 "[process 0:0]\npid = %d\nvisible = yes\ntypes = compute\nmemory = 1048576\n"
		 "[gpu 1]\nname = X\nuuid = GPU-5eed0000-0000-4000-8000-000000000001\n"
		 "memory = 85899345920\nused = 0\nprocesses = all\n",
		 (int)getpid());
	ck_assert_int_eq(gpumap_inventory_parse(&inventory, text, strlen(text), "m", NULL),
			 GPUMAP_OK);
	ps_make(ret, inventory);
}

static struct live_rank planned(size_t row)
{
	return (struct live_rank){.state = LIVE_RUNNING,
				  .pid = getpid(),
				  .at_ns = INT64_MAX,
				  .status = -1,
				  .visible = plans[row].visible,
				  .order = plans[row].order,
				  .gpus = plans[row].gpus};
}

START_TEST(a_rank_is_read)
{
	const char *name = plans[_i].name;
	struct live_rank rank = planned((size_t)_i);
	struct live_run live = {.run = "a", .ranks = &rank, .count = 1};
	char own[80] = "";
	struct verify v;
	struct ps ps;

	read_usage(&ps);
	verify_make(&v, &live, &ps);
	ROW_EQ_INT(name, v.ranks[0].process, VERIFY_ALIVE);
	ROW_EQ_INT(name, v.ranks[0].list,
		   plans[_i].changed ? VERIFY_LIST_CHANGED : VERIFY_LIST_SAME);
	for (size_t i = 0; i < v.ranks[0].own_count; i++)
		add_word(own, sizeof(own), VERIFY_NAME(v.ranks[0].own[i]));
	ROW_EQ_STR(name, v.ranks[0].own_unknown ? "?" : own, plans[_i].own);
	ROW_EQ_INT(name, v.ranks[0].use_count, 1);
	ROW_EQ_INT(name, v.ranks[0].uses[0].memory, 1048576);
	verify_free(&v);
}
END_TEST

/* Its number, but another process: that started after the rank was seen. */
START_TEST(a_number_that_is_used_again)
{
	struct live_rank rank = planned(0);
	struct live_run live = {.run = "a", .ranks = &rank, .count = 1};
	struct verify v;
	struct ps ps;

	rank.at_ns = 0;
	read_usage(&ps);
	verify_make(&v, &live, &ps);
	ck_assert_int_eq(v.ranks[0].process, VERIFY_GONE);
	ck_assert_uint_eq(v.ranks[0].use_count, 0);
	verify_free(&v);
}
END_TEST

/* A rank that is about to become its program has the environment of its guard. A program that is
 * gpumap itself, or another one, may have lost its list. */
static const struct {
	const char *name, *file;
	const char *envp[5];
	enum verify_process process;
	enum verify_list list;
} begins[] = {
	{"before its program",
	 "gpumap",
	 {"WAIT=1", "CUDA_VISIBLE_DEVICES=7"},
	 VERIFY_STARTING,
	 VERIFY_LIST_SAME},
	{"before its program, in another run",
	 "gpumap",
	 {"WAIT=1", "CUDA_VISIBLE_DEVICES=7", "GPUMAP_RUN_ID=b", "GPUMAP_RUN_RANK=0"},
	 VERIFY_STARTING,
	 VERIFY_LIST_SAME},
	{"gpumap itself",
	 "gpumap",
	 {"WAIT=1", "CUDA_VISIBLE_DEVICES=7", "GPUMAP_RUN_ID=a", "GPUMAP_RUN_RANK=0"},
	 VERIFY_ALIVE,
	 VERIFY_LIST_CHANGED},
	{"without its variables",
	 "program",
	 {"WAIT=1", "CUDA_VISIBLE_DEVICES=7"},
	 VERIFY_ALIVE,
	 VERIFY_LIST_CHANGED},
};

static void copy_self(const char *path)
{
	FILE *from = fopen("/proc/self/exe", "r"), *to = fopen(path, "w");
	char bytes[65536];
	size_t n;

	ck_assert(from && to);
	while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
		ck_assert_uint_eq(fwrite(bytes, 1, n, to), n);
	fclose(from);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_int_eq(chmod(path, 0700), 0);
}

/* A copy of this program that says when it has begun, and waits for the end of its input. */
static pid_t wait_as(const char *path, const char *const envp[], int *input)
{
	char *argv[] = {(char[]){"x"}, NULL}, byte;
	int in[2], out[2];
	pid_t pid;

	ck_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execve(path, argv, (char *const *)(uintptr_t)envp);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	ck_assert_int_eq(read(out[0], &byte, 1), 1);
	close(out[0]);
	*input = in[1];
	return pid;
}

START_TEST(a_rank_begins)
{
	struct live_rank rank = {.state = LIVE_RUNNING, .at_ns = INT64_MAX, .visible = "0"};
	struct live_run live = {.run = "a", .ranks = &rank, .count = 1};
	char folder[] = "/tmp/gpumap-verify-XXXXXX", path[64];
	struct verify v;
	int input;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, begins[_i].file);
	copy_self(path);
	rank.pid = wait_as(path, begins[_i].envp, &input);
	unlink(path);
	rmdir(folder);
	verify_make(&v, &live, NULL);
	close(input);
	ck_assert_int_eq(waitpid(rank.pid, NULL, 0), rank.pid);
	ROW_EQ_INT(begins[_i].name, v.ranks[0].process, begins[_i].process);
	ROW_EQ_INT(begins[_i].name, v.ranks[0].list, begins[_i].list);
	verify_free(&v);
}
END_TEST

START_TEST(without_usage)
{
	struct live_rank rank = planned(0);
	struct live_run live = {.run = "a", .ranks = &rank, .count = 1};
	struct verify v;

	verify_make(&v, &live, NULL);
	verify_compare(&v, NULL);
	ck_assert_int_eq(v.ranks[0].state, VERIFY_HIDDEN);
	verify_free(&v);
}
END_TEST

/* The environment of a process is that with which it started. */
static int start_with_list(char **argv)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	if (list && streq(list, "0") && !getenv("CUDA_DEVICE_ORDER"))
		return 0;
	setenv("CUDA_VISIBLE_DEVICES", "0", 1);
	unsetenv("CUDA_DEVICE_ORDER");
	/* There /proc/self/exe is valgrind. */
	if (getenv("GPUMAP_TEST_VALGRIND"))
		execl("/bin/sh", "sh", "-c", "exec $GPUMAP_TEST_VALGRIND \"$0\"", argv[0], NULL);
	execv("/proc/self/exe", argv);
	return -1;
}

int main(int argc, char **argv)
{
	Suite *suite = suite_create("verify");
	TCase *tests = tcase_create("verify");

	char byte = 0;

	if (getenv("WAIT"))
		return write(STDOUT_FILENO, "", 1) == 1 ? (int)read(STDIN_FILENO, &byte, 1) : 1;
	if (start_with_list(argv) < 0)
		return EXIT_FAILURE;
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, each_is_judged, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, messages_name_what_differs, 0, ARRAY_SIZE(messages));
	tcase_add_loop_test(tests, answers_name_the_run, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, a_rank_is_read, 0, ARRAY_SIZE(plans));
	tcase_add_test(tests, a_number_that_is_used_again);
	tcase_add_loop_test(tests, a_rank_begins, 0, ARRAY_SIZE(begins));
	tcase_add_test(tests, without_usage);
	return unit_run(suite);
}

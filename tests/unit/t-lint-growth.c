/* SPDX-License-Identifier: MIT */
/* Files of megabytes that repeat one construct: reading a byte of them takes not much more than
 * reading a byte of a common program. */
#include <time.h>
#include <unistd.h>

#include "lint/lint.h"
#include "report/report.h"
#include "strbuf.h"
#include "unit.h"

#define TORCH \
	"import os, torch\nfrom torch import nn\nimport torch.distributed as dist\n" \
	"from torch.nn.parallel import DistributedDataParallel as DDP\n" \
	"dist.init_process_group('nccl')\nnet = nn.Linear(1, 2)\n"

#define TEN(text) text text text text text text text text text text
#define MANY(text) TEN(TEN(TEN(text text)))

#define CELL "{\"cell_type\":\"code\",\"source\":\""
#define LETTERS(of) \
	of("a") of("b") of("c") of("d") of("e") of("f") of("g") of("h") of("i") of("j") of("k") \
		of("l") of("m") of("n") of("o") of("p") of("q") of("r") of("s") of("t")
#define LOAD(name) name " = torch.load('" name "')\\n"
#define USE(name) "net.load_state_dict(" name ")\\nnet.to('cuda:0,1')\\n"

/* begin, then lines: before, piece and piece and piece ..., after; then end. A piece is a format
 * for its number and the next. */
static const struct growth {
	const char *name, *begin, *before, *piece;
	size_t pieces; /* in a line */
	const char *after, *end, *suffix;
} rows[] = {
	{"a line of saves", TORCH, "", "torch.save(a, 'b'),", 1700, "\n", "", ".py"},
	{"layers for many names", TORCH "class A(nn.Module):\n def __init__(self):\n", "  ",
	 "self.a = ", 2000, "nn.Sequential(" MANY("a,") ")\n", "", ".py"},
	{"states for many names", TORCH, "", "a = ", 4000, "{" MANY("'a': b, ") "}\n", "", ".py"},
	{"attributes for many names", TORCH, "", "a = ", 4000, "x" MANY(".a") "\n", "", ".py"},
	{"a device by a device", TORCH, "x(", "device=", 8000, "1)\n", "", ".py"},
	{"modules on the CPU", TORCH, "", "DDP(net, device_ids=[0])\n", 1, "", "", ".py"},
	{"calls in the other order",
	 "import multiprocessing\n" TORCH
	 "def g1(r):\n dist.init_process_group('nccl', rank=r, world_size=4)\n",
	 "", "def g\2(r):\n g\1(r)\n", 1, "",
	 TEN("for i in range(4): multiprocessing.Process(target=g9000, args=(i,)).start()\n"),
	 ".py"},
	{"calls beside the ranks that are started",
	 "import torch.multiprocessing as mp\n" TORCH
	 "def g0(r):\n dist.init_process_group('gloo', rank=r, world_size=4)\n"
	 "def w(i):\n g0(i)\nmp.spawn(w, nprocs=4)\n",
	 "", "def h\2():\n h\1()\nh\2()\n", 1, "", "", ".py"},
	{"findings of two cells in turn",
	 "{\"cells\":[" CELL "import torch\\n"
	 "from torch.nn.parallel import DistributedDataParallel as DDP\\n"
	 "torch.distributed.init_process_group('nccl')\\nnet = DDP(x)\\n" LETTERS(
		 LOAD) "\"}," CELL LETTERS(USE),
	 "", "x = f(a, b)\\n", 1, "", "\"}]}", ".ipynb"},
	{"findings in a line of a notebook", "{\"cells\":[" CELL "!", "",
	 "CUDA_VISIBLE_DEVICES=0,, a;", 1, "", "\"}]}", ".ipynb"},
};

enum { SIZE = 1 << 20, TRIES = 3, MOST = 10 };

static void put_piece(struct strbuf *buf, const char *piece, int number)
{
	for (; *piece; piece++)
		if (*piece == '\1' || *piece == '\2')
			strbuf_printf(buf, "%d", number + *piece);
		else
			strbuf_add(buf, piece, 1);
}

static void write_text(char *path, const struct growth *row)
{
	size_t size = SANITIZED || getenv("GPUMAP_TEST_VALGRIND") ? SIZE / 10 : SIZE;
	struct strbuf buf = {0};
	int number = 0;
	int fd = mkstemps(path, (int)strlen(row->suffix));

	ck_assert_int_ge(fd, 0);
	strbuf_puts(&buf, row->begin);
	while (!buf.failed && buf.length < size) {
		strbuf_puts(&buf, row->before);
		for (size_t i = 0; i < row->pieces; i++)
			put_piece(&buf, row->piece, number++);
		strbuf_puts(&buf, row->after);
	}
	strbuf_puts(&buf, row->end);
	ck_assert(!buf.failed);
	ck_assert_int_eq(write(fd, buf.text, buf.length), (ssize_t)buf.length);
	close(fd);
	strbuf_free(&buf);
}

/* The processor time that a file of the row takes, in nanoseconds. */
static double time_of(const struct growth *row)
{
	char path[] = "t-lint-growth-XXXXXX.ipynb";
	const char *const paths[] = {path};
	struct timespec begin, end;
	struct lint lint = {.launcher = "torchrun"};

	strcpy(strchr(path, '.'), row->suffix);
	write_text(path, row);
	ck_assert_int_eq(gpumap_report_new(&lint.found), GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&lint.failures), GPUMAP_OK);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	ROW_EQ_INT(row->name, lint_files(&lint, paths, 1), GPUMAP_OK);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	gpumap_report_free(lint.found);
	gpumap_report_free(lint.failures);
	unlink(path);
	return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

START_TEST(growth)
{
	static const struct growth common = {"common", TORCH, "", "x = f(a, b)\n",
					     1,        "",    "", ".py"};
	double ratio = MOST;

	for (int i = 0; i < TRIES && ratio >= MOST; i++)
		ratio = time_of(&rows[_i]) / time_of(&common);
	ck_assert_msg(ratio < MOST, "%s: takes %.0f times as long as common code", rows[_i].name,
		      ratio);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint-growth");
	TCase *tests = tcase_create("lint-growth");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, growth, 0, ARRAY_SIZE(rows));
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* How programs pick their device, as read from them: tests/vectors/python-device.tsv. */
#include "lint/python.h"
#include "strbuf.h"
#include "tsv.h"
#include "unit.h"

static struct tsv table;

START_TEST(vectors)
{
	const struct tsv_row *row = &table.rows[_i];
	char *copy = strdup(row->column[2]);
	struct python_device device;

	ck_assert_ptr_nonnull(copy);
	device = lint_python_device(tsv_unescape(copy));
	ROW_EQ_STR(row->column[2], *device.text ? device.text : "-", row->column[0]);
	ROW_EQ_INT(row->column[2], device.line, atoi(row->column[1]));
	free(copy);
}
END_TEST

/* Nothing is read behind the end. */
START_TEST(prefixes)
{
	static const char whole[] =
		"import os, torch\nfrom accelerate import Accelerator\ndef f(a, *b):\n    global "
		"r\n"
		"    r: int = int(os.environ.get('LOCAL_RANK', \"0\"))\n    torch.device('cuda', "
		"r)\n"
		"    torch.cuda.set_device(f'cuda:{r}')\nf(x := 'cuda:%d' % r)\nmatch a:\n  case "
		"1:\n"
		"    m = DDP(m.cuda(1).to(device='cuda:0'), device_ids=[0, 1])\nAccelerator(**a)\n";

	for (size_t n = 0; n < sizeof(whole); n++) {
		char *copy = malloc(n + !n);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, whole, n);
		lint_python_device((struct span){copy, n});
		free(copy);
	}
}
END_TEST

/* More functions, calls and devices than are followed: the device is soon reported as not known. */
START_TEST(large)
{
	for (int kind = 0; kind < 3; kind++) {
		struct strbuf buf = {0};
		struct python_device device;

		strbuf_puts(&buf, "import torch\ntorch.cuda.set_device(1)\n");
		for (size_t i = 0; i < 20000; i++) {
			if (kind == 0)
				strbuf_printf(&buf, "def f%zu(): f%zu()\nf%zu()\n", i, i + 1, i);
			else if (kind == 1)
				strbuf_puts(&buf, "x.cuda(1)\n");
			else
				strbuf_puts(&buf, "torch.cuda.set_device(1)\n");
		}
		ck_assert(!buf.failed);
		device = lint_python_device((struct span){buf.text, buf.length});
		/* Of the calls there may be any number. */
		ck_assert_str_eq(device.text, kind == 0 ? "cuda:1" : "");
		strbuf_free(&buf);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("python-device");
	TCase *tests = tcase_create("python-device");
	int failed;

	suite_add_tcase(suite, tests);
	table = tsv_read("vectors/python-device.tsv");
	tcase_add_loop_test(tests, vectors, 0, (int)table.count);
	tcase_add_test(tests, prefixes);
	tcase_add_test(tests, large);
	failed = unit_run(suite);
	tsv_free(&table);
	return failed;
}

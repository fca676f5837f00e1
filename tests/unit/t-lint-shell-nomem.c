/* SPDX-License-Identifier: MIT */
/* Every allocation of the lint of scripts fails once. */
#include "failing_malloc.h"
#include "lint/shell.h"
#include "unit.h"

static const char script[] =
	"#!/bin/bash\r\n#SBATCH --gres=gpu:2 --nodes=2 --ntasks-per-node=4\nexport "
	"CUDA_VISIBLE_DEVICES=0,0 A=(1 2) B\n"
	"CUDA_VISABLE_DEVICES=1\nA+=(3)\nif true; then CUDA_VISIBLE_DEVICES=1,0; fi\n"
	"f() { N=$(echo `date`); }\nf\nCUDA_VISIBLE_DEVICES=3,1 deepspeed a.py &\n"
	"export CUDA_VISIBLE_DEVICES=1\n"
	"CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 \"${A[@]}\" t.py &\n"
	"env CUDA_VISIBLE_DEVICES=GPU-x deepspeed b.py\n"
	"for i in 0 1; do torchrun --master_port 29501 t.py & done\nsudo python u.py\n"
	"N=$((SLURM_NNODES * 2))\nexport MASTER_ADDR=localhost\nsrun python v.py\n"
	"srun bash -c 'torchrun --nproc_per_node=$SLURM_NTASKS_PER_NODE w.py'\n"
	"sbatch --gpus-per-node=a:2 --wrap=\"CUDA_VISIBLE_DEVICES=$N python x.py\"\n"
	"docker run --gpus device=0,1 -e CUDA_VISIBLE_DEVICES i\n"
	"CUDA_VISIBLE_DEVICES+=,1 CUDA_DEVICE_ORDER=PCI CUDA_VISIBLE=1 python y.py\n  --z\n"
	"torchrun --nnodes=$N --nproc_per_node=$SLURM_GPUS_PER_NODE z.py\n";

static int run(size_t *programs, gpumap_report **report)
{
	struct lint_started started = {0};
	int r = gpumap_report_new(report);

	if (r == GPUMAP_OK)
		r = lint_shell(span_of(script), "run.sh", 4, &started, *report);
	*programs = started.count;
	lint_started_free(&started);
	return r;
}

START_TEST(every_allocation_fails)
{
	size_t programs, findings, got;
	gpumap_report *report;

	ck_assert_int_eq(run(&programs, &report), GPUMAP_OK);
	findings = gpumap_report_count(report);
	ck_assert_int_gt(findings, 5);
	ck_assert_int_gt(programs, 3);
	gpumap_report_free(report);
	for (size_t n = 1; n < 100000; n++) {
		bool failed;
		int r;

		report = NULL;
		allocations_fail_at(n);
		r = run(&got, &report);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_msg(r == GPUMAP_OK || r == GPUMAP_ENOMEM, "%zu gives %d", n, r);
		if (r == GPUMAP_OK)
			ck_assert_uint_eq(got, programs);
		if (r == GPUMAP_OK && gpumap_report_worst(report) >= 0)
			ck_assert_uint_le(gpumap_report_count(report), findings);
		gpumap_report_free(report);
		if (!failed)
			break;
	}
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("lint-shell-nomem");
	tests = tcase_create("lint-shell-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, every_allocation_fails);
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* Scripts and what is found in them: tests/vectors/lint-shell.tsv; and the programs they
 * start. */
#include "lint/shell.h"
#include "strbuf.h"
#include "tsv.h"
#include "unit.h"

#include <time.h>

enum column { COLUMN_VISIBLE, COLUMN_SCRIPT, COLUMN_FINDINGS };

static struct tsv table;

/* \n, \r and \\ of a table are characters of the script. */
static void decode(struct strbuf *buf, const char *text)
{
	for (; *text; text++) {
		char c = *text;

		if (c == '\\' && text[1]) {
			text++;
			c = *text == 'n' ? '\n' : *text == 'r' ? '\r' : *text == 't' ? '\t' : *text;
		}
		strbuf_add(buf, &c, 1);
	}
}

static char *lint(const char *text, size_t length, int64_t visible, struct lint_started *started)
{
	struct strbuf got = {0};
	gpumap_report *report;
	const gpumap_finding *f;
	int r;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	r = lint_shell((struct span){text, length}, "run.sh", visible, started, report);
	for (size_t i = 0; (f = gpumap_report_get(report, i)); i++) {
		strbuf_printf(&got, "%s%s@%d", i ? " " : "",
			      gpumap_finding_str(f, GPUMAP_FINDING_ID),
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE));
		ck_assert_str_eq(gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN), "run.sh");
		ck_assert_msg(gpumap_finding_int(f, GPUMAP_FINDING_COLUMN) > 0 ||
				      r == GPUMAP_ELIMIT,
			      "%s: a finding without a column", text);
		ck_assert_msg(gpumap_finding_str(f, GPUMAP_FINDING_FIX) || r == GPUMAP_ELIMIT,
			      "%s: a finding without a fix", text);
	}
	if (r != GPUMAP_OK)
		strbuf_printf(&got, " %d", r);
	gpumap_report_free(report);
	return strbuf_take(&got);
}

START_TEST(row)
{
	const struct tsv_row *r = &table.rows[_i];
	const char *visible = r->column[COLUMN_VISIBLE];
	struct strbuf script = {0};
	char *got;

	decode(&script, r->column[COLUMN_SCRIPT]);
	got = lint(script.text ? script.text : "", script.length,
		   *visible ? strtol(visible, NULL, 10) : -1, NULL);
	ROW_EQ_STR(r->column[COLUMN_SCRIPT], got, r->column[COLUMN_FINDINGS]);
	free(got);
	strbuf_free(&script);
}
END_TEST

static const struct {
	const char *script, *want;
} programs[] = {
	{"python train.py", "the shell train.py -1 py 1"},
	{"cd src\n./train.py --lr 1", "the shell ./train.py -1 py 2"},
	{"python -u -W ignore \\\n  a/b.py -m", "the shell a/b.py -1 py 2"},
	{"python -c 'print(1)'; python -m pip install x; echo train.py", ""},
	{"torchrun --nproc_per_node=4 train.py", "torchrun train.py 4 py 1"},
	{"torchrun --standalone --nproc-per-node gpu train.py", "torchrun train.py -1 py 1"},
	{"torchrun train.py", "torchrun train.py 1 py 1"},
	{"torchrun --no-python ./a.out", "torchrun ./a.out 1 1"},
	{"torchrun -m pkg.train", ""},
	{"N=2\nARGS=\"--nproc_per_node $N --master_port 1234\"\ntorchrun $ARGS t.py",
	 "torchrun t.py 2 py 3"},
	{"ARGS=(--nproc_per_node 2\n  t.py)\ntorchrun \"${ARGS[@]}\"", "torchrun t.py 2 py 3"},
	{"torchrun $UNKNOWN t.py", "torchrun t.py -1 py 1"},
	{"python -m torch.distributed.launch --nproc_per_node=2 t.py",
	 "torch.distributed.launch t.py 2 rank py 1"},
	{"python -m torch.distributed.launch --use_env --nproc_per_node=2 t.py",
	 "torch.distributed.launch t.py 2 py 1"},
	{"python -m torch.distributed.run --nproc_per_node=2 t.py", "torchrun t.py 2 py 1"},
	{"accelerate launch --num_processes 2 --mixed_precision fp16 t.py",
	 "accelerate t.py 2 py 1"},
	{"deepspeed --num_gpus 2 t.py --deepspeed x.json", "deepspeed t.py 2 rank py 1"},
	{"deepspeed --no_local_rank t.py", "deepspeed t.py -1 py 1"},
	{"mpirun -np 4 --mca btl tcp python3 t.py", "mpirun t.py 4 py 1"},
	{"mpirun -np 4 ./a.out", "mpirun ./a.out 4 1"},
	{"srun -n4 --gres gpu:4 python t.py", "srun t.py -1 py 1"},
	{"srun --exclusive torchrun --nproc_per_node 8 t.py", "torchrun t.py 8 py 1"},
	{"gpumap run --nproc-per-node 2 t.py", "gpumap run t.py 2 py 1"},
	{"nohup env A=b timeout -k 5 1h nice -n 3 python t.py &", "the shell t.py -1 py 1"},
	{"conda run -n env python t.py", "the shell t.py -1 py 1"},
	{"X=$(python t.py)", "the shell t.py -1 py 1"},
	{"for i in 1 2; do\n  if true; then python t.py; fi\ndone", "the shell t.py -1 py 2"},
	{"f() { python t.py; }", "the shell t.py -1 py 1"},
	{"D=out\npython $D/t.py", "the shell out/t.py -1 py 2"},
	{"python $1", ""},
	{"cat <<EOF\npython t.py\nEOF\npython u.py", "the shell u.py -1 py 4"},
	{"#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node=$SLURM_GPUS_ON_NODE t.py",
	 "torchrun t.py 4 py 2"},
	{"sbatch --gres=gpu:4 --wrap='torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE t.py'",
	 "torchrun t.py 4 py 1"},
	{"srun -n2 bash -c 'python t.py --rank $SLURM_PROCID'",
	 "srun bash -1 1, the shell t.py -1 py 1"},
	{"N=$((2 * (3 - 1)))\ntorchrun --nproc_per_node $N t.py", "torchrun t.py 4 py 2"},
	{"case $1 in\n a|b) python t.py ;;\n (c) python u.py\nesac",
	 "the shell t.py -1 py 2, the shell u.py -1 py 3"},
};

START_TEST(program)
{
	struct lint_started started = {0};
	struct strbuf got = {0};
	char *text;

	free(lint(programs[_i].script, strlen(programs[_i].script), -1, &started));
	for (size_t i = 0; i < started.count; i++) {
		const struct lint_start *s = &started.starts[i];

		strbuf_printf(&got, "%s%s %s %lld%s%s %d", i ? ", " : "",
			      lint_launcher_name(s->launcher), s->path, (long long)s->job.ranks,
			      s->job.passes == 1 ? " rank" : "", s->python ? " py" : "", s->line);
	}
	text = strbuf_take(&got);
	ROW_EQ_STR(programs[_i].script, text, programs[_i].want);
	free(text);
	lint_started_free(&started);
}
END_TEST

/* Deep nesting ends at a limit. For long scripts the time grows linearly. */
static const struct {
	const char *name, *begin, *repeat, *want;
	size_t times;
} hostile[] = {
	{"substitutions", "", "$(", "GM005@1 -7", 100000},
	{"quotes", "", "\"$(", "GM005@1 -7", 100000},
	{"braces", "", "${a:-", "GM005@1 -7", 100000},
	{"subshells", "", "( ", "GM005@1 -7", 100000},
	{"if", "", "if a; then ", "GM005@1 -7", 100000},
	{"words", "", "a ", "", 1000000},
	{"a long word", "", "aaaaaaaaaa", "", 1000000},
	{"10 MB of lines", "", "A=1 b\n", "", 1700000},
	{"expansions", "A=0123456789012345678901234567890123456789\n", "$A;", "", 200000},
	{"growing", "", "A=$A$A;", "", 200000},
	{"adding", "A=\n", "A+=x\n", "", 200000},
	{"branches", "", "if a; then A=1; fi\n", "", 60000},
	{"chains", "", "a && A=1 || B=2\n", "", 100000},
	{"here-documents", "", "<<E <<E <<E <<E\n", "", 300000},
	{"functions", "", "f() { A=1; }\nf\n", "", 100000},
	{"commands inside", "", "A=$(b `c`)\n", "", 100000},
	{"a quote", "", "'", "GM214@1", 1000011},
	{"pipes", "", "a|", "", 400000},
	{"patterns", "case x in ", "a) b;; ", "", 200000},
	{"sums", "A=1\n", "A=$((A + 1))\n", "", 200000},
	{"brackets of sums", "A=$((", "(", "GM214@1", 1000000},
	{"a sum", "A=$((1", "+1", "GM214@1", 1000000},
	{"options", "a\n", "--a\n", "GM288@2", 1000000},
	{"a list again", "CUDA_VISIBLE_DEVICES=0,1,2,3\n",
	 "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES a\n", "", 100000},
	{"a long list", "export CUDA_VISIBLE_DEVICES=0", ",-1", "", 1000000},
	{"jobs in the background", "", "CUDA_VISIBLE_DEVICES=$G torchrun $A t.py & ", "GM208@1",
	 60000},
};

START_TEST(large)
{
	struct strbuf script = {0};
	struct timespec begin, end;
	char *got;

	strbuf_puts(&script, hostile[_i].begin);
	for (size_t i = 0; i < hostile[_i].times / (SANITIZED ? 10 : 1); i++)
		strbuf_puts(&script, hostile[_i].repeat);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	got = lint(script.text, script.length, -1, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ROW_EQ_STR(hostile[_i].name, got, hostile[_i].want);
	/* Far above what it takes. Quadratic time is minutes, with valgrind hours. */
	ck_assert_msg(end.tv_sec - begin.tv_sec < (getenv("GPUMAP_TEST_VALGRIND") ? 1000 : 50),
		      "%s took too long", hostile[_i].name);
	free(got);
	strbuf_free(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint-shell");
	TCase *tests = tcase_create("lint-shell");
	int r;

	table = tsv_read("vectors/lint-shell.tsv");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, row, 0, (int)table.count);
	tcase_add_loop_test(tests, program, 0, ARRAY_SIZE(programs));
	tcase_add_loop_test(tests, large, 0, ARRAY_SIZE(hostile));
	r = unit_run(suite);
	tsv_free(&table);
	return r;
}

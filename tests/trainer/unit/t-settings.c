/* SPDX-License-Identifier: MIT */
/* That the rows of settings.def agree with the rest of the trainer, and with each other. */
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "optim/schedule.h"
#include "place/run_name.h"
#include "settings/rows.h"
#include "settings/arguments_raw.h"
#include "suggest.h"
#include "unit.h"

/* "--global-batch" is the key global_batch, and no two are the same. */
START_TEST(names)
{
	for (int i = 0; i < ROWS; i++) {
		char option[64];

		snprintf(option, sizeof(option), "--%s", rows[i].name);
		for (char *c = option; *c; c++)
			*c = *c == '_' ? '-' : *c;
		ROW_EQ_STR(rows[i].name, rows[i].option, option);
		for (int j = 0; j < i; j++)
			ck_assert_msg(strcmp(rows[i].name, rows[j].name), "%s twice", option);
	}
}
END_TEST

/* No setting has the name of a statement of gpumap explain: one would hide the other. */
START_TEST(statements)
{
	struct train_error error = {.status = TRAIN_OK};
	static struct arguments_raw raw;

	ck_assert(raw_begin(&raw, NULL, NULL, &error));
	ck_assert_int_gt(raw.keys_count, 10);
	for (int i = 0; i < raw.keys_count; i++)
		for (int j = 0; j < ROWS; j++)
			ck_assert_msg(strcmp(raw.keys[i].name, rows[j].name), "%s twice",
				      rows[j].name);
}
END_TEST

/* `only` names a row that there is, and words of that row. */
START_TEST(conditions)
{
	for (int i = 0; i < ROWS; i++) {
		char name[64], *value;
		int j = 0;

		if (!rows[i].only)
			continue;
		snprintf(name, sizeof(name), "%s", rows[i].only);
		value = strchr(name, '=');
		if (value)
			*value++ = '\0';
		while (j < ROWS && strcmp(rows[j].name, name) != 0)
			j++;
		ck_assert_msg(j < ROWS, "%s: %s", rows[i].name, rows[i].only);
		for (char *rest, *word = value ? strtok_r(value, "|", &rest) : NULL; word;
		     word = strtok_r(NULL, "|", &rest))
			ck_assert_msg(word_place(rows[j].value, span_of(word)) >= 0, "%s: %s",
				      rows[i].name, rows[i].only);
	}
}
END_TEST

START_TEST(defaults)
{
	struct train_error error = {.status = TRAIN_OK};
	struct schedule cycle = schedule_default(SCHEDULE_ONE_CYCLE, 10, (struct rates){0.1, 0.9});
	static struct settings settings;

	for (int i = 0; i < ROWS; i++)
		ck_assert_msg(!rows[i].initial || row_read(&rows[i], &settings, rows[i].initial,
							   rows[i].name, &error),
			      "%s", error.text);
	ck_assert_double_eq(settings.warmup, cycle.warmup);
}
END_TEST

/* The defaults in help are those of optimizers.def. */
START_TEST(optimizers)
{
	static struct settings settings;
	const enum row_id own[] = {ROW_momentum, ROW_beta1, ROW_beta2, ROW_eps};
	const struct optimizer_row *usual = &optimizer_rows[OPTIMIZER_ADAM];
	struct train_error error = {.status = TRAIN_OK};
	char text[64];

	for (const struct optimizer_row *o = optimizer_rows; o < optimizer_rows + OPTIMIZERS; o++) {
		for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
			const struct row *row = &rows[own[i]];
			const double *member =
				(const void *)((const char *)&settings + row->offset);
			double initial, others;

			settings.optimizer = usual->initial;
			others = *member;
			settings.optimizer = o->initial;
			initial = *member;
			if (word_place(strchr(row->only, '=') + 1, span_of(o->word)) < 0)
				continue;
			snprintf(text, sizeof(text), "with %s %g", o->word, initial);
			if (!row->initial)
				ck_assert_msg(initial == others || strstr(row->help, text), "%s %s",
					      row->option, text);
			if (!row->initial)
				continue;
			ck_assert(row_read(row, &settings, row->initial, row->name, &error));
			ck_assert_msg(*member == initial, "%s of %s is not %s", row->option,
				      o->word, row->initial);
		}
		snprintf(text, sizeof(text), "with %s %g", o->word, o->lr);
		ck_assert_msg(o->lr == usual->lr || strstr(rows[ROW_lr].help, text), "--lr %s",
			      text);
		snprintf(text, sizeof(text), "with %s %g", o->word, o->initial.weight_decay);
		ck_assert_msg(o->initial.weight_decay == usual->initial.weight_decay ||
				      strstr(rows[ROW_weight_decay].help, text),
			      "--weight-decay %s", text);
	}
}
END_TEST

/* The order of the words is that of the enum. */
START_TEST(words)
{
	static const struct {
		enum row_id row;
		const char *word;
		int value;
	} wanted[] = {
		{ROW_mode, "single", MODE_SINGLE},
		{ROW_mode, "dp", MODE_DP},
		{ROW_mode, "ddp", MODE_DDP},
		{ROW_mode, "mp", MODE_MP},
		{ROW_sampler, "shuffled", SAMPLER_SHUFFLED},
		{ROW_sampler, "in-order", SAMPLER_IN_ORDER},
		{ROW_sampler, "random", SAMPLER_RANDOM},
		{ROW_tail, "pad", SAMPLER_PAD},
		{ROW_tail, "drop", SAMPLER_DROP},
		{ROW_tail, "short", SAMPLER_SHORT},
		{ROW_optimizer, "sgd", OPTIMIZER_SGD},
		{ROW_optimizer, "adam", OPTIMIZER_ADAM},
		{ROW_optimizer, "adamw", OPTIMIZER_ADAMW},
		{ROW_schedule, "constant", SCHEDULE_CONSTANT},
		{ROW_schedule, "cosine", SCHEDULE_COSINE},
		{ROW_schedule, "one-cycle", SCHEDULE_ONE_CYCLE},
		{ROW_precision, "fp32", VALUE_FLOAT32},
		{ROW_precision, "bf16", VALUE_BFLOAT16},
		{ROW_precision, "fp16", VALUE_FLOAT16},
		{ROW_overlap, "auto", OVERLAP_AUTO},
		{ROW_overlap, "yes", OVERLAP_YES},
		{ROW_overlap, "no", OVERLAP_NO},
		{ROW_progress, "auto", PROGRESS_AUTO},
		{ROW_progress, "bar", PROGRESS_BAR},
		{ROW_progress, "lines", PROGRESS_LINES},
		{ROW_progress, "none", PROGRESS_NONE},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		ROW_EQ_INT(wanted[i].word,
			   word_place(rows[wanted[i].row].value, span_of(wanted[i].word)),
			   wanted[i].value);
}
END_TEST

START_TEST(models)
{
	struct train_error error = {.status = TRAIN_OK};
	char all[256], *rest;

	snprintf(all, sizeof(all), "%s", rows[ROW_model].value);
	for (char *name = strtok_r(all, "|", &rest); name; name = strtok_r(NULL, "|", &rest))
		ck_assert_msg(model_find(name, &error), "%s: %s", name, error.text);
}
END_TEST

START_TEST(rendezvous_is_a_file_name)
{
	static const char *const envp[] = {"MASTER_PORT=../../x y", "MASTER_ADDR=\xff", NULL};
	struct train_error error = {.status = TRAIN_OK};
	char name[64];

	ck_assert(run_name(name, sizeof(name), "torch", envp, &error));
	ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
	ck_assert(!run_name(name, sizeof(name), "MPICH", envp + 1, &error));
	ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settings");
	TCase *tests = tcase_create("settings");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, names);
	tcase_add_test(tests, statements);
	tcase_add_test(tests, conditions);
	tcase_add_test(tests, defaults);
	tcase_add_test(tests, optimizers);
	tcase_add_test(tests, words);
	tcase_add_test(tests, models);
	tcase_add_test(tests, rendezvous_is_a_file_name);
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "checkpoint/contents.h"
#include "folders.h"
#include "models.h"

/* --- round trips ------------------------------------------------------------------- */

static const struct checkpoint_progress progress_rows[] = {
	{.step = 0},
	{.step = 120,
	 .optimizer_step = 118,
	 .epoch = 3,
	 .position = 4096,
	 .history = 77,
	 .elapsed_ms = 90061001,
	 .scaler_growth = 19,
	 .scaler_scale = 65536.0f,
	 .seed = 42},
	{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT32_MAX - 1, FLT_MAX,
	 UINT64_MAX},
	{.step = 1, .scaler_scale = FLT_TRUE_MIN, .seed = 1},
	{.step = 1, .scaler_scale = 16777217.0f / 3.0f},
};

static bool same_progress(const struct checkpoint_progress *a, const struct checkpoint_progress *b)
{
	return a->step == b->step && a->optimizer_step == b->optimizer_step &&
	       a->epoch == b->epoch && a->position == b->position && a->history == b->history &&
	       a->elapsed_ms == b->elapsed_ms && a->scaler_growth == b->scaler_growth &&
	       a->scaler_scale == b->scaler_scale && a->seed == b->seed;
}

START_TEST(round_trip)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file;
	struct refusals refusals;
	struct model from, to;

	model_make(&from, 5);
	model_make(&to, 0);
	from.checkpoint.progress = progress_rows[_i];
	ck_assert_msg(checkpoint_save("c", &from.checkpoint, 1, &error), "%s", error.text);
	file = newest("c", &refusals);
	ck_assert_msg(checkpoint_load(&to.checkpoint, file, &error), "%s", error.text);
	ck_assert(model_same(&from, &to));
	ck_assert(same_progress(&to.checkpoint.progress, &progress_rows[_i]));
	ck_assert_str_eq(safetensors_text(file, "model"), "small");
	ck_assert_str_eq(safetensors_text(file, "format"), "pt");
	ck_assert_uint_eq(file->count, PARAMETERS * (1 + SLOTS));
	ck_assert_ptr_nonnull(safetensors_find(file, "optimizer.exp_avg_sq.fc1.bias"));
	ck_assert_int_eq(refusals.count, 0);
	safetensors_free(file);
}
END_TEST

/* struct scaler counts in 32 bits. */
START_TEST(too_many_steps_since_the_scale_changed)
{
	struct train_error error = {.status = TRAIN_OK};
	struct refusals refusals = {.count = 0};
	struct safetensors *file;
	struct model model;

	model_make(&model, 5);
	model.checkpoint.progress = (struct checkpoint_progress){.scaler_growth = INT32_MAX};
	ck_assert_msg(checkpoint_save("c", &model.checkpoint, 1, &error), "%s", error.text);
	ck_assert(!checkpoint_newest(&file, "c", model_refused, &refusals, &error));
	ck_assert_msg(strstr(refusals.last, "scaler_growth in __metadata__"), "%s", refusals.last);
}
END_TEST

/* A stage of a model loads its own layers; the others are with other ranks. */
START_TEST(parts)
{
	struct train_error error = {.status = TRAIN_OK};
	struct safetensors *file;
	struct refusals refusals;
	struct model from, to;

	model_save("c", 1, 1);
	model_make(&from, 1);
	model_make(&to, 0);
	to.parameters[0].data = NULL;
	to.data[0][0] = to.data[1][0] = NULL;
	file = newest("c", &refusals);
	ck_assert_msg(checkpoint_load(&to.checkpoint, file, &error), "%s", error.text);
	for (int k = 0; k <= SLOTS; k++) {
		ck_assert_float_eq(to.values[k][0][0], 0);
		memcpy(to.values[k][0], from.values[k][0], sizeof(to.values[k][0]));
	}
	ck_assert(model_same(&from, &to));
	safetensors_free(file);
}
END_TEST

/* --- what does not fit --------------------------------------------------------------- */

/* Saves model 1 after a change, loads it into another, and compares the reason. */
static const struct {
	const char *name, *renamed; /* parameter 1 of the file */
	int dims;
	int64_t first; /* size of parameter 0's first dimension here */
	int slots;
	const char *want;    /* for checkpoint_load; "" when it is fine */
	const char *weights; /* for checkpoint_load_model */
} unlike_rows[] = {
	{"same", "fc1.bias", 4, 2, 2, "", ""},
	{"fewer dimensions", "fc1.bias", 3, 2, 2,
	 "the shape of conv1.weight is [2, 3, 2, 2] in the file and [2, 3, 2] here; choose the "
	 "model of the file, and for a ResNet its --image-size",
	 "the shape of conv1.weight is [2, 3, 2, 2] in the file and [2, 3, 2] here; choose the "
	 "model of the file, and for a ResNet its --image-size"},
	{"another size", "fc1.bias", 4, 1, 2,
	 "the shape of conv1.weight is [2, 3, 2, 2] in the file and [1, 3, 2, 2] here; choose the "
	 "model of the file, and for a ResNet its --image-size",
	 "the shape of conv1.weight is [2, 3, 2, 2] in the file and [1, 3, 2, 2] here; choose the "
	 "model of the file, and for a ResNet its --image-size"},
	{"another name", "fc9.bias", 4, 2, 2,
	 "missing fc1.bias (3 in all), unexpected fc9.bias (3 in all); choose the model and the "
	 "optimizer of the file",
	 "missing fc1.bias (1 in all), unexpected fc9.bias (1 in all); choose the model and the "
	 "optimizer of the file"},
	{"less state", "fc1.bias", 4, 2, 1,
	 "unexpected optimizer.exp_avg_sq.conv1.weight (4 in all); choose the model and the "
	 "optimizer of the file",
	 ""},
	{"one more state", "fc1.bias", 4, 2, 3,
	 "missing optimizer.momentum_buffer.conv1.weight (4 in all); choose the model and the "
	 "optimizer of the file",
	 ""},
};

/* The error's text without the path. */
static const char *reason(const struct train_error *error)
{
	const char *text = strstr(error->text, "safetensors: ");

	return text ? text + strlen("safetensors: ") : error->text;
}

/* Only parameters must be finite: what an optimizer keeps may overflow. */
START_TEST(values_are_finite)
{
	static const struct {
		const char *name;
		int array, parameter, element;
		float value;
		const char *want;
	} values[] = {
		{"NaN", 0, 0, 23, NAN,
		 "conv1.weight has a value that is not finite (nan, element 23): its run diverged; "
		 "use earlier weights"},
		{"infinite", 0, 1, 0, -INFINITY,
		 "fc1.bias has a value that is not finite (-inf, element 0): its run diverged; use "
		 "earlier weights"},
		{"the greatest", 0, 0, 3, FLT_MAX, ""},
		{"of the optimizer", 1, 0, 3, INFINITY, ""},
		{"behind the last", 0, 1, 3, NAN, ""},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct train_error error = {.status = TRAIN_OK}, of_weights = {.status = TRAIN_OK};
		bool good = !*values[i].want;
		struct safetensors *file;
		struct model m, untouched;
		char path[64];

		model_make(&m, (int)i + 1);
		m.values[values[i].array][values[i].parameter][values[i].element] = values[i].value;
		ck_assert_msg(checkpoint_save("c", &m.checkpoint, 1, &error), "%s", error.text);
		snprintf(path, sizeof(path), "c/checkpoint-%012zu.safetensors", i + 1);
		ck_assert(safetensors_open(&file, path, &error));
		model_make(&m, 0);
		model_make(&untouched, 0);
		ROW_EQ_INT(values[i].name, checkpoint_load(&m.checkpoint, file, &error), good);
		ROW_EQ_STR(values[i].name, reason(&error), values[i].want);
		ck_assert(good || model_same(&m, &untouched));
		ROW_EQ_INT(values[i].name, checkpoint_load_model(&m.checkpoint, file, &of_weights),
			   good);
		ROW_EQ_STR(values[i].name, reason(&of_weights), values[i].want);
		safetensors_free(file);
	}
}
END_TEST

START_TEST(unlike)
{
	struct train_error error = {.status = TRAIN_OK}, of_weights = {.status = TRAIN_OK};
	struct checkpoint_slot slots[SLOTS + 1];
	struct safetensors *file;
	struct refusals refusals;
	struct model m, untouched;

	model_make(&m, 1);
	m.parameters[1].name = unlike_rows[_i].renamed;
	ck_assert_msg(checkpoint_save("c", &m.checkpoint, 1, &error), "%s", error.text);
	file = newest("c", &refusals);
	model_make(&m, 0);
	model_make(&untouched, 0);
	memcpy(slots, m.slots, sizeof(m.slots));
	slots[SLOTS] = (struct checkpoint_slot){"momentum_buffer", m.data[1]};
	m.checkpoint.slots = slots;
	m.checkpoint.slot_count = (size_t)unlike_rows[_i].slots;
	m.parameters[0].shape.dims = unlike_rows[_i].dims;
	m.parameters[0].shape.size[0] = unlike_rows[_i].first;
	ROW_EQ_INT(unlike_rows[_i].name, checkpoint_load(&m.checkpoint, file, &error),
		   !*unlike_rows[_i].want);
	ROW_EQ_STR(unlike_rows[_i].name, reason(&error), unlike_rows[_i].want);
	if (*unlike_rows[_i].want)
		ck_assert_msg(memcmp(m.values, untouched.values, sizeof(m.values)) == 0,
			      "%s: half loaded", unlike_rows[_i].name);
	ROW_EQ_INT(unlike_rows[_i].name, checkpoint_load_model(&m.checkpoint, file, &of_weights),
		   !*unlike_rows[_i].weights);
	ROW_EQ_STR(unlike_rows[_i].name, reason(&of_weights), unlike_rows[_i].weights);
	safetensors_free(file);
}
END_TEST

/* --- buffers and counters ------------------------------------------------------------- */

static const struct {
	const char *name;
	enum safetensors_dtype
		dtype; /* of the counter in the file; SAFETENSORS_DTYPES: it has none */
	int64_t count;
	float mean;
	const char *want, *of_weights;
} buffer_rows[] = {
	{"as written", SAFETENSORS_I64, ((int64_t)1 << 40) + 7, 2, "", ""},
	{"the greatest counter", SAFETENSORS_I64, (int64_t)1 << 62, 2, "", ""},
	{"a counter below 0", SAFETENSORS_I64, -1, 2,
	 "b: bn1.num_batches_tracked is -1, and it counts from 0 to 2^62; set it to 0 in PyTorch",
	 "b: bn1.num_batches_tracked is -1, and it counts from 0 to 2^62; set it to 0 in PyTorch"},
	{"a counter that would soon overflow", SAFETENSORS_I64, INT64_MAX, 2,
	 "bn1.num_batches_tracked is 9223372036854775807, and it counts from 0 to 2^62; set it to "
	 "0 in PyTorch",
	 "bn1.num_batches_tracked is 9223372036854775807, and it counts from 0 to 2^62; set it to "
	 "0 in PyTorch"},
	{"without the counter", SAFETENSORS_DTYPES, 0, 2,
	 "missing bn1.num_batches_tracked (1 in all); choose the model and the optimizer of the "
	 "file",
	 ""},
	{"a float counter", SAFETENSORS_F32, 0, 2,
	 "bn1.num_batches_tracked is F32, and only I64 can be loaded; convert it in PyTorch with "
	 ".long()",
	 "bn1.num_batches_tracked is F32, and only I64 can be loaded; convert it in PyTorch with "
	 ".long()"},
	{"a NaN", SAFETENSORS_I64, 1, NAN,
	 "bn1.running_mean has a value that is not finite (nan, element 0): its run diverged; use "
	 "earlier weights",
	 "bn1.running_mean has a value that is not finite (nan, element 0): its run diverged; use "
	 "earlier weights"},
};

/* A file with the tensors of a batch normalization, and the progress of a checkpoint. */
static struct safetensors *write_buffers(int row)
{
	const float whole = 3, mean = buffer_rows[row].mean;
	enum safetensors_dtype dtype = buffer_rows[row].dtype;
	const struct safetensors_tensor tensors[] = {
		{"bn1.running_mean", SAFETENSORS_F32, {1, {1}}, &mean},
		{"bn1.num_batches_tracked",
		 dtype,
		 {0, {0}},
		 dtype == SAFETENSORS_F32 ? (const void *)&whole : &buffer_rows[row].count}};
	const struct checkpoint_progress progress = {.step = 3};
	struct safetensors_text texts[PROGRESS_TEXTS + 1] = {{"checkpoint", CHECKPOINT_VERSION}};
	struct train_error error = {.status = TRAIN_OK};
	struct progress_texts printed;
	struct safetensors *file;
	int fd = open("b", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	progress_print(&printed, &progress);
	memcpy(texts + 1, printed.texts, sizeof(printed.texts));
	ck_assert(safetensors_write(fd, "b", tensors, dtype == SAFETENSORS_DTYPES ? 1 : 2, texts,
				    PROGRESS_TEXTS + 1, &error));
	close(fd);
	ck_assert_msg(safetensors_open(&file, "b", &error), "%s", error.text);
	return file;
}

START_TEST(buffers_and_counters)
{
	struct safetensors *file = write_buffers(_i);

	for (int model = 0; model < 2; model++) {
		const char *want = model ? buffer_rows[_i].of_weights : buffer_rows[_i].want;
		int64_t tracked = 5;
		float mean = 0;
		const struct tensor buffer = {"bn1.running_mean", {1, {1}}, &mean};
		const struct checkpoint_counter counter = {"bn1.num_batches_tracked", &tracked};
		struct checkpoint into = {.buffers = &buffer,
					  .buffer_count = 1,
					  .counters = &counter,
					  .counter_count = 1};
		struct train_error error = {.status = TRAIN_OK};
		bool done = model ? checkpoint_load_model(&into, file, &error)
				  : checkpoint_load(&into, file, &error);
		bool missing = buffer_rows[_i].dtype == SAFETENSORS_DTYPES;

		ROW_EQ_INT(buffer_rows[_i].name, done, !*want);
		ck_assert_msg(strstr(error.text, want), "%s: %s", buffer_rows[_i].name, error.text);
		ck_assert_float_eq(mean, done ? 2 : 0);
		ck_assert_int_eq(tracked, done && !missing ? buffer_rows[_i].count : 5);
		if (!done || missing)
			continue;
		ck_assert_msg(checkpoint_save("c", &into, 1, &error), "%s", error.text);
	}
	safetensors_free(file);
}
END_TEST

/* --- files of others ------------------------------------------------------------------ */

static const struct {
	const char *names[2];
	enum safetensors_dtype dtype;
	const char *want;
} foreign_rows[] = {
	{{"a.weight", "module.b"},
	 SAFETENSORS_F32,
	 "f: module.b begins with module. and a.weight does not; save the state_dict of one model"},
	{{"a.weight", "b"}, SAFETENSORS_F32, ""},
	{{"module.a.weight", "module.b"}, SAFETENSORS_F32, ""},
	{{"module.module.a.weight", "module.module.b"},
	 SAFETENSORS_F32,
	 "f: missing a.weight (2 in all), unexpected module.module.a.weight (2 in all); choose the "
	 "model and the optimizer of the file"},
	{{"module.a.weight", "module.a.weight2"},
	 SAFETENSORS_F32,
	 "f: missing b (1 in all), unexpected module.a.weight2 (1 in all); choose the model and "
	 "the optimizer of the file"},
	{{"a.weight", "b"},
	 SAFETENSORS_BF16,
	 "f: a.weight is BF16, and only F32 can be loaded; convert it in PyTorch with .float()"},
};

START_TEST(foreign)
{
	static const float values[2] = {3, 4};
	float got[2] = {0, 0};
	const struct safetensors_tensor tensors[2] = {
		{foreign_rows[_i].names[0], foreign_rows[_i].dtype, {1, {1}}, &values[0]},
		{foreign_rows[_i].names[1], foreign_rows[_i].dtype, {0, {0}}, &values[1]}};
	const struct tensor parameters[2] = {{"a.weight", {1, {1}}, &got[0]},
					     {"b", {0, {0}}, &got[1]}};
	const struct checkpoint into = {.parameters = parameters, .count = 2};
	struct train_error error = {.status = TRAIN_OK};
	struct checkpoint_progress progress;
	struct safetensors *file = NULL;
	int fd = open("f", O_WRONLY | O_CREAT, 0666);

	ck_assert(safetensors_write(fd, "f", tensors, 2, NULL, 0, &error));
	close(fd);
	ck_assert_msg(safetensors_open(&file, "f", &error), "%s", error.text);
	ck_assert_int_eq(checkpoint_load_model(&into, file, &error), !*foreign_rows[_i].want);
	ck_assert_str_eq(error.text, foreign_rows[_i].want);
	ck_assert_float_eq(got[0], *foreign_rows[_i].want ? 0 : 3);
	ck_assert_float_eq(got[1], *foreign_rows[_i].want ? 0 : 4);
	error.status = TRAIN_OK;
	ck_assert(!checkpoint_progress(&progress, file, &error));
	ck_assert_str_eq(error.text,
			 "f: it has only weights; load it by --weights, or use a checkpoint");
	safetensors_free(file);
}
END_TEST

START_TEST(foreign_texts)
{
	static const struct {
		struct safetensors_text texts[2];
		const char *want;
	} rows[] = {
		{{{"checkpoint", "2"}, {"step", "1"}},
		 "f: a checkpoint of version 2, but this program reads version 1; use the program "
		 "that "
		 "wrote it"},
		{{{"checkpoint", "1"}, {"step", "-1"}},
		 "f: step in __metadata__ is missing or not a number; use another checkpoint"},
		{{{"checkpoint", "1"}, {"step", "9223372036854775808"}},
		 "f: step in __metadata__ is missing or not a number; use another checkpoint"},
		{{{"checkpoint", "1"}, {"step", "1x"}},
		 "f: step in __metadata__ is missing or not a number; use another checkpoint"},
		{{{"checkpoint", "1"}, {"step", "1"}},
		 "f: optimizer_step in __metadata__ is missing or not a number; use another "
		 "checkpoint"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct checkpoint_progress progress;
		struct safetensors *file = NULL;
		int fd = open("f", O_WRONLY | O_CREAT | O_TRUNC, 0666);

		ck_assert(safetensors_write(fd, "f", NULL, 0, rows[i].texts, 2, &error));
		close(fd);
		ck_assert(safetensors_open(&file, "f", &error));
		ck_assert(!checkpoint_progress(&progress, file, &error));
		ck_assert_str_eq(error.text, rows[i].want);
		safetensors_free(file);
	}
}
END_TEST

START_TEST(reserved_names)
{
	static const char *const names[] = {"module.fc1", "optimizer.fc1"};

	for (int i = 0; i < 2; i++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model m;

		model_make(&m, 1);
		m.parameters[1].name = names[i];
		ck_assert(!checkpoint_save("c", &m.checkpoint, 1, &error));
		ck_assert_ptr_nonnull(strstr(error.text, "rename the layer"));
		ck_assert_int_ne(access("c/checkpoint-000000000001.safetensors", F_OK), 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("checkpoint");
	TCase *tests = tcase_create("checkpoint");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, round_trip, 0, sizeof(progress_rows) / sizeof(*progress_rows));
	tcase_add_test(tests, too_many_steps_since_the_scale_changed);
	tcase_add_test(tests, parts);
	tcase_add_loop_test(tests, unlike, 0, sizeof(unlike_rows) / sizeof(*unlike_rows));
	tcase_add_test(tests, values_are_finite);
	tcase_add_loop_test(tests, buffers_and_counters, 0,
			    sizeof(buffer_rows) / sizeof(*buffer_rows));
	tcase_add_loop_test(tests, foreign, 0, sizeof(foreign_rows) / sizeof(*foreign_rows));
	tcase_add_test(tests, foreign_texts);
	tcase_add_test(tests, reserved_names);
	return unit_run(suite);
}

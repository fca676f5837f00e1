/* SPDX-License-Identifier: MIT */
/* The grids of kernels, without a GPU: each piece of work is done, and none is done twice. */
#include <string.h>

#include "kernels/kernels.h"
#include "unit.h"

static const struct {
	const char *name;
	int64_t units;
	unsigned elements, pieces; /* blocks */
} counts[] = {
	{"nothing", 0, 0, 0},
	{"less than nothing", -5, 0, 0},
	{"one", 1, 1, 1},
	{"a block", LAUNCH_THREADS, 1, LAUNCH_THREADS},
	{"a block and one", LAUNCH_THREADS + 1, 2, LAUNCH_THREADS + 1},
	{"all that are resident", (int64_t)LAUNCH_THREADS *LAUNCH_MAX_BLOCKS, LAUNCH_MAX_BLOCKS,
	 LAUNCH_MAX_BLOCKS},
	{"more than int holds", INT64_C(1) << 40, LAUNCH_MAX_BLOCKS, LAUNCH_MAX_BLOCKS},
	{"as many as there can be", INT64_MAX, LAUNCH_MAX_BLOCKS, LAUNCH_MAX_BLOCKS},
};

START_TEST(blocks_of_a_count)
{
	struct launch elements = launch_elements(counts[_i].units);
	struct launch pieces = launch_pieces(counts[_i].units);
	struct launch beside = launch_pieces_beside(counts[_i].units);

	ROW_EQ_INT(counts[_i].name, elements.blocks, counts[_i].elements);
	ROW_EQ_INT(counts[_i].name, pieces.blocks, counts[_i].pieces);
	ROW_EQ_INT(counts[_i].name, elements.threads, LAUNCH_THREADS);
	ROW_EQ_INT(counts[_i].name, pieces.threads, LAUNCH_THREADS);
	ROW_EQ_INT(counts[_i].name, beside.blocks,
		   launch_min(counts[_i].pieces, LAUNCH_BESIDE_BLOCKS));
	ROW_EQ_INT(counts[_i].name, beside.threads, LAUNCH_THREADS);
}
END_TEST

static const struct {
	const char *name;
	int64_t rows;
	int32_t classes;
	int lanes;
	unsigned blocks;
} row_cases[] = {
	{"none", 0, 10, 16, 0},     {"one class", 1000, 1, 1, 4},
	{"two", 128, 2, 2, 1},      {"CIFAR-10", 32, 10, 16, 2},
	{"100", 512, 100, 32, 64},  {"a lane each", 8, 32, 32, 1},
	{"two each", 9, 33, 32, 2}, {"many", 1 << 20, 1000, 32, LAUNCH_MAX_BLOCKS},
};

START_TEST(lanes_of_rows)
{
	ROW_EQ_INT(row_cases[_i].name, launch_row_lanes(row_cases[_i].classes),
		   row_cases[_i].lanes);
	ROW_EQ_INT(row_cases[_i].name,
		   launch_rows(row_cases[_i].rows, row_cases[_i].classes).blocks,
		   row_cases[_i].blocks);
	ROW_EQ_INT(row_cases[_i].name,
		   cross_entropy_scratch(row_cases[_i].rows, row_cases[_i].classes),
		   KERNEL_TICKET_BYTES + row_cases[_i].blocks * sizeof(struct loss_result));
}
END_TEST

static const struct {
	const char *name;
	int64_t rows, columns;
	enum value_type type;
	int width, across;
	unsigned blocks_x, blocks_y, apart; /* apart: blocks_y without sums */
} column_cases[] = {
	{"conv1 of 4096", 4096 * 1024, 64, VALUE_BFLOAT16, 8, 8, 1, LAUNCH_MAX_SUMMED,
	 LAUNCH_MAX_BLOCKS},
	{"conv1 of 32", 32 * 1024, 64, VALUE_FLOAT16, 8, 8, 1, 512, 1024},
	{"conv1 in float", 4096 * 1024, 64, VALUE_FLOAT32, 4, 16, 1, LAUNCH_MAX_SUMMED,
	 LAUNCH_MAX_BLOCKS},
	{"fc1 of 512", 512, 512, VALUE_BFLOAT16, 8, 32, 2, 32, 64},
	{"fc2 of 512", 512, 10, VALUE_BFLOAT16, 1, 16, 1, 16, 32},
	{"a wide one", 1 << 20, 4096, VALUE_FLOAT32, 4, 32, 32, 17, 33},
	{"one by one", 1, 1, VALUE_FLOAT32, 1, 1, 1, 1, 1},
	{"odd", 7, 33, VALUE_BFLOAT16, 1, 32, 2, 1, 1},
	{"one row more than a block's", 65, 32, VALUE_BFLOAT16, 8, 4, 1, 1, 2},
	{"no rows", 0, 64, VALUE_FLOAT32, 4, 16, 1, 1, 1},
	{"no columns", 100, 0, VALUE_FLOAT32, 4, 1, 0, 0, 0},
};

START_TEST(columns_and_rows)
{
	const char *name = column_cases[_i].name;
	struct launch_columns l = launch_columns(column_cases[_i].rows, column_cases[_i].columns,
						 column_cases[_i].type);

	ROW_EQ_INT(name, l.width, column_cases[_i].width);
	ROW_EQ_INT(name, l.across, column_cases[_i].across);
	ROW_EQ_INT(name, l.blocks_x, column_cases[_i].blocks_x);
	ROW_EQ_INT(name, l.blocks_y, column_cases[_i].blocks_y);
	ROW_EQ_INT(name, l.across * l.down, LAUNCH_THREADS);
	ck_assert_int_ge((int64_t)l.blocks_x * l.across * l.width, column_cases[_i].columns);
	l = launch_columns_apart(column_cases[_i].rows, column_cases[_i].columns,
				 column_cases[_i].type);
	ROW_EQ_INT(name, l.width, column_cases[_i].width);
	ROW_EQ_INT(name, l.across * l.down, LAUNCH_THREADS);
	ROW_EQ_INT(name, l.blocks_x, column_cases[_i].blocks_x);
	ROW_EQ_INT(name, l.blocks_y, column_cases[_i].apart);
	ROW_EQ_INT(name,
		   bias_gradient_scratch(column_cases[_i].rows, column_cases[_i].columns,
					 column_cases[_i].type),
		   KERNEL_TICKET_BYTES + (size_t)column_cases[_i].blocks_y *
						 (size_t)column_cases[_i].columns * 4);
}
END_TEST

/* Every shape there is has a grid that a GPU takes, and vectors that divide its rows. */
START_TEST(any_shape_fits)
{
	for (int64_t rows = 0; rows < INT64_C(1) << 36; rows = rows * 3 + 1)
		for (int64_t columns = 1; columns < 20000; columns += 1 + columns / 3)
			for (int type = VALUE_FLOAT32; type <= VALUE_FLOAT16; type++) {
				struct launch_columns l =
					launch_columns(rows, columns, (enum value_type)type);

				unsigned apart =
					launch_columns_apart(rows, columns, (enum value_type)type)
						.blocks_y;

				if (l.blocks_y < 1 || l.blocks_y > LAUNCH_MAX_SUMMED ||
				    apart < l.blocks_y || apart > LAUNCH_MAX_BLOCKS ||
				    l.blocks_x < 1 || l.down < 8 || columns % l.width ||
				    (int64_t)(l.blocks_x - 1) * l.across * l.width >= columns)
					ck_abort_msg("%lld x %lld", (long long)rows,
						     (long long)columns);
			}
}
END_TEST

static const struct {
	const char *name;
	int64_t count;
	unsigned a, b; /* bytes behind a multiple of 16 */
	unsigned a_bytes, b_bytes;
	int64_t head, vectors;
	int per;
} splits[] = {
	{"aligned", 64, 0, 0, 4, 4, 0, 16, 4},
	{"some left", 67, 0, 0, 4, 4, 0, 16, 4},
	{"a head", 67, 4, 4, 4, 4, 3, 16, 4},
	{"never together", 64, 4, 8, 4, 4, 64, 0, 4},
	{"halves", 65, 6, 6, 2, 2, 5, 7, 8},
	{"half to float", 64, 0, 0, 2, 4, 0, 8, 8},
	{"a head of both", 64, 12, 8, 2, 4, 2, 7, 8},
	{"half to float, never", 64, 14, 0, 2, 4, 64, 0, 8},
	{"too few", 3, 0, 0, 4, 4, 0, 0, 4},
	{"one before", 1, 4, 4, 4, 4, 1, 0, 4},
	{"none", 0, 0, 0, 2, 2, 0, 0, 8},
};

START_TEST(splits_at_what_is_aligned)
{
	static const _Alignas(16) char memory[32];
	const char *name = splits[_i].name;
	struct launch_split s =
		launch_split(splits[_i].count, memory + splits[_i].a, splits[_i].a_bytes,
			     memory + splits[_i].b, splits[_i].b_bytes);
	int64_t single = splits[_i].count - s.vectors * s.per;

	ROW_EQ_INT(name, s.head, splits[_i].head);
	ROW_EQ_INT(name, s.vectors, splits[_i].vectors);
	ROW_EQ_INT(name, s.per, splits[_i].per);
	ck_assert(s.head <= single);
	ROW_EQ_INT(name, launch_of_split(&s, splits[_i].count).blocks, splits[_i].count ? 1 : 0);
}
END_TEST

START_TEST(pooling_sums_its_input)
{
	const struct max_pool_shape shape = {.batch = 10,
					     .height = 33,
					     .width = 9,
					     .channels = 24,
					     .out_height = 17,
					     .out_width = 5,
					     .kernel = 3,
					     .stride = 2,
					     .pad = 1,
					     .type = VALUE_BFLOAT16};

	ck_assert_uint_eq(max_pool_scratch(&shape),
			  launch_columns_scratch((int64_t)10 * 33 * 9, 24, VALUE_BFLOAT16));
}
END_TEST

static const struct {
	const char *name;
	int64_t batch, places, columns;
	enum value_type type;
	int across;
	unsigned blocks_x, blocks_y;
} sample_cases[] = {
	{"ResNet-50's last", 32, 49, 2048, VALUE_BFLOAT16, 32, 8, 32},
	{"in float", 32, 49, 2048, VALUE_FLOAT32, 32, 16, 32},
	{"many", 4096, 49, 2048, VALUE_BFLOAT16, 32, 8, LAUNCH_MAX_BLOCKS / 8},
	{"few columns", 5000, 4, 10, VALUE_FLOAT32, 16, 1, LAUNCH_MAX_BLOCKS},
	{"no sample", 0, 49, 64, VALUE_FLOAT32, 16, 1, 0},
	{"no column", 5, 49, 0, VALUE_FLOAT32, 1, 0, 0},
};

START_TEST(samples_apart)
{
	const char *name = sample_cases[_i].name;
	struct launch_columns l = launch_samples(sample_cases[_i].batch, sample_cases[_i].places,
						 sample_cases[_i].columns, sample_cases[_i].type);

	ROW_EQ_INT(name, l.across, sample_cases[_i].across);
	ROW_EQ_INT(name, l.across * l.down, LAUNCH_THREADS);
	ROW_EQ_INT(name, l.blocks_x, sample_cases[_i].blocks_x);
	ROW_EQ_INT(name, l.blocks_y, sample_cases[_i].blocks_y);
}
END_TEST

/* Two sums of each column in each block, and the two sums. */
START_TEST(batches_are_normalized_by_two_sums)
{
	const struct batch_norm_shape shape = {
		.rows = 1000, .columns = 24, .channels = 20, .places = 10, .type = VALUE_BFLOAT16};
	struct launch_columns l = batch_norm_columns(&shape);

	ck_assert_int_eq(l.width, 4);
	ck_assert_uint_eq(batch_norm_scratch(&shape),
			  KERNEL_TICKET_BYTES + (l.blocks_y + 1) * 2 * 24 * sizeof(float));
	ck_assert_int_eq(batch_norm_rows(&shape, 0), 0);
	ck_assert_int_eq(batch_norm_rows(&shape, 99), 990);
	ck_assert_int_eq(batch_norm_rows(&shape, 101), 1000);
}
END_TEST

static const struct {
	const char *name;
	int64_t batch;
	int32_t height, width, channels, out;
	int32_t rows, of_image;
	unsigned blocks_x, blocks_y, summed;
} convolution_cases[] = {
	{"conv1 of 4096", 4096, 32, 32, 3, 64, 16, 1, 264, 1, 17},
	{"conv1 of 512", 512, 32, 32, 3, 64, 16, 1, 264, 1, 17},
	{"conv1 of 32", 32, 32, 32, 3, 64, 4, 4, 128, 1, 8},
	{"conv1 of one sample", 1, 32, 32, 3, 64, 4, 4, 4, 1, 1},
	{"a rest at the end", 300, 29, 31, 3, 64, 14, 1, 264, 1, 17},
	{"rows of a large image", 1000, 224, 224, 3, 64, 4, 28, 264, 1, 17},
	{"no batch", 0, 32, 32, 3, 64, 4, 4, 1, 1, 1},
	{"many channels", 4096, 32, 32, 3, 1024, 16, 1, 16, 16, 1},
	{"the widest", 1, 40, 680, 3, 8, 1, 20, 20, 1, 2},
};

START_TEST(pieces_of_images)
{
	const char *name = convolution_cases[_i].name;
	struct convolution_pool_launch l =
		convolution_pool_launch(convolution_cases[_i].batch, convolution_cases[_i].height,
					convolution_cases[_i].width, convolution_cases[_i].channels,
					convolution_cases[_i].out);

	ck_assert(convolution_pool_has(convolution_cases[_i].height, convolution_cases[_i].width,
				       convolution_cases[_i].channels, convolution_cases[_i].out,
				       VALUE_BFLOAT16));
	ROW_EQ_INT(name, l.rows, convolution_cases[_i].rows);
	ROW_EQ_INT(name, l.of_image, convolution_cases[_i].of_image);
	ROW_EQ_INT(name, l.pieces, convolution_cases[_i].batch * l.of_image);
	ROW_EQ_INT(name, l.blocks_x, convolution_cases[_i].blocks_x);
	ROW_EQ_INT(name, l.blocks_y, convolution_cases[_i].blocks_y);
	ROW_EQ_INT(name, l.summed, convolution_cases[_i].summed);
	ck_assert(convolution_pool_tile(l.rows, convolution_cases[_i].width,
					convolution_cases[_i].channels) <= CONVOLUTION_POOL_TILE);
}
END_TEST

/* Each number of blocks whose sums one adds has its ticket. */
START_TEST(tickets_of_a_convolution_suffice)
{
	for (int32_t out = 1; out <= CONVOLUTION_POOL_MAX_OUT; out++)
		for (int64_t batch = 1; batch < 600; batch += 7) {
			struct convolution_pool_launch l =
				convolution_pool_launch(batch, 32, 32, 3, out);

			ck_assert_msg((1 + l.blocks_y * l.summed) * sizeof(unsigned) <=
					      KERNEL_TICKET_BYTES,
				      "%d channels of %d samples: %u times %u sums", (int)out,
				      (int)batch, l.blocks_y, l.summed);
		}
}
END_TEST

START_TEST(other_convolutions_are_not_there)
{
	ck_assert(convolution_pool_has(2, 2, 1, 1, VALUE_FLOAT16));
	ck_assert(!convolution_pool_has(32, 32, 3, 64, VALUE_FLOAT32));
	ck_assert(!convolution_pool_has(1, 32, 3, 64, VALUE_FLOAT16));
	ck_assert(!convolution_pool_has(32, 1, 3, 64, VALUE_FLOAT16));
	ck_assert(!convolution_pool_has(32, 32, 4, 64, VALUE_FLOAT16));
	ck_assert(!convolution_pool_has(32, 32, 3, CONVOLUTION_POOL_MAX_OUT + 1, VALUE_FLOAT16));
	ck_assert(!convolution_pool_has(32, 681, 3, 64, VALUE_FLOAT16));
}
END_TEST

static const struct {
	const char *name;
	int64_t first, elements;
	int64_t chunks, begins[4];
} cuts[] = {
	{"nothing", 5, 0, 0, {0}},
	{"one element", 0, 1, 1, {0}},
	{"a whole chunk", 0, CHUNK_ELEMENTS, 1, {0}},
	{"one more", 0, CHUNK_ELEMENTS + 1, 2, {0, CHUNK_ELEMENTS}},
	{"over an edge", CHUNK_ELEMENTS - 1, 2, 2, {CHUNK_ELEMENTS - 1, CHUNK_ELEMENTS}},
	{"between edges", 3, 1728, 1, {3}},
	{"up to an edge", 7, CHUNK_ELEMENTS - 7, 1, {7}},
	{"three", 10, 3 * CHUNK_ELEMENTS - 10, 3, {10, CHUNK_ELEMENTS, 2 * CHUNK_ELEMENTS}},
};

START_TEST(chunks_of_a_parameter)
{
	const char *name = cuts[_i].name;
	int64_t first = cuts[_i].first, at = first;
	uint16_t copy[4 * CHUNK_ELEMENTS];
	const struct value_rows none = {.memory = NULL};
	const struct value_rows dense = {.memory = copy, .type = VALUE_BFLOAT16};
	struct chunk chunks[4];

	memset(chunks, 0, sizeof(chunks));
	ROW_EQ_INT(name, chunk_cut(NULL, first, cuts[_i].elements, &none, &none), cuts[_i].chunks);
	ROW_EQ_INT(name, chunk_cut(chunks, first, cuts[_i].elements, &dense, &none),
		   cuts[_i].chunks);
	for (int i = 0; i < cuts[_i].chunks; i++) {
		ROW_EQ_INT(name, chunks[i].first, cuts[_i].begins[i]);
		ROW_EQ_INT(name, chunks[i].first, at);
		ROW_EQ_INT(name, (uint16_t *)chunks[i].copy - copy, at - first);
		ROW_EQ_INT(name, chunks[i].copy_type, VALUE_BFLOAT16);
		ROW_EQ_INT(name, chunks[i].row, 0);
		ck_assert_ptr_null(chunks[i].gradient);
		ck_assert(chunks[i].count > 0 && chunks[i].count <= CHUNK_ELEMENTS);
		at += chunks[i].count;
	}
	ROW_EQ_INT(name, at, first + cuts[_i].elements);
	chunk_cut(chunks, first, cuts[_i].elements, &none, &none);
	ck_assert_ptr_null(chunks[0].copy);
}
END_TEST

/* A copy and a gradient beside the flat buffers have each element of the parameter in
 * its place. */
static const struct {
	const char *name;
	int64_t first, elements;
	int32_t row, copy_pitch, gradient_pitch; /* 0: there is none */
	int32_t chunks;
} besides[] = {
	{"padded", 0, 1728, 3, 8, 8, 2},
	{"not aligned", 5, 1728, 3, 8, 8, 2},
	{"rows longer than a chunk", 7, 9000, 1500, 1504, 1504, 9},
	{"a padded copy only", 0, 9000, 3, 8, 0, 3},
	{"a dense gradient only", 1792, 9000, 64, 0, 64, 10},
	{"a padded gradient, a dense copy", 3, 3000, 5, 5, 8, 3},
	{"a row of one", 0, 100, 1, 4, 8, 1},
};

static int64_t padded_place(int64_t at, int32_t row, int32_t pitch)
{
	return at / row * pitch + at % row;
}

START_TEST(chunks_beside_the_flat_buffer)
{
	const char *name = besides[_i].name;
	static uint16_t copies[100000];
	static float gradients[100000];
	struct value_rows copy = {NULL, VALUE_BFLOAT16, besides[_i].row, besides[_i].copy_pitch};
	struct value_rows gradient = {NULL, VALUE_FLOAT32, besides[_i].row,
				      besides[_i].gradient_pitch};
	struct chunk chunks[16];
	int64_t at = 0;

	copy.memory = copy.pitch ? copies : NULL;
	gradient.memory = gradient.pitch ? gradients : NULL;
	ROW_EQ_INT(name,
		   chunk_cut(chunks, besides[_i].first, besides[_i].elements, &copy, &gradient),
		   besides[_i].chunks);
	for (int i = 0; i < besides[_i].chunks; i++) {
		const struct chunk *c = &chunks[i];

		ROW_EQ_INT(name, c->first, besides[_i].first + at);
		ROW_EQ_INT(name, (c->copy != NULL) + 2 * (c->gradient != NULL),
			   (copy.memory != NULL) + 2 * (gradient.memory != NULL));
		for (int32_t k = 0; k < c->count; k++, at++) {
			if (c->copy)
				ROW_EQ_INT(name,
					   (uint16_t *)c->copy - copies +
						   chunk_place(c, c->copy_pitch, k),
					   padded_place(at, copy.row, copy.pitch));
			if (c->gradient)
				ROW_EQ_INT(name,
					   (const float *)c->gradient - gradients +
						   chunk_place(c, c->gradient_pitch, k),
					   padded_place(at, gradient.row, gradient.pitch));
		}
	}
	ROW_EQ_INT(name, at, besides[_i].elements);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *suite = suite_create("launch");
	TCase *tests = tcase_create("launch");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, blocks_of_a_count, 0, ROWS(counts));
	tcase_add_loop_test(tests, lanes_of_rows, 0, ROWS(row_cases));
	tcase_add_loop_test(tests, columns_and_rows, 0, ROWS(column_cases));
	tcase_add_test(tests, any_shape_fits);
	tcase_add_loop_test(tests, splits_at_what_is_aligned, 0, ROWS(splits));
	tcase_add_loop_test(tests, pieces_of_images, 0,
			    sizeof(convolution_cases) / sizeof(*convolution_cases));
	tcase_add_test(tests, tickets_of_a_convolution_suffice);
	tcase_add_test(tests, other_convolutions_are_not_there);
	tcase_add_test(tests, pooling_sums_its_input);
	tcase_add_loop_test(tests, samples_apart, 0, ROWS(sample_cases));
	tcase_add_test(tests, batches_are_normalized_by_two_sums);
	tcase_add_loop_test(tests, chunks_of_a_parameter, 0, ROWS(cuts));
	tcase_add_loop_test(tests, chunks_beside_the_flat_buffer, 0, ROWS(besides));
	return unit_run(suite);
}

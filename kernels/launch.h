/* SPDX-License-Identifier: MIT */
/*
 * Grid, block and order of sums of each kind of kernel. These are pure functions of shapes: they do
 * not depend on a device and can be tested without one. 0 blocks: nothing to do.
 */
#ifndef KERNELS_LAUNCH_H
#define KERNELS_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/value.h"

enum {
	LAUNCH_THREADS = 256,
	/* Eight blocks of each of an H200's 132 multiprocessors: all are resident at once, and loop
	 * over the work. */
	LAUNCH_MAX_BLOCKS = 8 * 132,
	/* Two of each multiprocessor, a quarter of its threads: they read and write nearly as fast,
	 * and kernels of other streams find room. */
	LAUNCH_BESIDE_BLOCKS = 2 * 132,
	/* the greatest number of blocks whose sums the last block adds */
	LAUNCH_MAX_SUMMED = 4 * 132,
	LAUNCH_ROWS_OF_THREAD = 2,
	LAUNCH_VECTOR_BYTES = 16,  /* bytes that a thread loads at a time */
	KERNEL_TICKET_BYTES = 128, /* at the beginning of scratch, to find last blocks */
};

struct launch {
	unsigned blocks, threads;
};

static inline int64_t launch_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* For a >= 0, b > 0. */
static inline int64_t launch_divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

/* One thread per unit of work, but no more blocks than are resident. */
static inline struct launch launch_elements(int64_t units)
{
	struct launch launch = {0, LAUNCH_THREADS};

	if (units > 0)
		launch.blocks = (unsigned)launch_min(launch_divide_up(units, LAUNCH_THREADS),
						     LAUNCH_MAX_BLOCKS);
	return launch;
}

/* One block per piece, but no more blocks than are resident. */
static inline struct launch launch_pieces(int64_t pieces)
{
	struct launch launch = {0, LAUNCH_THREADS};

	if (pieces > 0)
		launch.blocks = (unsigned)launch_min(pieces, LAUNCH_MAX_BLOCKS);
	return launch;
}

/* The same beside kernels of other streams. */
static inline struct launch launch_pieces_beside(int64_t pieces)
{
	return launch_pieces(launch_min(pieces, LAUNCH_BESIDE_BLOCKS));
}

/*
 * `count` elements of one or two arrays, for loads of 16 bytes: `head` single ones until both
 * arrays are aligned, then `vectors` of `per` elements, then single ones again. If the arrays are
 * never aligned together, all are single.
 */
struct launch_split {
	int64_t head, vectors;
	int per;
};

static inline int launch_aligned(const void *array, size_t bytes)
{
	return ((uintptr_t)array + bytes) % LAUNCH_VECTOR_BYTES == 0;
}

/* For arrays a and b with elements of these sizes. */
static inline struct launch_split launch_split(int64_t count, const void *a, size_t a_bytes,
					       const void *b, size_t b_bytes)
{
	struct launch_split split = {
		count, 0, (int)(LAUNCH_VECTOR_BYTES / (a_bytes < b_bytes ? a_bytes : b_bytes))};

	for (int head = 0; head < split.per && head < count; head++)
		if (launch_aligned(a, (size_t)head * a_bytes) &&
		    launch_aligned(b, (size_t)head * b_bytes)) {
			split.head = head;
			split.vectors = (count - head) / split.per;
			break;
		}
	return split;
}

/* One thread per vector and per single element. */
static inline struct launch launch_of_split(const struct launch_split *split, int64_t count)
{
	int64_t single = count - split->vectors * split->per;

	return launch_elements(split->vectors > single ? split->vectors : single);
}

/* How many neighbouring threads share a row of cross_entropy: a power of two from 1 to 32, large
 * enough to hold all classes at once if 32 is. */
static inline int launch_row_lanes(int32_t classes)
{
	int lanes = 1;

	while (lanes < 32 && lanes < classes)
		lanes *= 2;
	return lanes;
}

/* For rows of `classes` values, with launch_row_lanes() threads each. */
static inline struct launch launch_rows(int64_t rows, int32_t classes)
{
	int64_t at_once = LAUNCH_THREADS / launch_row_lanes(classes);

	return launch_pieces(launch_divide_up(rows > 0 ? rows : 0, at_once));
}

/*
 * Sums over the rows of (rows, columns). A thread has `width` neighbouring columns; `across`
 * threads of a block lie side by side, `down` = threads / across of them under each other. Block
 * (x, y) of blocks_x times blocks_y has columns from x * across * width on, and thread row t of it
 * the rows y * down + t, and every (blocks_y * down)-th after it. The last block adds the blocks'
 * sums, so there are few enough blocks for it and enough rows for each thread.
 */
struct launch_columns {
	unsigned blocks_x, blocks_y, threads;
	int width, across, down;
};

static inline struct launch_columns launch_columns(int64_t rows, int64_t columns,
						   enum value_type type)
{
	struct launch_columns l = {0, 0, LAUNCH_THREADS, 1, 1, 1};
	int max = (int)(LAUNCH_VECTOR_BYTES / value_bytes(type));
	int64_t blocks_y;

	/* Vectors need the beginning of every row aligned. */
	l.width = columns % max == 0 ? max : 1;
	while (l.across < 32 && (int64_t)l.across * l.width < columns)
		l.across *= 2;
	l.down = LAUNCH_THREADS / l.across;
	if (columns <= 0)
		return l;
	l.blocks_x = (unsigned)launch_divide_up(columns, (int64_t)l.across * l.width);
	blocks_y = launch_min(
		launch_divide_up(rows > 0 ? rows : 1, (int64_t)l.down * LAUNCH_ROWS_OF_THREAD),
		launch_divide_up(LAUNCH_MAX_SUMMED, l.blocks_x));
	l.blocks_y = (unsigned)blocks_y;
	return l;
}

/* The same columns, where nothing is summed: as many blocks as can be resident. */
static inline struct launch_columns launch_columns_apart(int64_t rows, int64_t columns,
							 enum value_type type)
{
	struct launch_columns l = launch_columns(rows, columns, type);
	int64_t most = l.blocks_x ? launch_divide_up(LAUNCH_MAX_BLOCKS, l.blocks_x) : 0;

	l.blocks_y = (unsigned)launch_min(launch_divide_up(rows > 0 ? rows : 1, l.down), most);
	return l;
}

/* The same columns, each sample's places apart: block (x, y) has sample y, and every blocks_y-th
 * after it, and thread row t of it the places t, and every down-th after it. */
static inline struct launch_columns launch_samples(int64_t batch, int64_t places, int64_t columns,
						   enum value_type type)
{
	struct launch_columns l = launch_columns(places, columns, type);
	int64_t most = l.blocks_x ? launch_divide_up(LAUNCH_MAX_BLOCKS, l.blocks_x) : 0;

	l.blocks_y = (unsigned)launch_min(batch > 0 ? batch : 0, most);
	return l;
}

/* The ticket and a float for each column and block y. */
static inline size_t launch_columns_scratch(int64_t rows, int64_t columns, enum value_type type)
{
	struct launch_columns l = launch_columns(rows, columns, type);

	return KERNEL_TICKET_BYTES + l.blocks_y * (size_t)columns * sizeof(float);
}

#endif

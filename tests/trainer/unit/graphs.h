/* SPDX-License-Identifier: MIT */
/* Graphs that are drawn: every layer has the shape of the sample, so that any two can be added. */
#ifndef TRAIN_TESTS_GRAPHS_H
#define TRAIN_TESTS_GRAPHS_H

#include <stdint.h>
#include <string.h>

#include "model/model.h"

enum { GRAPH_LAYERS = 10 };

static inline uint32_t graph_number(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 16) % below;
}

/* GRAPH_LAYERS layers of so many channels. A layer reads one of the two before it and, if it adds,
 * another; some do not reach the last. */
static inline void graph_draw(struct layer *layers, int channels, uint32_t seed)
{
	static const char *const names[GRAPH_LAYERS] = {"n0", "n1", "n2", "n3", "n4",
							"n5", "n6", "n7", "n8", "n9"};
	uint32_t state = seed;

	for (int i = 0; i < GRAPH_LAYERS; i++) {
		uint32_t kind = graph_number(&state, i < 2 ? 2 : 7);
		int first = i - 1 - (int)graph_number(&state, i < 2 ? 1 : 2);
		bool relu = graph_number(&state, 3) == 0;

		layers[i] = (struct layer){.name = names[i], .out = channels, .relu = relu};
		layers[i].from[0] = i > 0 ? names[first] : NULL;
		if (kind >= 3) {
			int second = (int)graph_number(&state, (uint32_t)i);

			layers[i].kind = LAYER_ADD;
			layers[i].from[1] = names[second == first ? (first + 1) % i : second];
		} else if (kind == 2) {
			layers[i].kind = LAYER_MAX_POOL;
			layers[i].kernel = 1;
			layers[i].relu = false;
		} else {
			layers[i].kind = LAYER_CONVOLUTION;
			layers[i].kernel = kind ? 3 : 1;
			layers[i].pad = kind ? 1 : 0;
		}
	}
}

#endif

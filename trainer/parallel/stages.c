/* SPDX-License-Identifier: MIT */
/* See stages.h. */
#include "parallel/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Multiplications of a sample in a layer: each output sums the inputs of its weight. */
static int64_t work_of(const struct model_shapes *shapes, int layer)
{
	const struct layer_shape *at = &shapes->layers[layer];
	const struct model_parameter *weight;

	if (at->parameters < 0 || !at->live)
		return 0;
	weight = &shapes->parameters[at->parameters];
	return weight->elements * at->out[1] * at->out[2];
}

static int64_t sends(const struct model_shapes *shapes, int layer)
{
	const int64_t *out = shapes->layers[layer].out;

	return out[0] * out[1] * out[2];
}

/* Whether the model can be cut after this layer: it is live, and only its output crosses. */
static bool can_cut(const struct model_spec *spec, const struct model_shapes *shapes, int last)
{
	int reads;

	return last >= 0 && last < spec->count - 1 && shapes->layers[last].live &&
	       model_crossing(shapes, spec, last, &reads) < 0;
}

struct cost {
	int64_t greatest, sent; /* of the stages so far */
	int cut;                /* the previous stage ends here */
};

static bool cheaper(const struct cost *a, const struct cost *b)
{
	return a->greatest < b->greatest || (a->greatest == b->greatest && a->sent < b->sent);
}

/* Of one stage more than those of `before` (NULL: of the first), which end at each layer: the best
 * over the layers 0 to i. */
static struct cost best_of(const struct cost *before, int i, const struct model_spec *spec,
			   const struct model_shapes *shapes)
{
	struct cost best = {INT64_MAX, INT64_MAX, -1};
	int64_t work = 0;

	for (int j = i; j >= 0; j--) {
		struct cost c = {0, 0, j - 1};

		work += work_of(shapes, j);
		if ((before != NULL) != (j > 0))
			continue;
		if (before) {
			if (!can_cut(spec, shapes, j - 1) || before[j - 1].greatest == INT64_MAX)
				continue;
			c.greatest = before[j - 1].greatest;
			c.sent = before[j - 1].sent + sends(shapes, j - 1);
		}
		if (work > c.greatest)
			c.greatest = work;
		if (cheaper(&c, &best))
			best = c;
	}
	return best;
}

/* A row of the table for each stage, with a place for each layer that it can end with. */
static void cut_by_work(struct stage *stages, int count, const struct model_spec *spec,
			const struct model_shapes *shapes)
{
	int layers = spec->count;
	CLEANUP_FREE struct cost *best = xmalloc((size_t)count * (size_t)layers * sizeof(*best));

	for (int k = 0; k < count; k++)
		for (int i = 0; i < layers; i++)
			best[k * layers + i] =
				best_of(k > 0 ? best + (k - 1) * layers : NULL, i, spec, shapes);
	for (int k = count - 1, last = layers - 1; k >= 0; k--) {
		stages[k] = (struct stage){best[k * layers + last].cut + 1, last};
		last = best[k * layers + last].cut;
	}
}

static int find_layer(const struct model_spec *spec, const char *name, size_t length)
{
	for (int i = 0; i < spec->count; i++)
		if (strncmp(spec->layers[i].name, name, length) == 0 &&
		    !spec->layers[i].name[length])
			return i;
	return -1;
}

/* Names the layers before which the model can be cut. */
static bool no_layer(const struct model_spec *spec, const struct model_shapes *shapes,
		     const char *name, int length, struct train_error *error)
{
	char names[256] = "";
	size_t used = 0;

	for (int i = 1; i < spec->count; i++) {
		if (!can_cut(spec, shapes, i - 1))
			continue;
		if (used + strlen(spec->layers[i].name) + sizeof(", and more") > sizeof(names)) {
			snprintf(names + used, sizeof(names) - used, " and more");
			break;
		}
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", spec->layers[i].name);
	}
	return train_fail(error, TRAIN_BAD_INPUT,
			  "--stages: model %s has no layer '%.*s'; choose from %s", spec->name,
			  length < 64 ? length : 64, name, names);
}

/* "'conv1' or 'conv3'": the nearest layers before which the model can be cut; "": none. */
static void nearest_cuts(char *text, size_t size, const struct model_spec *spec,
			 const struct model_shapes *shapes, int layer)
{
	int lower = layer - 1, upper = layer + 1;
	size_t used = 0;

	while (lower > 0 && !can_cut(spec, shapes, lower - 1))
		lower--;
	while (upper < spec->count && !can_cut(spec, shapes, upper - 1))
		upper++;
	*text = '\0';
	if (lower > 0)
		used = (size_t)snprintf(text, size, "'%s'", spec->layers[lower].name);
	if (upper < spec->count && used < size)
		snprintf(text + used, size - used, "%s'%s'", used ? " or " : "",
			 spec->layers[upper].name);
}

/* Fails where the model cannot be cut before this layer, which is not the first. */
static bool check_cut(const struct model_spec *spec, const struct model_shapes *shapes, int layer,
		      const char *cuts, struct train_error *error)
{
	const char *name = spec->layers[layer].name;
	char why[160], nearest[160];
	int reads, by;

	if (can_cut(spec, shapes, layer - 1))
		return true;
	by = model_crossing(shapes, spec, layer - 1, &reads);
	if (by < 0)
		snprintf(why, sizeof(why), "nothing reads %s", spec->layers[layer - 1].name);
	else
		snprintf(why, sizeof(why), "%s also reads %s", spec->layers[by].name,
			 spec->layers[reads].name);
	nearest_cuts(nearest, sizeof(nearest), spec, shapes, layer);
	if (!*nearest)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"--stages %s: model %s cannot be cut before '%s', because %s, nor "
			"elsewhere; use one device",
			cuts, spec->name, name, why);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "--stages %s: model %s cannot be cut before '%s', because %s; cut it "
			  "before %s",
			  cuts, spec->name, name, why, nearest);
}

static bool cut_as_given(struct stage *stages, int count, const struct model_spec *spec,
			 const struct model_shapes *shapes, const char *cuts,
			 struct train_error *error)
{
	int k = 0;

	stages[0].first = 0;
	for (const char *at = cuts; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		int length = (int)strcspn(at, ","), layer = find_layer(spec, at, (size_t)length);

		if (++k >= count)
			break;
		if (layer < 0)
			return no_layer(spec, shapes, at, length, error);
		if (layer <= stages[k - 1].first)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "--stages %s: model %s cannot be cut before '%.*s'; name "
					  "later layers than the first, in their order",
					  cuts, spec->name, length, at);
		if (!check_cut(spec, shapes, layer, cuts, error))
			return false;
		stages[k].first = layer;
		stages[k - 1].last = layer - 1;
	}
	if (k != count - 1)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--stages %s: %d devices are %d stages; name the first layer of "
				  "each but the first",
				  cuts, count, count);
	stages[k].last = spec->count - 1;
	return true;
}

bool stages_make(struct stage *stages, int count, const struct model_spec *spec,
		 const struct model_shapes *shapes, const char *cuts, struct train_error *error)
{
	int max = 1;

	if (*cuts)
		return cut_as_given(stages, count, spec, shapes, cuts, error);
	for (int i = 0; i < spec->count; i++)
		max += can_cut(spec, shapes, i);
	if (count > max)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "model %s cannot be cut into %d stages, only into %d; use fewer "
				  "devices",
				  spec->name, count, max);
	cut_by_work(stages, count, spec, shapes);
	return true;
}

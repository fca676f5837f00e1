/* SPDX-License-Identifier: MIT */
/* Parameters that get no gradient, because their layer does not reach the loss. */
#include "model/model.h"

/* A layer is live if a live one reads it, or if it is the last. */
void model_find_live(struct model_shapes *shapes, const struct model_spec *spec)
{
	shapes->layers[spec->count - 1].live = true;
	for (int i = spec->count - 1; i >= 0; i--)
		for (int k = 0; shapes->layers[i].live && k < shapes->layers[i].inputs; k++)
			if (shapes->layers[i].from[k] >= 0)
				shapes->layers[shapes->layers[i].from[k]].live = true;
}

bool model_all_live(const struct model_shapes *shapes, const struct model_spec *spec,
		    struct train_error *error)
{
	for (int i = 0; i < spec->count; i++)
		if (!shapes->layers[i].live && shapes->layers[i].parameters >= 0)
			return train_fail(
				error, TRAIN_BAD_INPUT,
				"model %s: layer %s does not reach the loss, so %s.weight "
				"would never change; take it out or allow it with "
				"--find-unused-parameters",
				spec->name, spec->layers[i].name, spec->layers[i].name);
	return true;
}

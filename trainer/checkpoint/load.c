/* SPDX-License-Identifier: MIT */
/* Loads a checkpoint into a run. Everything is compared before anything is copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "checkpoint/contents.h"
#include "memory.h"

struct loading {
	const struct safetensors *file;
	const char *module; /* what parameters' names begin with in the file: "module." or "" */
	const struct contents *wanted;
	const struct safetensors_tensor **found; /* by wanted */
	bool optimizer;                          /* the optimizer's state is to be loaded too */
	struct train_error *error;
};

static bool is_optimizer(const struct safetensors_tensor *tensor)
{
	return starts_with(tensor->name, CHECKPOINT_OPTIMIZER);
}

/* Either all parameters have the prefix or none has. */
static bool find_module(struct loading *l)
{
	const char *with = NULL, *without = NULL;

	for (size_t i = 0; i < l->file->count; i++) {
		const struct safetensors_tensor *t = &l->file->tensors[i];

		if (is_optimizer(t))
			continue;
		if (starts_with(t->name, CHECKPOINT_MODULE))
			with = t->name;
		else
			without = t->name;
	}
	if (with && without)
		return train_fail(l->error, TRAIN_BAD_INPUT,
				  "%s: %s begins with " CHECKPOINT_MODULE
				  " and %s does not; save the state_dict of one model",
				  l->file->path, with, without);
	l->module = with ? CHECKPOINT_MODULE : "";
	return true;
}

/* By its name in the file. */
static const struct safetensors_tensor *find_wanted(const struct loading *l,
						    const struct safetensors_tensor *wanted)
{
	CLEANUP_FREE char *name = NULL;

	xasprintf(&name, "%s%s", is_optimizer(wanted) ? "" : l->module, wanted->name);
	return safetensors_find(l->file, name);
}

static bool compare(const struct loading *l, const struct safetensors_tensor *wanted,
		    const struct safetensors_tensor *found)
{
	char here[SAFETENSORS_SHAPE_TEXT], there[SAFETENSORS_SHAPE_TEXT];
	const struct tensor_shape *a = &wanted->shape, *b = &found->shape;

	if (found->dtype != wanted->dtype)
		return train_fail(l->error, TRAIN_BAD_INPUT,
				  "%s: %s is %s, and only %s can be loaded; convert it in PyTorch "
				  "with .%s()",
				  l->file->path, found->name, safetensors_dtype_name(found->dtype),
				  safetensors_dtype_name(wanted->dtype),
				  wanted->dtype == SAFETENSORS_I64 ? "long" : "float");
	if (a->dims == b->dims && memcmp(a->size, b->size, (size_t)a->dims * sizeof(*a->size)) == 0)
		return true;
	return train_fail(
		l->error, TRAIN_BAD_INPUT,
		"%s: the shape of %s is %s in the file and %s here; choose the model of the file, "
		"and for a ResNet its --image-size",
		l->file->path, wanted->name, safetensors_shape(there, b),
		safetensors_shape(here, a));
}

static bool is_found(const struct loading *l, const struct safetensors_tensor *tensor)
{
	for (size_t i = 0; i < l->wanted->count; i++)
		if (l->found[i] == tensor)
			return true;
	return false;
}

/* ": missing 2 (fc2.bias, ...), ..." */
static bool names_differ(const struct loading *l, const char *missing, size_t missing_count)
{
	const char *extra = NULL;
	size_t extra_count = 0;

	for (size_t i = 0; i < l->file->count; i++) {
		const struct safetensors_tensor *t = &l->file->tensors[i];

		if ((!l->optimizer && is_optimizer(t)) || is_found(l, t))
			continue;
		extra = extra ? extra : t->name;
		extra_count++;
	}
	if (!missing && !extra)
		return true;
	if (missing && extra)
		return train_fail(l->error, TRAIN_BAD_INPUT,
				  "%s: missing %s (%zu in all), unexpected %s (%zu in all); choose "
				  "the model and the optimizer of the file",
				  l->file->path, missing, missing_count, extra, extra_count);
	return train_fail(l->error, TRAIN_BAD_INPUT,
			  "%s: %s %s (%zu in all); choose the model and the optimizer of the file",
			  l->file->path, missing ? "missing" : "unexpected",
			  missing ? missing : extra, missing ? missing_count : extra_count);
}

/* A counter, which must have room to count on. */
static bool can_count(const struct loading *l, const struct safetensors_tensor *counter)
{
	int64_t value;

	memcpy(&value, counter->data, sizeof(value));
	return (value >= 0 && value <= (int64_t)1 << 62) ||
	       train_fail(l->error, TRAIN_BAD_INPUT,
			  "%s: %s is %lld, and it counts from 0 to 2^62; set it to 0 in PyTorch",
			  l->file->path, counter->name, (long long)value);
}

static bool have_good_values(const struct loading *l)
{
	for (size_t i = 0; i < l->wanted->count; i++) {
		const struct safetensors_tensor *found = l->found[i];

		if (!found || is_optimizer(found))
			continue;
		if (!(found->dtype == SAFETENSORS_I64 ? can_count(l, found)
						      : contents_finite(l->file, found, l->error)))
			return false;
	}
	return true;
}

static bool find_all(struct loading *l)
{
	const char *missing = NULL;
	size_t missing_count = 0;

	if (!find_module(l))
		return false;
	for (size_t i = 0; i < l->wanted->count; i++) {
		const struct safetensors_tensor *wanted = &l->wanted->tensors[i];

		l->found[i] = find_wanted(l, wanted);
		if (l->found[i] && !compare(l, wanted, l->found[i]))
			return false;
		if (l->found[i] || (!l->optimizer && wanted->dtype == SAFETENSORS_I64))
			continue;
		missing = missing ? missing : wanted->name;
		missing_count++;
	}
	return names_differ(l, missing, missing_count) && have_good_values(l);
}

static void copy_all(const struct loading *l)
{
	for (size_t i = 0; i < l->wanted->count; i++)
		if (l->wanted->data[i] && l->found[i] && safetensors_size(l->found[i]) > 0)
			memcpy(l->wanted->data[i], l->found[i]->data,
			       safetensors_size(l->found[i]));
}

static bool load(const struct checkpoint *into, bool optimizer, const struct safetensors *file,
		 struct train_error *error)
{
	CLEANUP(contents_free) struct contents wanted = {.count = 0};
	CLEANUP_FREE const struct safetensors_tensor **found = NULL;
	struct loading l = {
		.file = file, .wanted = &wanted, .optimizer = optimizer, .error = error};

	if (!contents_make(&wanted, into, error))
		return false;
	l.found = found = xcalloc(wanted.count, sizeof(*found));
	if (!find_all(&l))
		return false;
	copy_all(&l);
	return true;
}

bool checkpoint_load_model(const struct checkpoint *into, const struct safetensors *file,
			   struct train_error *error)
{
	struct checkpoint model = *into;

	model.slot_count = 0;
	return load(&model, false, file, error);
}

bool checkpoint_load(struct checkpoint *into, const struct safetensors *file,
		     struct train_error *error)
{
	struct checkpoint_progress progress;

	if (!checkpoint_progress(&progress, file, error) || !load(into, true, file, error))
		return false;
	into->progress = progress;
	return true;
}

bool checkpoint_progress(struct checkpoint_progress *progress, const struct safetensors *file,
			 struct train_error *error)
{
	const char *version = safetensors_text(file, "checkpoint"), *key;
	struct checkpoint_progress read;

	if (!version)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"%s: it has only weights; load it by --weights, or use a checkpoint",
			file->path);
	if (strcmp(version, CHECKPOINT_VERSION) != 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s: a checkpoint of version %s, but this program reads version "
				  "%s; use the program that wrote it",
				  file->path, version, CHECKPOINT_VERSION);
	if (!file->checked)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s: damaged, it has lost its CRC-32; use another checkpoint",
				  file->path);
	if (!progress_scan(&read, file, &key))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s: %s in __metadata__ is missing or not a number; use another "
				  "checkpoint",
				  file->path, key);
	*progress = read;
	return true;
}

bool checkpoint_finite(const struct safetensors *file, struct train_error *error)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct safetensors_tensor *t = &file->tensors[i];

		if (!is_optimizer(t) && t->dtype == SAFETENSORS_F32 &&
		    !contents_finite(file, t, error))
			return false;
	}
	return true;
}

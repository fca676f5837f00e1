/* SPDX-License-Identifier: MIT */
/* The parts of an inventory that answers depend on. Whatever a stage begins to read belongs here.
 */
#include "resolve/resolve.h"

static void put_number(struct strbuf *buf, int64_t number)
{
	strbuf_add(buf, (const char *)&number, sizeof(number));
}

/* Filled up with zeros, so that all is made of whole numbers. */
static void put_text(struct strbuf *buf, const char *text)
{
	static const char zeros[sizeof(int64_t)] = "";
	size_t length = text ? strlen(text) : 0;

	put_number(buf, text ? (int64_t)length : -1);
	if (!length)
		return;
	strbuf_add(buf, text, length);
	strbuf_add(buf, zeros, (sizeof(zeros) - length % sizeof(zeros)) % sizeof(zeros));
}

enum { UUID_UNKNOWN, UUID_GPU, UUID_MIG, UUID_OTHER };

static int uuid_kind(const char *uuid)
{
	if (!uuid)
		return UUID_UNKNOWN;
	return starts_with(uuid, "GPU-")   ? UUID_GPU
	       : starts_with(uuid, "MIG-") ? UUID_MIG
					   : UUID_OTHER;
}

static void put_mig(struct strbuf *buf, const gpumap_device *mig)
{
	put_number(buf, uuid_kind(mig->uuid));
	put_number(buf, mig->gi);
	put_number(buf, mig->ci);
	put_text(buf, mig->profile);
}

/* GPUs of one model are equal for the stages, whatever the model is. */
static void put_gpu(struct strbuf *buf, const gpumap_device *gpu, bool one_model)
{
	const struct {
		int32_t physical;
		int16_t uuid, mig_enabled;
	} flags = {gpu->physical, (int16_t)uuid_kind(gpu->uuid), (int16_t)gpu->mig_enabled};

	strbuf_add(buf, (const char *)&flags, sizeof(flags));
	put_number(buf, (int64_t)gpu->mig_count);
	for (size_t i = 0; i < gpu->mig_count; i++)
		put_mig(buf, &gpu->mig[i]);
	if (one_model)
		return;
	put_text(buf, gpu->name);
	put_number(buf, gpu->memory);
}

void host_shape(struct strbuf *buf, const gpumap_inventory *inventory)
{
	const int *order = inventory->order[GPUMAP_ORDER_FASTEST];

	put_number(buf, inventory->assumed);
	put_number(buf, inventory->partial);
	put_number(buf, inventory->doubt);
	put_number(buf, inventory->one_model);
	put_number(buf, inventory->no_gpu != NULL);
	put_number(buf, driver_major(inventory->driver));
	put_number(buf, order != NULL);
	put_number(buf, (int64_t)inventory->count);
	for (size_t i = 0; order && i < inventory->count; i++)
		put_number(buf, order[i]);
	for (size_t i = 0; i < inventory->count; i++)
		put_gpu(buf, &inventory->gpus[i], inventory->one_model);
}

/* SPDX-License-Identifier: MIT */
/* The CUDA number of each GPU (rules N2 to N4). */
#include "inventory/inventory.h"

/* The i-th GPU by PCI address. GPUs with an index are sorted by it, and nvidia-smi numbers by PCI
 * address. Without an index inventory_finish() sorts the addresses. */
static int by_pci(const gpumap_inventory *inventory, size_t i)
{
	const gpumap_device *gpus = inventory->gpus;

	if (gpus[inventory->count - 1].index >= 0 || gpus[i].physical == (int)i)
		return (int)i;
	for (size_t k = 0; k < inventory->count; k++)
		if (gpus[k].physical == (int)i)
			return (int)k;
	return -1;
}

EXPORT int gpumap_inventory_cuda_position(const gpumap_inventory *inventory,
					  enum gpumap_order order, size_t i)
{
	if (!inventory || i >= inventory->count ||
	    (order != GPUMAP_ORDER_FASTEST && order != GPUMAP_ORDER_PCI))
		return -1;
	if (inventory->order[order])
		return inventory->order[order][i];
	if (inventory->doubt >= 0 && (int)i >= inventory->doubt)
		return -1;
	/* CUDA keeps GPUs of one model in PCI order. */
	if (order == GPUMAP_ORDER_PCI || inventory->one_model)
		return by_pci(inventory, i);
	return -1;
}

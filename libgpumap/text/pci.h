/* SPDX-License-Identifier: MIT */
/* Addresses of PCI devices. */
#ifndef GM_PCI_H
#define GM_PCI_H

#include "text.h"

/* "0000:07:00.0" from any of the spellings of NVIDIA and Linux ("00000000:07:00.0", "07:00.0",
 * upper case). Writes 13 or more bytes to `ret` (size 20). False: it is not a PCI address. */
bool pci_normalise(struct span s, char ret[20]);

/* The same, of the first function of a device. */
bool pci_of_numbers(unsigned int domain, unsigned int bus, unsigned int device, char ret[20]);

/* Compares two such addresses, in the order in which nvidia-smi numbers GPUs. */
int pci_compare(const char *a, const char *b);

/* The bus of such an address, and its domain. */
int pci_bus(const char *address, int64_t *domain);

#endif

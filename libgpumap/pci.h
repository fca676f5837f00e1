/* SPDX-License-Identifier: MIT */
/* Addresses of PCI devices. */
#ifndef GM_PCI_H
#define GM_PCI_H

#include "text.h"

/* "0000:07:00.0" from any of NVIDIA's and Linux' spellings ("00000000:07:00.0",
 * "07:00.0", upper case). Writes 13 or more bytes to `ret` (size 20); false: no PCI address. */
bool pci_normalise(struct span s, char ret[20]);

/* The order of two such addresses, as nvidia-smi numbers GPUs. */
int pci_compare(const char *a, const char *b);

#endif

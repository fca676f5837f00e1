/* SPDX-License-Identifier: MIT */
#ifndef GM_WRITE_ALL_H
#define GM_WRITE_ALL_H

#include <stddef.h>

/* Writes until all bytes are written or a call fails; a signal interrupts nothing. Returns how many
 * were written. If they are not all, errno has the reason: EAGAIN for a descriptor that does not
 * block, ENOSPC for one that takes no more. */
size_t write_all(int fd, const void *bytes, size_t size);

/* The remedy for an errno of writing; NULL: there is none that holds everywhere. Static. */
const char *write_remedy(int error);

#endif

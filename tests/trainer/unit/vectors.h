/* SPDX-License-Identifier: MIT */
/* For test vectors: rows of a table; a hash stands for a long array. */
#ifndef TRAIN_VECTORS_H
#define TRAIN_VECTORS_H

#include "hash.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

#endif

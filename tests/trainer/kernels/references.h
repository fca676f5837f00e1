/* SPDX-License-Identifier: MIT */
/*
 * void reference_NAME(const struct NAME_args *args) of each kernel of kernels.def: computes the
 * same on memory of the host, by plain loops, with sums in double. The kernels are tested against
 * it.
 */
#ifndef TESTS_KERNELS_REFERENCES_H
#define TESTS_KERNELS_REFERENCES_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL(name, args_struct) void reference_##name(const struct args_struct *args);
#include "kernels/kernels.def"
#undef KERNEL

#ifdef __cplusplus
}
#endif

#endif

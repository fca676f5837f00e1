/* SPDX-License-Identifier: MIT */
/*
 * The arguments of every kernel. A kernel NAME of kernels.def has its arguments in a header, what
 * it does on a GPU in NAME.cu (launchers.h), and the same in plain C (references.h).
 *
 * Pointers of arguments are device addresses, 16-byte aligned unless a header says otherwise, and
 * do not overlap unless it says that they may. Arguments are copied when the work is put on a
 * stream, so a recorded launch keeps them; what changes from step to step is read from the device
 * (control.h, scaler.h). Values are VALUE_FLOAT32, VALUE_BFLOAT16 or VALUE_FLOAT16.
 * Sums are taken in one order, whatever the device: the same arguments give the same bits.
 *
 * Scratch. Where a kernel has `scratch`, it holds as many bytes as the function of that header
 * says. The first KERNEL_TICKET_BYTES of it must be zero before the first run; each run leaves them
 * zero, so kernels of one stream may share it, but nothing else may write there. The rest is of no
 * meaning between runs. References do not use it: it may be NULL there.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "kernels/add.h"
#include "kernels/bias_gradient.h"
#include "kernels/busy.h"
#include "kernels/convert.h"
#include "kernels/cross_entropy.h"
#include "kernels/gradient_measure.h"
#include "kernels/input_fill.h"
#include "kernels/max_pool.h"
#include "kernels/relu_backward.h"
#include "kernels/reorder.h"
#include "kernels/update.h"

#endif

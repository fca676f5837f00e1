/* SPDX-License-Identifier: MIT */
/*
 * The arguments of every kernel. A kernel NAME of kernels.def has its arguments in a header, the
 * code for GPUs in NAME.cu (launchers.h), and the same in plain C (references.h).
 *
 * Pointers of arguments are device addresses, 16-byte aligned unless a header allows less, and
 * do not overlap unless it allows that. Arguments are copied when the work is put on a
 * stream, so a recorded launch keeps them; values that change from step to step are read from the
 * device (control.h, scaler.h). Values are VALUE_FLOAT32, VALUE_BFLOAT16 or VALUE_FLOAT16. Sums are
 * taken in one order, whatever the device: the same arguments give the same bits.
 *
 * Scratch. If a kernel has `scratch`, a function of its header gives the bytes. The first
 * KERNEL_TICKET_BYTES must be zero before the first run. Each run leaves them zero, so kernels of
 * one stream may share scratch, but nothing else may write there. The rest has no meaning between
 * runs. References do not use it: it may be NULL.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "kernels/add.h"
#include "kernels/addition.h"
#include "kernels/batch_norm.h"
#include "kernels/bias_gradient.h"
#include "kernels/busy.h"
#include "kernels/convert.h"
#include "kernels/convolution_pool.h"
#include "kernels/cross_entropy.h"
#include "kernels/gradient_measure.h"
#include "kernels/input_fill.h"
#include "kernels/max_pool.h"
#include "kernels/mean_pool.h"
#include "kernels/relu_backward.h"
#include "kernels/reorder.h"
#include "kernels/update.h"

#endif

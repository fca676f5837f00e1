# SPDX-License-Identifier: MIT
# The kernels of the CUDA backend. Their references are built everywhere.
kernels_files = \
	kernels/add.h \
	kernels/bias_gradient.h \
	kernels/busy.h \
	kernels/chunk.h \
	kernels/convert.h \
	kernels/cross_entropy.h \
	kernels/gradient_measure.h \
	kernels/input_fill.h \
	kernels/kernels.def \
	kernels/kernels.h \
	kernels/launch.h \
	kernels/launchers.h \
	kernels/max_pool.h \
	kernels/references.h \
	kernels/relu_backward.h \
	kernels/reorder.h \
	kernels/update.h

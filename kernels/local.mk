# SPDX-License-Identifier: MIT
# The kernels of the CUDA backend. Their references are built everywhere.
kernels_files = \
	kernels/add.c kernels/add.h \
	kernels/bias_gradient.c kernels/bias_gradient.h \
	kernels/busy.c kernels/busy.h \
	kernels/chunk.c kernels/chunk.h \
	kernels/convert.c kernels/convert.h \
	kernels/cross_entropy.c kernels/cross_entropy.h \
	kernels/gradient_measure.c kernels/gradient_measure.h \
	kernels/input_fill.c kernels/input_fill.h \
	kernels/kernels.def \
	kernels/kernels.h \
	kernels/launch.h \
	kernels/launchers.h \
	kernels/max_pool.c kernels/max_pool.h \
	kernels/references.h \
	kernels/relu_backward.c kernels/relu_backward.h \
	kernels/reorder.c kernels/reorder.h \
	kernels/update.c kernels/update.h

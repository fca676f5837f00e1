# SPDX-License-Identifier: MIT
# The kernels in plain C, for tests and for the simulated CUDA.
if HAVE_TRAINER
check_LTLIBRARIES += tests/trainer/kernels/libreferences.la
tests_trainer_kernels_libreferences_la_SOURCES = \
	tests/trainer/kernels/accumulate.c \
	tests/trainer/kernels/batch_norm.c \
	tests/trainer/kernels/bias_gradient.c \
	tests/trainer/kernels/busy.c \
	tests/trainer/kernels/convert.c \
	tests/trainer/kernels/convolution_pool.c \
	tests/trainer/kernels/cross_entropy.c \
	tests/trainer/kernels/gradient_measure.c \
	tests/trainer/kernels/input_fill.c \
	tests/trainer/kernels/max_pool.c \
	tests/trainer/kernels/mean_pool.c \
	tests/trainer/kernels/relu_backward.c \
	tests/trainer/kernels/reorder.c \
	tests/trainer/kernels/residual_add.c \
	tests/trainer/kernels/update.c \
	tests/trainer/kernels/references.h
tests_trainer_kernels_libreferences_la_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)
tests_trainer_kernels_libreferences_la_CFLAGS = $(AM_CFLAGS) $(COMPUTING_CFLAGS) -ffp-contract=off \
	-fno-math-errno -fopenmp-simd -Wno-pass-failed
endif

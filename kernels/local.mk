# SPDX-License-Identifier: MIT
# The kernels of the CUDA backend. Their references are in tests/trainer/kernels.
kernels_files = \
	kernels/augment.h \
	kernels/batch_norm.h \
	kernels/bf16.h \
	kernels/busy.h \
	kernels/control.h \
	kernels/convolution_pool.h \
	kernels/cross_entropy.h \
	kernels/flat_chunk.c kernels/flat_chunk.h \
	kernels/gradient_measure.h \
	kernels/input_fill.h \
	kernels/kernels.def \
	kernels/kernels.h \
	kernels/launch.h \
	kernels/launchers.h \
	kernels/max_pool.h \
	kernels/mean_pool.h \
	kernels/philox.h \
	kernels/scaler.c kernels/scaler.h \
	kernels/update.h \
	kernels/value.c kernels/value.h
kernels_cuda = \
	kernels/columns.cuh \
	kernels/device.cuh \
	kernels/mma.cuh \
	kernels/scaler.cuh \
	kernels/accumulate.cu \
	kernels/batch_norm.cu \
	kernels/bias_gradient.cu \
	kernels/busy.cu \
	kernels/convert.cu \
	kernels/convolution_pool.cu \
	kernels/cross_entropy.cu \
	kernels/gradient_measure.cu \
	kernels/input_fill.cu \
	kernels/max_pool.cu \
	kernels/mean_pool.cu \
	kernels/relu_backward.cu \
	kernels/reorder.cu \
	kernels/residual_add.cu \
	kernels/update.cu
EXTRA_DIST += kernels/README.md

# libtool keeps nvcc's options in order with --tag=CC; what is not an option of nvcc goes to the host's
# compiler. -MD writes the dependencies on headers.
SUFFIXES = .cu
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
NVCOMPILE = $(NVCC) -forward-unknown-to-host-compiler -arch=$(CUDA_ARCH) $(DEFS) \
	$(DEFAULT_INCLUDES) -D_GNU_SOURCE -I$(top_srcdir) \
	$(NVCC_WARN_FLAGS) -fvisibility=hidden $(NVCCFLAGS)
.cu.lo:
	$(AM_V_NVCC)$(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) \
		--mode=compile $(NVCOMPILE) -MD -MT $@ -MF $@.d -c -o $@ $<
-include kernels/*.lo.d
MOSTLYCLEANFILES += kernels/*.lo.d

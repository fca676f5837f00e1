# SPDX-License-Identifier: MIT
# Run by tests/gpu/run-all with a C compiler alone, not from here.
EXTRA_DIST += tests/gpu
if HAVE_TRAINER
gpu_programs = gpumap$(EXEEXT) gpumap-train$(EXEEXT) $(gpu_tests)
gpu_bundle = gpumap-gpu
# What tests/gpu/Makefile builds, so that no machine with a GPU has to.
gpu_tools = all
if HAVE_CUDA
gpu_tools += kernels
endif

# Programs and the libraries that they load, in DIR. Kernels that a driver would compile are refused, because they are
# not what is measured.
gpu-programs: $(gpu_programs) $(pkglib_LTLIBRARIES) $(pretend_LTLIBRARIES)
	@case '$(CUDA_ARCH)' in compute_*) echo '$@: kernels are for the driver to compile: configure' \
		'without CUDA_ARCH, or with that of the GPU, as sm_90' >&2; exit 1 ;; esac
	test -n '$(DIR)' && $(SHELL) '$(srcdir)/tests/gpu/pack.sh' programs '$(srcdir)' \
		'$(LIBTOOL)' '$(DIR)' $(gpu_programs)

# All that tests/gpu/run-all needs on another machine.
gpu-bundle: $(gpu_programs) $(pkglib_LTLIBRARIES)
	@case '$(CUDA_ARCH)' in sm_*|'') ;; *) echo '$@: kernels are for CUDA_ARCH=$(CUDA_ARCH), too many' \
		'bytes or the wrong ones: configure with CUDA_ARCH=sm_90, or that of the other GPU' >&2; exit 1 ;; esac
	rm -rf $(gpu_bundle)
	$(MAKE) $(AM_MAKEFLAGS) gpu-programs DIR='$(abs_builddir)/$(gpu_bundle)'
	$(MAKE) -C '$(srcdir)/tests/gpu' out='$(abs_builddir)/$(gpu_bundle)/built' CC='$(CC)' NVCC='$(NVCC)' \
		NVCCFLAGS='$(NVCCFLAGS)' CUDA_ARCH='$(CUDA_ARCH)' $(gpu_tools)
	$(SHELL) '$(srcdir)/tests/gpu/pack.sh' bundle '$(srcdir)' '$(abs_builddir)/$(gpu_bundle)' \
		$(gpu_bundle).tar.gz
	rm -rf $(gpu_bundle)

CLEANFILES += gpumap-gpu.tar.gz
else
gpu-bundle gpu-programs:
	@echo '$@: configured without the trainer, of which it is made' >&2; exit 1
endif

.PHONY: gpu-bundle gpu-programs

# SPDX-License-Identifier: MIT
# Built by "make check", so that they follow the sources; run by "make bench" only.
bench_programs = bench/arrive bench/plan bench/resolve bench/usage
check_PROGRAMS += $(bench_programs)
CLEANFILES += $(EXTRA_PROGRAMS)
bench_arrive_SOURCES = bench/arrive.c
if HAVE_TRAINER
bench_programs += bench/collective bench/ddp bench/optim
bench_trainer = bench-trainer
bench_collective_SOURCES = bench/collective.c bench/sums.c bench/sums.h
bench_collective_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/trainer -I$(top_srcdir)
bench_collective_LDADD = libtrainer.la -lm
bench_ddp_SOURCES = bench/ddp.c bench/least.h
bench_ddp_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/libgpumap -I$(top_srcdir)/trainer -I$(top_srcdir)
bench_ddp_LDADD = libtrainer.la -lm
if HAVE_CUDA_BACKEND
bench_programs += bench/exposed
gpu_tests += bench/collective bench/exposed
bench_exposed_SOURCES = bench/exposed.c bench/busy.c bench/busy.h bench/least.h
bench_exposed_CPPFLAGS = $(bench_cuda_cppflags)
bench_exposed_LDADD = libtrainer.la -lm
bench_cuda_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/libgpumap -I$(top_srcdir)/trainer \
	-I$(top_srcdir) $(CUDA_BACKEND_CPPFLAGS)
endif
bench_optim_SOURCES = bench/optim.c
bench_optim_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/trainer -I$(top_srcdir)
bench_optim_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd -Wno-pass-failed
bench_optim_LDADD = libtrainer.la -lm
endif
bench_plan_SOURCES = bench/plan.c
bench_plan_LDADD = libgpumap-core.la
bench_resolve_SOURCES = bench/resolve.c
bench_resolve_LDADD = libgpumap-core.la
if HAVE_DNNL
bench_programs += bench/train
bench_train = bench-train
endif
bench_train_SOURCES = bench/train.c
bench_train_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/trainer -I$(top_srcdir) $(DNNL_CPPFLAGS)
bench_train_LDADD = libtrainer.la
bench_usage_SOURCES = bench/usage.c
EXTRA_DIST += bench/README.md bench/cifar10.py bench/cli.sh bench/doctor.sh bench/gpu-estimate.py \
	bench/gpu-peer.py bench/lease.sh bench/peer.py \
	bench/ps.sh bench/python.py bench/rehearse.py bench/resnet.py bench/results bench/start.sh bench/sums.sh bench/tests.sh bench/vs-pytorch.py bench/wake.py

bench: gpumap$(EXEEXT) tests/lease/holder$(EXEEXT) $(bench_programs) $(python_built) $(bench_trainer) $(bench_train)
	$(SHELL) '$(srcdir)/bench/cli.sh' ./gpumap$(EXEEXT) bench/usage$(EXEEXT)
	$(SHELL) '$(srcdir)/bench/doctor.sh' ./gpumap$(EXEEXT) bench/usage$(EXEEXT)
	$(SHELL) '$(srcdir)/bench/lease.sh' ./gpumap$(EXEEXT) bench/usage$(EXEEXT) tests/lease/holder$(EXEEXT)
	bench/resolve$(EXEEXT)
	bench/plan$(EXEEXT)
	$(SHELL) '$(srcdir)/bench/ps.sh' ./gpumap$(EXEEXT) bench/usage$(EXEEXT)
	$(SHELL) '$(srcdir)/bench/start.sh' ./gpumap$(EXEEXT) bench/arrive$(EXEEXT)
	test -z '$(python_built)' || PYTHONPATH=python/package python3 '$(srcdir)/bench/python.py'

bench-trainer: bench/optim$(EXEEXT) bench/collective$(EXEEXT) $(pkglib_LTLIBRARIES)
	bench/optim$(EXEEXT)
	$(SHELL) '$(srcdir)/bench/sums.sh' bench/collective$(EXEEXT) .libs

bench-train: bench/train$(EXEEXT) bench/ddp$(EXEEXT) gpumap-train$(EXEEXT)
	for batch in 32 256; do \
		for threads in 1 2; do \
			echo "convnet, batch $$batch, threads $$threads, float32"; \
			bench/train$(EXEEXT) $$batch $$threads float32 || exit 1; \
		done; \
	done
	bench/ddp$(EXEEXT) 2 128
	$(LIBTOOL) --mode=execute python3 '$(srcdir)/bench/vs-pytorch.py' ./gpumap-train$(EXEEXT)

.PHONY: bench bench-train bench-trainer

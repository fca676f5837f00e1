# SPDX-License-Identifier: MIT
# CUDA and its libraries, simulated on the CPU, for the table of trainer/backend/cuda/calls.h. A
# program also links one of the files that define cuda_calls_load(), *_load.c; not in an archive, of which the linker
# would not take it: libtrainer has that function too.
if HAVE_TRAINER
if HAVE_CUDA_BACKEND
if HAVE_CHECK
fake_programs = \
	tests/trainer/fake/t-fake-capture \
	tests/trainer/fake/t-fake-cublaslt \
	tests/trainer/fake/t-fake-cuda \
	tests/trainer/fake/t-fake-cudnn \
	tests/trainer/fake/t-fake-cudnn-graph \
	tests/trainer/fake/t-fake-faults \
	tests/trainer/fake/t-fake-kernels \
	tests/trainer/fake/t-inject
if HAVE_NCCL
fake_programs += tests/trainer/fake/t-fake-nccl
endif
check_PROGRAMS += $(fake_programs)
train_programs += $(fake_programs)
endif

check_LTLIBRARIES += tests/trainer/fake/libfake-cuda.la
tests_trainer_fake_libfake_cuda_la_SOURCES = \
	tests/trainer/fake/fake_cublaslt.c tests/trainer/fake/fake_cublaslt.h \
	tests/trainer/fake/fake_cublaslt_run.c \
	tests/trainer/fake/fake_cuda.c tests/trainer/fake/fake_cuda.h \
	tests/trainer/fake/fake_cuda_copy.c \
	tests/trainer/fake/fake_cuda_device.c \
	tests/trainer/fake/fake_cuda_event.c \
	tests/trainer/fake/fake_cuda_graph.c \
	tests/trainer/fake/fake_cuda_memory.c \
	tests/trainer/fake/fake_cuda_private.h \
	tests/trainer/fake/fake_cuda_stream.c \
	tests/trainer/fake/fake_cuda_table.c \
	tests/trainer/fake/fake_cudnn.c tests/trainer/fake/fake_cudnn.h \
	tests/trainer/fake/fake_cudnn_algorithms.c \
	tests/trainer/fake/fake_cudnn_backend.c \
	tests/trainer/fake/fake_cudnn_calls.c \
	tests/trainer/fake/fake_cudnn_engines.c \
	tests/trainer/fake/fake_cudnn_graph.c tests/trainer/fake/fake_cudnn_graph.h \
	tests/trainer/fake/fake_cudnn_run.c \
	tests/trainer/fake/fake_kernels.c \
	tests/trainer/fake/fake_nccl.c tests/trainer/fake/fake_nccl.h \
	tests/trainer/fake/fake_nccl_end.c \
	tests/trainer/fake/fake_nccl_run.c \
	tests/trainer/fake/fake_rows.h \
	tests/trainer/fake/fake_values.h \
	tests/trainer/fake/inject.c tests/trainer/fake/inject.h
tests_trainer_fake_libfake_cuda_la_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_libfake_cuda_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd \
	-Wno-pass-failed
tests_trainer_fake_libfake_cuda_la_LIBADD = tests/trainer/kernels/libreferences.la
fake_cppflags = $(train_cppflags) $(CUDA_BACKEND_CPPFLAGS) -I$(top_srcdir)/tests/trainer/fake
fake_ldadd = tests/trainer/fake/libfake-cuda.la $(train_ldadd) -lpthread
fake_headers = tests/trainer/fake/fake_cuda.h tests/trainer/fake/fake_test.h tests/unit/unit.h

# The command with GPUs that are pretended.
fake_drivers = tests/trainer/fake/train-fake tests/trainer/fake/collective-fake tests/trainer/fake/exposed-fake
check_PROGRAMS += $(fake_drivers)
tests_trainer_fake_train_fake_SOURCES = trainer/main.c tests/trainer/fake/train_fake_load.c \
	tests/trainer/fake/fake_cuda.h tests/trainer/fake/inject.h
tests_trainer_fake_train_fake_CPPFLAGS = $(gpumap_train_CPPFLAGS) $(CUDA_BACKEND_CPPFLAGS) \
	-I$(top_srcdir)/tests/trainer/fake
tests_trainer_fake_train_fake_LDADD = tests/trainer/fake/libfake-cuda.la $(gpumap_train_LDADD) \
	-lpthread
# What measures on a GPU, where GPUs are pretended.
tests_trainer_fake_collective_fake_SOURCES = $(bench_collective_SOURCES) tests/trainer/fake/fake_cuda_load.c
tests_trainer_fake_collective_fake_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_collective_fake_LDADD = tests/trainer/fake/libfake-cuda.la libtrainer.la -lpthread -lm
tests_trainer_fake_exposed_fake_SOURCES = $(bench_exposed_SOURCES) tests/trainer/fake/fake_cuda_load.c
tests_trainer_fake_exposed_fake_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_exposed_fake_LDADD = tests/trainer/fake/libfake-cuda.la libtrainer.la -lpthread -lm
# The same with the real libraries, whose calls fail, by tests/gpu/run-all train.
EXTRA_PROGRAMS += tests/trainer/fake/train-inject
gpu_tests += tests/trainer/fake/train-inject
tests_trainer_fake_train_inject_SOURCES = trainer/main.c tests/trainer/fake/train_fake_load.c \
	tests/trainer/fake/inject.c tests/trainer/fake/inject.h
tests_trainer_fake_train_inject_CPPFLAGS = $(tests_trainer_fake_train_fake_CPPFLAGS) -DREAL_CUDA
tests_trainer_fake_train_inject_LDADD = $(gpumap_train_LDADD)
tests_trainer_fake_t_fake_capture_SOURCES = tests/trainer/fake/t-fake-capture.c $(fake_headers)
tests_trainer_fake_t_fake_capture_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_capture_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_capture_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_cublaslt_SOURCES = tests/trainer/fake/t-fake-cublaslt.c $(fake_headers)
tests_trainer_fake_t_fake_cublaslt_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_cublaslt_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_cublaslt_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_cuda_SOURCES = tests/trainer/fake/t-fake-cuda.c \
	tests/trainer/fake/fake_bench.h $(fake_headers)
tests_trainer_fake_t_fake_cuda_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_cuda_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_cuda_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_cudnn_SOURCES = tests/trainer/fake/t-fake-cudnn.c \
	tests/trainer/fake/fake_tensors.h $(fake_headers)
tests_trainer_fake_t_fake_cudnn_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_cudnn_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_cudnn_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_cudnn_graph_SOURCES = tests/trainer/fake/t-fake-cudnn-graph.c \
	tests/trainer/fake/fake_tensors.h $(fake_headers)
tests_trainer_fake_t_fake_cudnn_graph_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_cudnn_graph_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_cudnn_graph_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_faults_SOURCES = tests/trainer/fake/t-fake-faults.c \
	tests/trainer/fake/fake_bench.h $(fake_headers)
tests_trainer_fake_t_fake_faults_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_faults_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_faults_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_kernels_SOURCES = tests/trainer/fake/t-fake-kernels.c $(fake_headers)
tests_trainer_fake_t_fake_kernels_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_kernels_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_kernels_LDADD = $(fake_ldadd)
tests_trainer_fake_t_fake_nccl_SOURCES = tests/trainer/fake/t-fake-nccl.c $(fake_headers)
tests_trainer_fake_t_fake_nccl_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_fake_nccl_CFLAGS = $(train_cflags)
tests_trainer_fake_t_fake_nccl_LDADD = $(fake_ldadd)
tests_trainer_fake_t_inject_SOURCES = tests/trainer/fake/t-inject.c $(fake_headers) \
	tests/trainer/fake/inject_load.c
tests_trainer_fake_t_inject_CPPFLAGS = $(fake_cppflags)
tests_trainer_fake_t_inject_CFLAGS = $(train_cflags)
tests_trainer_fake_t_inject_LDADD = $(fake_ldadd)
endif
endif

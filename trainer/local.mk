# SPDX-License-Identifier: MIT
# The reference trainer. It knows libgpumap by gpumap.h alone, as any other program would.
# Sums must not depend on what a compiler contracts: fma is written where it is meant.
# What reads files is fuzzed, and so a list of its own.
trainer_files = \
	trainer/backend/names.c trainer/backend/names.h \
	trainer/base/error.c trainer/base/error.h \
	trainer/base/simd.c trainer/base/simd.h \
	trainer/checkpoint/checkpoint.h \
	trainer/checkpoint/contents.c trainer/checkpoint/contents.h \
	trainer/checkpoint/crc32.c trainer/checkpoint/crc32.h \
	trainer/checkpoint/folder.c trainer/checkpoint/folder.h \
	trainer/checkpoint/load.c \
	trainer/checkpoint/progress_texts.c \
	trainer/checkpoint/safetensors.c trainer/checkpoint/safetensors.h \
	trainer/checkpoint/safetensors_read.c \
	trainer/checkpoint/safetensors_write.c \
	trainer/checkpoint/save.c \
	trainer/data/batch.c trainer/data/batch.h \
	trainer/data/cifar10.c trainer/data/cifar10.h \
	trainer/data/dataset.c trainer/data/dataset.h \
	trainer/data/first_weights.c trainer/data/first_weights.h \
	trainer/data/random.c trainer/data/random.h \
	trainer/data/sampler.c trainer/data/sampler.h \
	trainer/model/layer_tables.c trainer/model/models.def \
	trainer/optim/clip.c trainer/optim/clip.h \
	trainer/optim/optimizer.c trainer/optim/optimizer.h trainer/optim/optimizers.def \
	trainer/optim/schedule.c trainer/optim/schedule.h \
	trainer/optim/update.c trainer/optim/update.h \
	trainer/place/place_query.c \
	trainer/place/find_devices.c \
	trainer/place/place.c trainer/place/place.h \
	trainer/place/place_query.h \
	trainer/place/run_name.c trainer/place/run_name.h \
	trainer/settings/arguments.c \
	trainer/settings/arguments_raw.h \
	trainer/settings/print_findings.c trainer/settings/print_findings.h \
	trainer/settings/help.c \
	trainer/settings/rows.c trainer/settings/rows.h \
	trainer/settings/section.c \
	trainer/settings/read_settings.c trainer/settings/settle.c trainer/settings/settle_burn.c trainer/settings/settle.h \
	trainer/settings/settings.def trainer/settings/settings.h \
	trainer/settings/output_files.c trainer/settings/output_files.h
if HAVE_TRAINER
noinst_LTLIBRARIES += libtrainer.la
libtrainer_la_SOURCES = $(trainer_files) $(kernels_files) \
	trainer/backend/backend.c trainer/backend/backend.h \
	trainer/backend/eventcount.c trainer/backend/eventcount.h \
	trainer/backend/op.c \
	trainer/backend/cpu/addition.c trainer/backend/cpu/addition.h \
	trainer/backend/cpu/batch_norm.c trainer/backend/cpu/batch_norm.h \
	trainer/backend/cpu/cpu.c trainer/backend/cpu/cpu.h \
	trainer/backend/cpu/data.c \
	trainer/backend/cpu/loss.c \
	trainer/backend/cpu/mean_pool.c trainer/backend/cpu/mean_pool.h \
	trainer/backend/cpu/optimize.c \
	trainer/backend/cpu/pool.c trainer/backend/cpu/pool.h \
	trainer/backend/cpu/team.c trainer/backend/cpu/team.h \
	trainer/backend/cpu/values.h \
	trainer/backend/reference/batch_norm.c \
	trainer/backend/reference/op.c \
	trainer/backend/reference/pool.c \
	trainer/backend/reference/reference.c trainer/backend/reference/reference.h \
	trainer/base/clock.h \
	trainer/base/pages.h \
	trainer/base/tensor.h \
	trainer/collective/call.c trainer/collective/call.h \
	trainer/collective/collective.c trainer/collective/collective.h \
	trainer/collective/mpi_find.c \
	trainer/collective/mpi_module.h \
	trainer/collective/peer.c \
	trainer/collective/self.c \
	trainer/collective/shm.c \
	trainer/collective/shm_sum_chunks.c \
	trainer/collective/shm_control_block.c trainer/collective/shm_control_block.h \
	trainer/collective/shm_data.h \
	trainer/collective/shm_lock.c \
	trainer/collective/shm_p2p.c \
	trainer/collective/shm_segment.c trainer/collective/shm_segment.h \
	trainer/collective/shm_sum_small.c \
	trainer/collective/shm_sum_threads.c \
	trainer/collective/shm_wait.c \
	trainer/collective/sum.c trainer/collective/sum.h \
	trainer/model/memory_reuse.c trainer/model/memory_reuse.h \
	trainer/model/gradients.c \
	trainer/model/buffer_places.c \
	trainer/model/model.h \
	trainer/model/pass.c \
	trainer/model/plan_stage.c trainer/model/plan_stage.h \
	trainer/model/shapes.c \
	trainer/model/unused_parameters.c \
	trainer/parallel/buckets.c trainer/parallel/buckets.h \
	trainer/parallel/agree.h \
	trainer/parallel/config_agree.c \
	trainer/parallel/ddp.c \
	trainer/parallel/dp.c trainer/parallel/dp.h \
	trainer/parallel/graph_segments.c trainer/parallel/graph_segments.h \
	trainer/parallel/inputs.c trainer/parallel/inputs.h \
	trainer/parallel/layout_agree.c \
	trainer/parallel/mp.c \
	trainer/parallel/parallel.c trainer/parallel/parallel.h \
	trainer/parallel/rank.c trainer/parallel/rank.h \
	trainer/parallel/reducer.c trainer/parallel/reducer.h \
	trainer/parallel/replica.c trainer/parallel/replica.h \
	trainer/parallel/replica_check.c \
	trainer/parallel/replica_update.c \
	trainer/parallel/replica_watch.c \
	trainer/parallel/single.c \
	trainer/parallel/stages.c trainer/parallel/stages.h \
	trainer/parallel/step_graph.c trainer/parallel/step_graph.h \
	trainer/parallel/sync_batch_norm.c trainer/parallel/sync_batch_norm.h \
	trainer/place/cores.c trainer/place/cores.h \
	trainer/place/gpu_health.c trainer/place/gpu_health.h \
	trainer/place/gpu_memory.c trainer/place/gpu_memory.h \
	trainer/place/threads.c trainer/place/threads.h \
	trainer/place/verify.c trainer/place/verify.h \
	trainer/place/verify_judge.c \
	trainer/report/atomic_stream.c trainer/report/atomic_stream.h \
	trainer/report/burn_judge.c trainer/report/burn_judge.h \
	trainer/report/curve.c trainer/report/curve.h \
	trainer/report/format.c trainer/report/format.h \
	trainer/report/metrics_lines.c trainer/report/metrics_lines.h \
	trainer/report/metrics_lines_read.c \
	trainer/report/metrics.c trainer/report/metrics.h \
	trainer/report/plot.c trainer/report/plot.h \
	trainer/report/progress.c trainer/report/progress.h \
	trainer/report/progress_line.c \
	trainer/report/summary.c trainer/report/summary.h \
	trainer/report/svg.c trainer/report/svg.h \
	trainer/report/table.c trainer/report/table.h \
	trainer/report/tally.c trainer/report/tally.h \
	trainer/report/ticks.c trainer/report/ticks.h \
	trainer/report/timeline.c trainer/report/timeline.h \
	trainer/report/timeline_json.c \
	trainer/report/timeline_rows.c trainer/report/timeline_rows.h \
	trainer/report/timeline_svg.c \
	trainer/run/begin_report.c \
	trainer/run/burn.c \
	trainer/run/end_report.c \
	trainer/run/host_state.c trainer/run/host_state.h \
	trainer/run/verify_mapping.c \
	trainer/run/loop.c \
	trainer/run/restore.c \
	trainer/run/resume_check.c trainer/run/resume_check.h \
	trainer/run/run.h \
	trainer/run/step.c \
	trainer/run/step_metrics.c trainer/run/step_metrics.h \
	trainer/run/stop.c trainer/run/stop.h \
	trainer/run/training.c trainer/run/training.h
libtrainer_la_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/libgpumap -I$(top_srcdir)/trainer \
	-I$(top_srcdir) $(DNNL_CPPFLAGS)
# Loops marked "omp simd" become vectors at -O2 too; a root of a negative number sets no errno.
# Clang warns where it cannot, such as under a sanitizer.
libtrainer_la_CFLAGS = $(AM_CFLAGS) $(COMPUTING_CFLAGS) -ffp-contract=off -fno-math-errno -fopenmp-simd -Wno-pass-failed
libtrainer_la_LDFLAGS = $(DNNL_LDFLAGS)
libtrainer_la_LIBADD = libbase.la $(DNNL_LIBS) -lpthread -lm
# A module, so that what is built with MPI starts where there is none.
if HAVE_MPI
libtrainer_la_CPPFLAGS += -DPKGLIBDIR='"$(pkglibdir)"'
pkglib_LTLIBRARIES += gpumap-mpi.la
gpumap_mpi_la_SOURCES = \
	trainer/base/clock.h \
	trainer/base/error.c trainer/base/error.h \
	trainer/base/simd.c trainer/base/simd.h \
	trainer/collective/call.c trainer/collective/call.h \
	trainer/collective/collective.h \
	trainer/collective/mpi.c \
	trainer/collective/mpi_comm.h \
	trainer/collective/mpi_module.h \
	trainer/collective/mpi_p2p.c \
	trainer/collective/mpi_sum.c \
	trainer/collective/mpi_wait.c \
	trainer/collective/sum.c trainer/collective/sum.h
gpumap_mpi_la_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/trainer -I$(top_srcdir) $(MPI_CPPFLAGS)
gpumap_mpi_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd -Wno-pass-failed
gpumap_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared $(MPI_LDFLAGS)
gpumap_mpi_la_LIBADD = $(MPI_LIBS)
endif
if HAVE_DNNL
libtrainer_la_SOURCES += \
	trainer/backend/cpu/product.c trainer/backend/cpu/product.h \
	trainer/backend/cpu/winograd.c trainer/backend/cpu/winograd.h \
	trainer/backend/cpu/winograd_bf16.c trainer/backend/cpu/winograd_bf16.h \
	trainer/backend/cpu/winograd_transform.h \
	trainer/backend/onednn/addition.c \
	trainer/backend/onednn/api.c trainer/backend/onednn/api.h \
	trainer/backend/onednn/batch_norm.c \
	trainer/backend/onednn/convert.c \
	trainer/backend/onednn/convolution_linear.c trainer/backend/onednn/convolution_linear.h \
	trainer/backend/onednn/convolution_linear_run.c \
	trainer/backend/onednn/half.c \
	trainer/backend/onednn/onednn.c trainer/backend/onednn/onednn.h \
	trainer/backend/onednn/planes.c trainer/backend/onednn/planes.h \
	trainer/backend/onednn/pool.c \
	trainer/backend/onednn/task.c \
	trainer/backend/onednn/winograd.c \
	trainer/backend/onednn/winograd_bf16.c
endif
# The libraries are opened when they are used, but for the runtime, which is linked statically.
if HAVE_CUDA_BACKEND
libtrainer_la_SOURCES += $(kernels_cuda) \
	trainer/backend/cuda/addition.c \
	trainer/backend/cuda/batch_norm.c \
	trainer/backend/cuda/calls.c trainer/backend/cuda/calls.def trainer/backend/cuda/calls.h \
	trainer/backend/cuda/calls_load.c \
	trainer/backend/cuda/convolution.c trainer/backend/cuda/convolution.h \
	trainer/backend/cuda/convolution_choose.c \
	trainer/backend/cuda/convolution_engines.c \
	trainer/backend/cuda/convolution_pool.c \
	trainer/backend/cuda/convolution_run.c \
	trainer/backend/cuda/cuda.c trainer/backend/cuda/cuda.h \
	trainer/backend/cuda/data.c \
	trainer/backend/cuda/device.c \
	trainer/backend/cuda/nhwc.c \
	trainer/backend/cuda/linear.c \
	trainer/backend/cuda/loss.c \
	trainer/backend/cuda/memory.c \
	trainer/backend/cuda/optimize.c \
	trainer/backend/cuda/pool.c \
	trainer/backend/cuda/product.c trainer/backend/cuda/product.h \
	trainer/backend/cuda/stream.c \
	trainer/backend/cuda/time_candidates.c \
	trainer/backend/cuda/wait.c
if HAVE_NCCL
libtrainer_la_SOURCES += \
	trainer/collective/nccl.c trainer/collective/nccl.h \
	trainer/collective/nccl_comm.h \
	trainer/collective/nccl_data.c \
	trainer/collective/nccl_gather.c \
	trainer/collective/nccl_p2p.c \
	trainer/collective/nccl_place.c \
	trainer/collective/nccl_recorded.c \
	trainer/collective/nccl_wait.c
endif
libtrainer_la_CPPFLAGS += $(CUDA_BACKEND_CPPFLAGS)
libtrainer_la_LDFLAGS += $(CUDA_LDFLAGS)
libtrainer_la_LIBADD += $(CUDA_LIBS)
endif

# The command.
bin_PROGRAMS += gpumap-train
gpumap_train_SOURCES = trainer/main.c
gpumap_train_CPPFLAGS = $(libtrainer_la_CPPFLAGS)
gpumap_train_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
gpumap_train_LDADD = libtrainer.la libgpumap/libgpumap.la $(JANSSON_LIBS) -lm
endif
EXTRA_DIST += trainer/README.md trainer/backend/README.md trainer/collective/README.md \
	trainer/parallel/README.md

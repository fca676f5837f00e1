# SPDX-License-Identifier: MIT
# libcheck programs of the trainer.
train_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/libgpumap -I$(top_srcdir)/trainer -I$(top_srcdir)/tests/unit \
	-I$(top_srcdir)
train_cflags = $(AM_CFLAGS) -ffp-contract=off $(CHECK_CFLAGS)
train_ldadd = libtrainer.la $(CHECK_LIBS) $(JANSSON_LIBS) -lm
if HAVE_TRAINER
if HAVE_CHECK
train_programs = \
	tests/train/t-backend \
	tests/train/t-batch \
	tests/train/t-bf16 \
	tests/train/t-checkpoint \
	tests/train/t-checkpoint-faults \
	tests/train/t-checkpoint-folder \
	tests/train/t-checkpoint-nomem \
	tests/train/t-cifar10 \
	tests/train/t-clip \
	tests/train/t-collective \
	tests/train/t-collective-faults \
	tests/train/t-collective-killed \
	tests/train/t-cores \
	tests/train/t-threads \
	tests/train/t-data-nomem \
	tests/train/t-dataset \
	tests/train/t-error \
	tests/train/t-init \
	tests/train/t-kernels \
	tests/train/t-kernels-pass \
	tests/train/t-kernels-pool \
	tests/train/t-kernels-update \
	tests/train/t-launch \
	tests/train/t-least \
	tests/train/t-loss \
	tests/train/t-measure \
	tests/train/t-memory \
	tests/train/t-metrics \
	tests/train/t-model \
	tests/train/t-model-nomem \
	tests/train/t-model-stages \
	tests/train/t-ops \
	tests/train/t-optimize \
	tests/train/t-optimizer \
	tests/train/t-peer \
	tests/train/t-plot \
	tests/train/t-progress \
	tests/train/t-random \
	tests/train/t-reducer \
	tests/train/t-report-nomem \
	tests/train/t-safetensors \
	tests/train/t-safetensors-bad \
	tests/train/t-sampler \
	tests/train/t-scaler \
	tests/train/t-schedule \
	tests/train/t-settings \
	tests/train/t-settings-nomem \
	tests/train/t-shapes \
	tests/train/t-stages \
	tests/train/t-timeline \
	tests/train/t-trace \
	tests/train/t-verify \
	tests/train/t-verify-ranks
if HAVE_DNNL
train_programs += tests/train/t-winograd
endif
if HAVE_CUDA_BACKEND
train_programs += \
	tests/train/t-cuda-calls \
	tests/train/t-cuda-choose \
	tests/train/t-cuda-linear \
	tests/train/t-cuda-load \
	tests/train/t-cuda-ops \
	tests/train/t-fake-capture \
	tests/train/t-fake-cublaslt \
	tests/train/t-fake-cuda \
	tests/train/t-fake-cudnn \
	tests/train/t-fake-faults \
	tests/train/t-fake-kernels \
	tests/train/t-inject
if HAVE_NCCL
train_programs += \
	tests/train/t-fake-nccl \
	tests/train/t-nccl \
	tests/train/t-nccl-close \
	tests/train/t-nccl-faults \
	tests/train/t-nccl-gather \
	tests/train/t-nccl-inject \
	tests/train/t-nccl-place \
	tests/train/t-nccl-rounded \
	tests/train/t-nccl-steps
endif
endif
check_PROGRAMS += $(train_programs)
endif
endif

# What compiles for itself, compares numbers with PyTorch's, or does again what other tests do, after a
# kill and as on other processors.
train_alone_tests = \
	tests/train/tsan.test \
	tests/train/emulated.test \
	tests/train/resume.test \
	tests/train/isa.test \
	tests/train/torch-train.test \
	tests/train/torch-model.test \
	tests/train/torch-data.test
train_tests = \
	tests/train/cuda-faults.test \
	tests/train/cuda.test \
	tests/train/modes.test \
	tests/train/stop.test \
	tests/train/report.test \
	tests/train/damage.test \
	tests/train/hang.test \
	tests/train/refused.test \
	tests/train/where.test \
	tests/train/exposed.test \
	tests/train/collective.test \
	tests/train/tail.test \
	tests/train/terminal.test \
	tests/train/optim.test \
	tests/train/checkpoint.test \
	tests/train/cifar10.test \
	tests/train/example.test \
	tests/train/nccl-mpi.test \
	tests/train/place.test \
	tests/train/settings.test \
	tests/train/sums.test \
	tests/train/verify.test \
	tests/train/wrong-data.test
EXTRA_DIST += $(train_alone_tests) $(train_tests) \
	tests/train/checkpoint.py \
	tests/train/compare-logits.py \
	tests/train/compare-losses.py \
	tests/train/compare-parameters.py \
	tests/train/compare-spread.py \
	tests/train/compare.sh \
	tests/train/cuda.sh \
	tests/train/edit-safetensors.py \
	tests/train/make-data.py \
	tests/train/optim.py \
	tests/train/place.tsv \
	tests/train/read_safetensors.py \
	tests/train/report.py \
	tests/train/scales.py \
	tests/train/settings.tsv \
	tests/train/torch-data.py \
	tests/train/torch-model.py \
	tests/train/torch-train.py \
	tests/train/train.sh \
	tests/train/where.py

if HAVE_TRAINER
TESTS += $(train_alone_tests) $(train_tests) $(train_programs)
check_PROGRAMS += tests/train/data-main
tests_train_data_main_SOURCES = tests/train/data-main.c
tests_train_data_main_CPPFLAGS = $(train_cppflags)
tests_train_data_main_LDADD = libtrainer.la -lm

tests_train_t_batch_SOURCES = tests/train/t-batch.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_batch_CPPFLAGS = $(train_cppflags)
tests_train_t_batch_CFLAGS = $(train_cflags)
tests_train_t_batch_LDADD = $(train_ldadd)

tests_train_t_cifar10_SOURCES = tests/train/t-cifar10.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_cifar10_CPPFLAGS = $(train_cppflags)
tests_train_t_cifar10_CFLAGS = $(train_cflags)
tests_train_t_cifar10_LDADD = $(train_ldadd)

tests_train_t_data_nomem_SOURCES = tests/train/t-data-nomem.c tests/train/vectors.h \
	tests/unit/unit.h $(failing_malloc)
tests_train_t_data_nomem_CPPFLAGS = $(train_cppflags)
tests_train_t_data_nomem_CFLAGS = $(train_cflags)
tests_train_t_data_nomem_LDADD = $(train_ldadd)

tests_train_t_dataset_SOURCES = tests/train/t-dataset.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_dataset_CPPFLAGS = $(train_cppflags)
tests_train_t_dataset_CFLAGS = $(train_cflags)
tests_train_t_dataset_LDADD = $(train_ldadd)

check_PROGRAMS += tests/train/optim-driver
tests_train_optim_driver_SOURCES = tests/train/optim-driver.c
tests_train_optim_driver_CPPFLAGS = $(train_cppflags)
tests_train_optim_driver_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_train_optim_driver_LDADD = libtrainer.la -lm

tests_train_t_bf16_SOURCES = tests/train/t-bf16.c tests/unit/unit.h
tests_train_t_bf16_CPPFLAGS = $(train_cppflags)
tests_train_t_bf16_CFLAGS = $(train_cflags)
tests_train_t_bf16_LDADD = $(train_ldadd)
tests_train_t_clip_SOURCES = tests/train/t-clip.c tests/unit/unit.h
tests_train_t_clip_CPPFLAGS = $(train_cppflags)
tests_train_t_clip_CFLAGS = $(train_cflags)
tests_train_t_clip_LDADD = $(train_ldadd)
tests_train_t_cores_SOURCES = tests/train/t-cores.c tests/unit/unit.h
tests_train_t_cores_CPPFLAGS = $(train_cppflags)
tests_train_t_cores_CFLAGS = $(train_cflags)
tests_train_t_cores_LDADD = $(train_ldadd)
tests_train_t_threads_SOURCES = tests/train/t-threads.c tests/unit/unit.h
tests_train_t_threads_CPPFLAGS = $(train_cppflags)
tests_train_t_threads_CFLAGS = $(train_cflags)
tests_train_t_threads_LDADD = $(train_ldadd) -lpthread
rank_threads = tests/train/rank-threads.h tests/train/ranks.h tests/unit/unit.h
tests_train_t_collective_SOURCES = tests/train/t-collective.c $(rank_threads)
tests_train_t_collective_CPPFLAGS = $(train_cppflags)
tests_train_t_collective_CFLAGS = $(train_cflags)
tests_train_t_collective_LDADD = $(train_ldadd)
tests_train_t_collective_faults_SOURCES = tests/train/t-collective-faults.c $(rank_threads)
tests_train_t_collective_faults_CPPFLAGS = $(train_cppflags)
tests_train_t_collective_faults_CFLAGS = $(train_cflags)
tests_train_t_collective_faults_LDADD = $(train_ldadd)
tests_train_t_collective_killed_SOURCES = tests/train/t-collective-killed.c $(rank_threads)
tests_train_t_collective_killed_CPPFLAGS = $(train_cppflags)
tests_train_t_collective_killed_CFLAGS = $(train_cflags)
tests_train_t_collective_killed_LDADD = $(train_ldadd)
# A rank as a process: tests/train/collective.test starts several.
check_PROGRAMS += tests/train/ranks-main
tests_train_ranks_main_SOURCES = tests/train/ranks-main.c tests/train/ranks.h
tests_train_ranks_main_CPPFLAGS = $(train_cppflags)
tests_train_ranks_main_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_train_ranks_main_LDADD = libtrainer.la -lm
tests_train_t_error_SOURCES = tests/train/t-error.c tests/unit/unit.h
tests_train_t_error_CPPFLAGS = $(train_cppflags)
tests_train_t_error_CFLAGS = $(train_cflags)
tests_train_t_error_LDADD = $(train_ldadd)

tests_train_t_init_SOURCES = tests/train/t-init.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_init_CPPFLAGS = $(train_cppflags)
tests_train_t_init_CFLAGS = $(train_cflags)
tests_train_t_init_LDADD = $(train_ldadd)

tests_train_t_kernels_SOURCES = tests/train/t-kernels.c tests/train/kernels.h tests/unit/unit.h
tests_train_t_kernels_CPPFLAGS = $(train_cppflags)
tests_train_t_kernels_CFLAGS = $(train_cflags)
tests_train_t_kernels_LDADD = $(train_ldadd)

tests_train_t_kernels_pass_SOURCES = tests/train/t-kernels-pass.c tests/train/kernels.h tests/unit/unit.h
tests_train_t_kernels_pass_CPPFLAGS = $(train_cppflags)
tests_train_t_kernels_pass_CFLAGS = $(train_cflags)
tests_train_t_kernels_pass_LDADD = $(train_ldadd)

tests_train_t_kernels_pool_SOURCES = tests/train/t-kernels-pool.c tests/train/kernels.h tests/unit/unit.h
tests_train_t_kernels_pool_CPPFLAGS = $(train_cppflags)
tests_train_t_kernels_pool_CFLAGS = $(train_cflags)
tests_train_t_kernels_pool_LDADD = $(train_ldadd)

tests_train_t_kernels_update_SOURCES = tests/train/t-kernels-update.c tests/train/kernels.h tests/unit/unit.h
tests_train_t_kernels_update_CPPFLAGS = $(train_cppflags)
tests_train_t_kernels_update_CFLAGS = $(train_cflags)
tests_train_t_kernels_update_LDADD = $(train_ldadd)

tests_train_t_launch_SOURCES = tests/train/t-launch.c tests/unit/unit.h
tests_train_t_launch_CPPFLAGS = $(train_cppflags)
tests_train_t_launch_CFLAGS = $(train_cflags)
tests_train_t_launch_LDADD = $(train_ldadd)

tests_train_t_least_SOURCES = tests/train/t-least.c bench/least.h tests/unit/unit.h
tests_train_t_least_CPPFLAGS = $(train_cppflags) -I$(top_srcdir)
tests_train_t_least_CFLAGS = $(train_cflags)
tests_train_t_least_LDADD = $(train_ldadd)

tests_train_t_random_SOURCES = tests/train/t-random.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_random_CPPFLAGS = $(train_cppflags)
tests_train_t_random_CFLAGS = $(train_cflags)
tests_train_t_random_LDADD = $(train_ldadd)
tests_train_t_reducer_SOURCES = tests/train/t-reducer.c tests/unit/unit.h
tests_train_t_reducer_CPPFLAGS = $(train_cppflags)
tests_train_t_reducer_CFLAGS = $(train_cflags)
tests_train_t_reducer_LDADD = $(train_ldadd)

tests_train_t_sampler_SOURCES = tests/train/t-sampler.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_sampler_CPPFLAGS = $(train_cppflags)
tests_train_t_sampler_CFLAGS = $(train_cflags)
tests_train_t_sampler_LDADD = $(train_ldadd)
train_checkpoints = tests/train/folders.h tests/train/models.h tests/unit/unit.h
tests_train_t_checkpoint_SOURCES = tests/train/t-checkpoint.c $(train_checkpoints)
tests_train_t_checkpoint_CPPFLAGS = $(train_cppflags)
tests_train_t_checkpoint_CFLAGS = $(train_cflags)
tests_train_t_checkpoint_LDADD = $(train_ldadd)

tests_train_t_checkpoint_faults_SOURCES = tests/train/t-checkpoint-faults.c $(train_checkpoints)
tests_train_t_checkpoint_faults_CPPFLAGS = $(train_cppflags)
tests_train_t_checkpoint_faults_CFLAGS = $(train_cflags)
tests_train_t_checkpoint_faults_LDADD = $(train_ldadd)

tests_train_t_checkpoint_folder_SOURCES = tests/train/t-checkpoint-folder.c $(train_checkpoints)
tests_train_t_checkpoint_folder_CPPFLAGS = $(train_cppflags)
tests_train_t_checkpoint_folder_CFLAGS = $(train_cflags)
tests_train_t_checkpoint_folder_LDADD = $(train_ldadd)

tests_train_t_checkpoint_nomem_SOURCES = tests/train/t-checkpoint-nomem.c $(train_checkpoints) \
	$(failing_malloc)
tests_train_t_checkpoint_nomem_CPPFLAGS = $(train_cppflags)
tests_train_t_checkpoint_nomem_CFLAGS = $(train_cflags)
tests_train_t_checkpoint_nomem_LDADD = $(train_ldadd)

tests_train_t_safetensors_SOURCES = tests/train/t-safetensors.c tests/unit/unit.h
tests_train_t_safetensors_CPPFLAGS = $(train_cppflags)
tests_train_t_safetensors_CFLAGS = $(train_cflags)
tests_train_t_safetensors_LDADD = $(train_ldadd)

tests_train_t_safetensors_bad_SOURCES = tests/train/t-safetensors-bad.c tests/train/folders.h \
	tests/unit/unit.h
tests_train_t_safetensors_bad_CPPFLAGS = $(train_cppflags)
tests_train_t_safetensors_bad_CFLAGS = $(train_cflags)
tests_train_t_safetensors_bad_LDADD = $(train_ldadd)

# Needs no libcheck: tests/train/checkpoint.test runs it beside Python.
check_PROGRAMS += tests/train/checkpoint-main
tests_train_checkpoint_main_SOURCES = tests/train/checkpoint-main.c
tests_train_checkpoint_main_CPPFLAGS = $(train_cppflags)
tests_train_checkpoint_main_LDADD = libtrainer.la $(JANSSON_LIBS)
tests_train_t_loss_SOURCES = tests/train/t-loss.c tests/train/backends.h tests/unit/unit.h
tests_train_t_loss_CPPFLAGS = $(train_cppflags)
tests_train_t_loss_CFLAGS = $(train_cflags)
tests_train_t_loss_LDADD = $(train_ldadd)
tests_train_t_measure_SOURCES = tests/train/t-measure.c tests/train/backends.h tests/train/optimize.h \
	tests/unit/unit.h
tests_train_t_measure_CPPFLAGS = $(train_cppflags)
tests_train_t_measure_CFLAGS = $(train_cflags)
tests_train_t_measure_LDADD = $(train_ldadd)
tests_train_t_optimize_SOURCES = tests/train/t-optimize.c tests/train/backends.h tests/train/optimize.h \
	tests/unit/unit.h
tests_train_t_optimize_CPPFLAGS = $(train_cppflags)
tests_train_t_optimize_CFLAGS = $(train_cflags)
tests_train_t_optimize_LDADD = $(train_ldadd)
tests_train_t_optimizer_SOURCES = tests/train/t-optimizer.c tests/unit/unit.h $(failing_malloc)
tests_train_t_optimizer_CPPFLAGS = $(train_cppflags)
tests_train_t_optimizer_CFLAGS = $(train_cflags)
tests_train_t_optimizer_LDADD = $(train_ldadd)
tests_train_t_shapes_SOURCES = tests/train/t-shapes.c tests/unit/unit.h
tests_train_t_shapes_CPPFLAGS = $(train_cppflags)
tests_train_t_shapes_CFLAGS = $(train_cflags)
tests_train_t_shapes_LDADD = $(train_ldadd)

tests_train_t_scaler_SOURCES = tests/train/t-scaler.c tests/unit/unit.h
tests_train_t_scaler_CPPFLAGS = $(train_cppflags)
tests_train_t_scaler_CFLAGS = $(train_cflags)
tests_train_t_scaler_LDADD = $(train_ldadd)
tests_train_t_schedule_SOURCES = tests/train/t-schedule.c tests/unit/unit.h
tests_train_t_schedule_CPPFLAGS = $(train_cppflags)
tests_train_t_schedule_CFLAGS = $(train_cflags)
tests_train_t_schedule_LDADD = $(train_ldadd)

tests_train_t_peer_SOURCES = tests/train/t-peer.c tests/train/ranks.h tests/unit/unit.h
tests_train_t_peer_CPPFLAGS = $(train_cppflags)
tests_train_t_peer_CFLAGS = $(train_cflags)
tests_train_t_peer_LDADD = $(train_ldadd) -lpthread
tests_train_t_ops_SOURCES = tests/train/t-ops.c tests/train/ops.h tests/train/numbers.c tests/train/stage.c tests/train/stage.h \
	tests/unit/unit.h
tests_train_t_ops_CPPFLAGS = $(train_cppflags)
tests_train_t_ops_CFLAGS = $(train_cflags)
tests_train_t_ops_LDADD = $(train_ldadd)

tests_train_t_backend_SOURCES = tests/train/t-backend.c tests/train/backends.h tests/train/numbers.c \
	tests/train/stage.c tests/train/stage.h tests/unit/unit.h
tests_train_t_backend_CPPFLAGS = $(train_cppflags)
tests_train_t_backend_CFLAGS = $(train_cflags)
tests_train_t_backend_LDADD = $(train_ldadd)

tests_train_t_model_SOURCES = tests/train/t-model.c tests/train/drawn.h tests/train/fork.h tests/train/numbers.c \
	tests/train/stage.h tests/unit/unit.h
tests_train_t_model_CPPFLAGS = $(train_cppflags)
tests_train_t_model_CFLAGS = $(train_cflags)
tests_train_t_model_LDADD = $(train_ldadd)
tests_train_t_model_stages_SOURCES = tests/train/t-model-stages.c tests/train/drawn.h tests/train/fork.h \
	tests/train/numbers.c tests/train/stage.h tests/unit/unit.h
tests_train_t_model_stages_CPPFLAGS = $(train_cppflags)
tests_train_t_model_stages_CFLAGS = $(train_cflags)
tests_train_t_model_stages_LDADD = $(train_ldadd)

tests_train_t_memory_SOURCES = tests/train/t-memory.c tests/train/backends.h tests/unit/unit.h
tests_train_t_memory_CPPFLAGS = $(train_cppflags)
tests_train_t_memory_CFLAGS = $(train_cflags)
tests_train_t_memory_LDADD = $(train_ldadd)

tests_train_t_model_nomem_SOURCES = tests/train/t-model-nomem.c tests/unit/unit.h
tests_train_t_model_nomem_CPPFLAGS = $(train_cppflags)
tests_train_t_model_nomem_CFLAGS = $(train_cflags)
tests_train_t_model_nomem_LDADD = $(train_ldadd)

tests_train_t_trace_SOURCES = tests/train/t-trace.c tests/train/backends.h tests/unit/unit.h
tests_train_t_trace_CPPFLAGS = $(train_cppflags)
tests_train_t_trace_CFLAGS = $(train_cflags)
tests_train_t_trace_LDADD = $(train_ldadd)

verify_cppflags = $(train_cppflags) -DPRETENDED='"$(abs_builddir)/pretend/.libs/libnvidia-ml.so.1"'
tests_train_t_verify_SOURCES = tests/train/t-verify.c tests/train/verify.h $(rank_threads)
tests_train_t_verify_CPPFLAGS = $(verify_cppflags)
tests_train_t_verify_CFLAGS = $(train_cflags)
tests_train_t_verify_LDADD = $(train_ldadd) -lpthread
tests_train_t_verify_ranks_SOURCES = tests/train/t-verify-ranks.c tests/train/verify.h \
	$(rank_threads)
tests_train_t_verify_ranks_CPPFLAGS = $(verify_cppflags)
tests_train_t_verify_ranks_CFLAGS = $(train_cflags)
tests_train_t_verify_ranks_LDADD = $(train_ldadd) -lpthread

tests_train_t_winograd_SOURCES = tests/train/t-winograd.c tests/unit/unit.h
tests_train_t_winograd_CPPFLAGS = $(train_cppflags)
tests_train_t_winograd_CFLAGS = $(train_cflags)
tests_train_t_winograd_LDADD = $(train_ldadd)

# The trainer against PyTorch, where there is one.
check_PROGRAMS += tests/train/model-dump
tests_train_model_dump_SOURCES = tests/train/model-dump.c tests/train/numbers.c \
	tests/train/one-model.c tests/train/one-model.h tests/train/stage.h
tests_train_model_dump_CPPFLAGS = $(train_cppflags)
tests_train_model_dump_LDADD = libtrainer.la -lm

check_PROGRAMS += tests/train/logits-main
tests_train_logits_main_SOURCES = tests/train/logits-main.c tests/train/one-model.c \
	tests/train/one-model.h
tests_train_logits_main_CPPFLAGS = $(train_cppflags)
tests_train_logits_main_LDADD = libtrainer.la $(JANSSON_LIBS) -lm

tests_train_t_stages_SOURCES = tests/train/t-stages.c tests/unit/unit.h
tests_train_t_stages_CPPFLAGS = $(train_cppflags)
tests_train_t_stages_CFLAGS = $(train_cflags)
tests_train_t_stages_LDADD = $(train_ldadd)
# Needs no libcheck: what gpumap-train is told, without training.
check_PROGRAMS += tests/train/settings-main
tests_train_settings_main_SOURCES = tests/train/settings-main.c
tests_train_settings_main_CPPFLAGS = $(train_settings_cppflags)
tests_train_settings_main_LDADD = libtrainer.la libgpumap/libgpumap.la -lm
# What people see of a training: tests/train/report.test looks at it.
check_PROGRAMS += tests/train/verify-main
tests_train_verify_main_SOURCES = tests/train/verify-main.c
tests_train_verify_main_CPPFLAGS = $(train_cppflags)
tests_train_verify_main_LDADD = libtrainer.la libgpumap/libgpumap.la $(JANSSON_LIBS) -lm

check_PROGRAMS += tests/train/report-main
tests_train_report_main_SOURCES = tests/train/report-main.c
tests_train_report_main_CPPFLAGS = $(train_cppflags)
tests_train_report_main_LDADD = libtrainer.la $(JANSSON_LIBS) -lm

tests_train_t_metrics_SOURCES = tests/train/t-metrics.c tests/train/folders.h tests/unit/unit.h
tests_train_t_metrics_CPPFLAGS = $(train_cppflags)
tests_train_t_metrics_CFLAGS = $(train_cflags)
tests_train_t_metrics_LDADD = $(train_ldadd)

tests_train_t_progress_SOURCES = tests/train/t-progress.c tests/train/folders.h tests/unit/unit.h
tests_train_t_progress_CPPFLAGS = $(train_cppflags)
tests_train_t_progress_CFLAGS = $(train_cflags)
tests_train_t_progress_LDADD = $(train_ldadd)

tests_train_t_plot_SOURCES = tests/train/t-plot.c tests/train/folders.h tests/unit/unit.h
tests_train_t_plot_CPPFLAGS = $(train_cppflags)
tests_train_t_plot_CFLAGS = $(train_cflags)
tests_train_t_plot_LDADD = $(train_ldadd)

tests_train_t_report_nomem_SOURCES = tests/train/t-report-nomem.c tests/train/folders.h tests/unit/unit.h $(failing_malloc)
tests_train_t_report_nomem_CPPFLAGS = $(train_cppflags)
tests_train_t_report_nomem_CFLAGS = $(train_cflags)
tests_train_t_report_nomem_LDADD = $(train_ldadd)

tests_train_t_timeline_SOURCES = tests/train/t-timeline.c tests/train/folders.h tests/unit/unit.h
tests_train_t_timeline_CPPFLAGS = $(train_cppflags)
tests_train_t_timeline_CFLAGS = $(train_cflags)
tests_train_t_timeline_LDADD = $(train_ldadd)

train_settings_cppflags = $(train_cppflags) -I$(top_srcdir)/libgpumap
train_settings_ldadd = libtrainer.la libgpumap/libgpumap.la $(CHECK_LIBS) -lm
tests_train_t_settings_SOURCES = tests/train/t-settings.c tests/unit/unit.h
tests_train_t_settings_CPPFLAGS = $(train_settings_cppflags)
tests_train_t_settings_CFLAGS = $(train_cflags)
tests_train_t_settings_LDADD = $(train_settings_ldadd)

tests_train_t_settings_nomem_SOURCES = tests/train/t-settings-nomem.c tests/unit/unit.h \
	$(failing_malloc)
tests_train_t_settings_nomem_CPPFLAGS = $(train_settings_cppflags)
tests_train_t_settings_nomem_CFLAGS = $(train_cflags)
tests_train_t_settings_nomem_LDADD = $(train_settings_ldadd)
endif

# CUDA and its libraries on the CPU, for what is behind trainer/backend/cuda_calls.h. A program
# takes one of the files with a cuda_calls_load() of its own besides.
if HAVE_TRAINER
if HAVE_CUDA_BACKEND
check_LTLIBRARIES = tests/train/libfake-cuda.la
tests_train_libfake_cuda_la_SOURCES = \
	tests/train/fake_cublaslt.c tests/train/fake_cublaslt.h \
	tests/train/fake_cublaslt_run.c \
	tests/train/fake_cuda.c tests/train/fake_cuda.h \
	tests/train/fake_cuda_copy.c \
	tests/train/fake_cuda_device.c \
	tests/train/fake_cuda_event.c \
	tests/train/fake_cuda_graph.c \
	tests/train/fake_cuda_memory.c \
	tests/train/fake_cuda_private.h \
	tests/train/fake_cuda_stream.c \
	tests/train/fake_cuda_table.c \
	tests/train/fake_cudnn.c tests/train/fake_cudnn.h \
	tests/train/fake_cudnn_algorithms.c \
	tests/train/fake_cudnn_calls.c \
	tests/train/fake_cudnn_run.c \
	tests/train/fake_kernels.c \
	tests/train/fake_nccl.c tests/train/fake_nccl.h \
	tests/train/fake_nccl_end.c \
	tests/train/fake_nccl_run.c \
	tests/train/fake_rows.h \
	tests/train/fake_values.h \
	tests/train/inject.c tests/train/inject.h
tests_train_libfake_cuda_la_CPPFLAGS = $(fake_cppflags)
tests_train_libfake_cuda_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd -Wno-pass-failed
fake_cppflags = $(train_cppflags) $(CUDA_BACKEND_CPPFLAGS)
fake_ldadd = tests/train/libfake-cuda.la $(train_ldadd) -lpthread
fake_headers = tests/train/fake_cuda.h tests/train/fake_test.h tests/unit/unit.h

tests_train_t_cuda_calls_SOURCES = tests/train/t-cuda-calls.c tests/train/fake_cuda_load.c $(fake_headers)
tests_train_t_cuda_calls_CPPFLAGS = $(fake_cppflags)
tests_train_t_cuda_calls_CFLAGS = $(train_cflags)
tests_train_t_cuda_calls_LDADD = $(fake_ldadd)
tests_train_t_cuda_choose_SOURCES = tests/train/t-cuda-choose.c tests/train/cuda-test.h \
	tests/train/fake_cuda_load.c $(fake_headers)
tests_train_t_cuda_choose_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_train_t_cuda_choose_CFLAGS = $(train_cflags)
tests_train_t_cuda_choose_LDADD = $(fake_ldadd)
tests_train_t_cuda_linear_SOURCES = tests/train/t-cuda-linear.c tests/train/cuda-test.h \
	tests/train/fake_cuda_load.c $(fake_headers)
tests_train_t_cuda_linear_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_train_t_cuda_linear_CFLAGS = $(train_cflags)
tests_train_t_cuda_linear_LDADD = $(fake_ldadd)
tests_train_t_cuda_load_SOURCES = tests/train/t-cuda-load.c tests/unit/unit.h
tests_train_t_cuda_load_CPPFLAGS = $(fake_cppflags)
tests_train_t_cuda_load_CFLAGS = $(train_cflags)
tests_train_t_cuda_load_LDADD = $(train_ldadd)
tests_train_t_cuda_ops_SOURCES = tests/train/t-cuda-ops.c tests/train/cuda-test.h tests/train/ops.h \
	tests/train/numbers.c tests/train/stage.c tests/train/stage.h tests/train/fake_cuda_load.c \
	$(fake_headers)
tests_train_t_cuda_ops_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_train_t_cuda_ops_CFLAGS = $(train_cflags)
tests_train_t_cuda_ops_LDADD = $(fake_ldadd)
# The same on a GPU, by tests/gpu/run-all train.
EXTRA_PROGRAMS += tests/train/t-cuda-gpu
gpu_tests += tests/train/t-cuda-gpu
tests_train_t_cuda_gpu_SOURCES = tests/train/t-cuda-ops.c tests/train/cuda-test.h tests/train/ops.h \
	tests/train/numbers.c tests/train/stage.c tests/train/stage.h tests/unit/unit.h
tests_train_t_cuda_gpu_CPPFLAGS = $(fake_cppflags)
tests_train_t_cuda_gpu_CFLAGS = $(train_cflags)
tests_train_t_cuda_gpu_LDADD = $(train_ldadd)
# The command with GPUs that are pretended.
check_PROGRAMS += tests/train/train-fake
tests_train_train_fake_SOURCES = trainer/main.c tests/train/train_fake_load.c \
	tests/train/fake_cuda.h tests/train/inject.h
tests_train_train_fake_CPPFLAGS = $(gpumap_train_CPPFLAGS) $(CUDA_BACKEND_CPPFLAGS) \
	-I$(top_srcdir)/tests/train
tests_train_train_fake_LDADD = tests/train/libfake-cuda.la $(gpumap_train_LDADD) -lpthread
# What measures on a GPU, where GPUs are pretended.
check_PROGRAMS += tests/train/collective-fake tests/train/exposed-fake
tests_train_collective_fake_SOURCES = $(bench_collective_SOURCES) tests/train/fake_cuda_load.c
tests_train_collective_fake_CPPFLAGS = $(fake_cppflags)
tests_train_collective_fake_LDADD = tests/train/libfake-cuda.la libtrainer.la -lpthread -lm
tests_train_exposed_fake_SOURCES = $(bench_exposed_SOURCES) tests/train/fake_cuda_load.c
tests_train_exposed_fake_CPPFLAGS = $(fake_cppflags)
tests_train_exposed_fake_LDADD = tests/train/libfake-cuda.la libtrainer.la -lpthread -lm
# The same with the real libraries, whose calls fail, by tests/gpu/run-all train.
EXTRA_PROGRAMS += tests/train/train-inject
gpu_tests += tests/train/train-inject
tests_train_train_inject_SOURCES = trainer/main.c tests/train/train_fake_load.c \
	tests/train/inject.c tests/train/inject.h
tests_train_train_inject_CPPFLAGS = $(tests_train_train_fake_CPPFLAGS) -DREAL_CUDA
tests_train_train_inject_LDADD = $(gpumap_train_LDADD)
tests_train_t_fake_capture_SOURCES = tests/train/t-fake-capture.c $(fake_headers)
tests_train_t_fake_capture_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_capture_CFLAGS = $(train_cflags)
tests_train_t_fake_capture_LDADD = $(fake_ldadd)
tests_train_t_fake_cublaslt_SOURCES = tests/train/t-fake-cublaslt.c $(fake_headers)
tests_train_t_fake_cublaslt_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_cublaslt_CFLAGS = $(train_cflags)
tests_train_t_fake_cublaslt_LDADD = $(fake_ldadd)
tests_train_t_fake_cuda_SOURCES = tests/train/t-fake-cuda.c tests/train/fake_bench.h $(fake_headers)
tests_train_t_fake_cuda_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_cuda_CFLAGS = $(train_cflags)
tests_train_t_fake_cuda_LDADD = $(fake_ldadd)
tests_train_t_fake_cudnn_SOURCES = tests/train/t-fake-cudnn.c tests/train/fake_tensors.h $(fake_headers)
tests_train_t_fake_cudnn_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_cudnn_CFLAGS = $(train_cflags)
tests_train_t_fake_cudnn_LDADD = $(fake_ldadd)
tests_train_t_fake_faults_SOURCES = tests/train/t-fake-faults.c tests/train/fake_bench.h $(fake_headers)
tests_train_t_fake_faults_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_faults_CFLAGS = $(train_cflags)
tests_train_t_fake_faults_LDADD = $(fake_ldadd)
tests_train_t_fake_kernels_SOURCES = tests/train/t-fake-kernels.c $(fake_headers)
tests_train_t_fake_kernels_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_kernels_CFLAGS = $(train_cflags)
tests_train_t_fake_kernels_LDADD = $(fake_ldadd)
tests_train_t_fake_nccl_SOURCES = tests/train/t-fake-nccl.c $(fake_headers)
tests_train_t_fake_nccl_CPPFLAGS = $(fake_cppflags)
tests_train_t_fake_nccl_CFLAGS = $(train_cflags)
tests_train_t_fake_nccl_LDADD = $(fake_ldadd)
tests_train_t_inject_SOURCES = tests/train/t-inject.c $(fake_headers) tests/train/inject_load.c
tests_train_t_inject_CPPFLAGS = $(fake_cppflags)
tests_train_t_inject_CFLAGS = $(train_cflags)
tests_train_t_inject_LDADD = $(fake_ldadd)
nccl_ranks = tests/train/nccl-ranks.h tests/unit/unit.h tests/train/fake_cuda.h
tests_train_t_nccl_SOURCES = tests/train/t-nccl.c tests/train/fake_cuda_load.c $(nccl_ranks)
tests_train_t_nccl_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_CFLAGS = $(train_cflags)
tests_train_t_nccl_LDADD = $(fake_ldadd)
tests_train_t_nccl_close_SOURCES = tests/train/t-nccl-close.c tests/train/fake_cuda_load.c \
	$(nccl_ranks)
tests_train_t_nccl_close_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_close_CFLAGS = $(train_cflags)
tests_train_t_nccl_close_LDADD = $(fake_ldadd)
tests_train_t_nccl_faults_SOURCES = tests/train/t-nccl-faults.c tests/train/fake_cuda_load.c \
	$(nccl_ranks)
tests_train_t_nccl_faults_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_faults_CFLAGS = $(train_cflags)
tests_train_t_nccl_faults_LDADD = $(fake_ldadd)
tests_train_t_nccl_gather_SOURCES = tests/train/t-nccl-gather.c tests/train/fake_cuda_load.c \
	$(nccl_ranks)
tests_train_t_nccl_gather_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_gather_CFLAGS = $(train_cflags)
tests_train_t_nccl_gather_LDADD = $(fake_ldadd)
tests_train_t_nccl_inject_SOURCES = tests/train/t-nccl-inject.c tests/train/inject_load.c \
	$(nccl_ranks)
tests_train_t_nccl_inject_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_inject_CFLAGS = $(train_cflags)
tests_train_t_nccl_inject_LDADD = $(fake_ldadd)
tests_train_t_nccl_place_SOURCES = tests/train/t-nccl-place.c tests/unit/unit.h
tests_train_t_nccl_place_CPPFLAGS = $(train_cppflags)
tests_train_t_nccl_place_CFLAGS = $(train_cflags)
tests_train_t_nccl_place_LDADD = $(train_ldadd)
tests_train_t_nccl_rounded_SOURCES = tests/train/t-nccl-rounded.c tests/train/fake_cuda_load.c \
	$(nccl_ranks)
tests_train_t_nccl_rounded_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_rounded_CFLAGS = $(train_cflags)
tests_train_t_nccl_rounded_LDADD = $(fake_ldadd)
if HAVE_NCCL
check_PROGRAMS += tests/train/nccl-mpi-main
tests_train_nccl_mpi_main_SOURCES = tests/train/nccl-mpi-main.c tests/train/fake_cuda_load.c \
	tests/train/fake_cuda.h
tests_train_nccl_mpi_main_CPPFLAGS = $(fake_cppflags)
tests_train_nccl_mpi_main_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_train_nccl_mpi_main_LDADD = $(fake_ldadd)
endif
tests_train_t_nccl_steps_SOURCES = tests/train/t-nccl-steps.c tests/train/fake_cuda_load.c \
	$(nccl_ranks)
tests_train_t_nccl_steps_CPPFLAGS = $(fake_cppflags)
tests_train_t_nccl_steps_CFLAGS = $(train_cflags)
tests_train_t_nccl_steps_LDADD = tests/train/libfake-cuda.la $(train_settings_ldadd) -lpthread
endif
endif

# SPDX-License-Identifier: MIT
# The libcheck programs of the trainer, and drivers of its parts for the tests in tests/trainer/cli.
train_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/base -I$(top_srcdir)/libgpumap \
	-I$(top_srcdir)/trainer -I$(top_srcdir)/tests/unit -I$(top_srcdir)
train_cflags = $(AM_CFLAGS) $(COMPUTING_CFLAGS) -ffp-contract=off $(CHECK_CFLAGS)
train_ldadd = tests/trainer/kernels/libreferences.la libtrainer.la $(CHECK_LIBS) $(JANSSON_LIBS) -lm
if HAVE_TRAINER
if HAVE_CHECK
train_programs = \
	tests/trainer/unit/t-addition \
	tests/trainer/unit/t-backend \
	tests/trainer/unit/t-batch-norm \
	tests/trainer/unit/t-batch \
	tests/trainer/unit/t-bf16 \
	tests/trainer/unit/t-memory-reuse \
	tests/trainer/unit/t-burn \
	tests/trainer/unit/t-checkpoint \
	tests/trainer/unit/t-checkpoint-faults \
	tests/trainer/unit/t-checkpoint-folder \
	tests/trainer/unit/t-cifar10 \
	tests/trainer/unit/t-clip \
	tests/trainer/unit/t-collective \
	tests/trainer/unit/t-collective-faults \
	tests/trainer/unit/t-collective-killed \
	tests/trainer/unit/t-cores \
	tests/trainer/unit/t-threads \
	tests/trainer/unit/t-dataset \
	tests/trainer/unit/t-error \
	tests/trainer/unit/t-blocks \
	tests/trainer/unit/t-graph \
	tests/trainer/unit/t-init \
	tests/trainer/unit/t-kernels \
	tests/trainer/unit/t-kernels-convolution \
	tests/trainer/unit/t-kernels-norm \
	tests/trainer/unit/t-kernels-pass \
	tests/trainer/unit/t-kernels-pool \
	tests/trainer/unit/t-kernels-update \
	tests/trainer/unit/t-launch \
	tests/trainer/unit/t-least \
	tests/trainer/unit/t-loss \
	tests/trainer/unit/t-mean-pool \
	tests/trainer/unit/t-measure \
	tests/trainer/unit/t-memory \
	tests/trainer/unit/t-metrics \
	tests/trainer/unit/t-model \
	tests/trainer/unit/t-model-memory \
	tests/trainer/unit/t-model-nomem \
	tests/trainer/unit/t-model-stages \
	tests/trainer/unit/t-ops \
	tests/trainer/unit/t-optimize \
	tests/trainer/unit/t-optimizer \
	tests/trainer/unit/t-peer \
	tests/trainer/unit/t-plot \
	tests/trainer/unit/t-pool \
	tests/trainer/unit/t-progress \
	tests/trainer/unit/t-random \
	tests/trainer/unit/t-reducer \
	tests/trainer/unit/t-rows \
	tests/trainer/unit/t-safetensors \
	tests/trainer/unit/t-safetensors-bad \
	tests/trainer/unit/t-sampler \
	tests/trainer/unit/t-scaler \
	tests/trainer/unit/t-schedule \
	tests/trainer/unit/t-settings \
	tests/trainer/unit/t-shapes \
	tests/trainer/unit/t-stages \
	tests/trainer/unit/t-sync-batch-norm \
	tests/trainer/unit/t-timeline \
	tests/trainer/unit/t-trace \
	tests/trainer/unit/t-verify \
	tests/trainer/unit/t-verify-ranks
if HAVE_DNNL
train_programs += tests/trainer/unit/t-implementations tests/trainer/unit/t-winograd \
	tests/trainer/unit/t-winograd-bf16
endif
if HAVE_CUDA_BACKEND
train_programs += \
	tests/trainer/unit/t-cuda-calls \
	tests/trainer/unit/t-cuda-chains \
	tests/trainer/unit/t-cuda-choose \
	tests/trainer/unit/t-cuda-engines \
	tests/trainer/unit/t-cuda-heuristics \
	tests/trainer/unit/t-cuda-linear \
	tests/trainer/unit/t-cuda-load \
	tests/trainer/unit/t-cuda-ops \
	tests/trainer/unit/t-cuda-pooled \
	tests/trainer/unit/t-cuda-steps
if HAVE_NCCL
train_programs += \
	tests/trainer/unit/t-nccl \
	tests/trainer/unit/t-nccl-close \
	tests/trainer/unit/t-nccl-faults \
	tests/trainer/unit/t-nccl-gather \
	tests/trainer/unit/t-nccl-inject \
	tests/trainer/unit/t-nccl-place \
	tests/trainer/unit/t-nccl-steps
endif
endif
check_PROGRAMS += $(train_programs)
endif
endif

if HAVE_TRAINER
check_PROGRAMS += tests/trainer/unit/data-main
tests_trainer_unit_data_main_SOURCES = tests/trainer/unit/data-main.c
tests_trainer_unit_data_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_data_main_LDADD = libtrainer.la -lm

tests_trainer_unit_t_batch_norm_SOURCES = tests/trainer/unit/t-batch-norm.c tests/unit/unit.h
tests_trainer_unit_t_batch_norm_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_batch_norm_CFLAGS = $(train_cflags)
tests_trainer_unit_t_batch_norm_LDADD = $(train_ldadd)
tests_trainer_unit_t_batch_SOURCES = tests/trainer/unit/t-batch.c tests/trainer/unit/vectors.h \
	tests/unit/unit.h
tests_trainer_unit_t_batch_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_batch_CFLAGS = $(train_cflags)
tests_trainer_unit_t_batch_LDADD = $(train_ldadd)

tests_trainer_unit_t_cifar10_SOURCES = tests/trainer/unit/t-cifar10.c \
	tests/trainer/unit/vectors.h tests/unit/unit.h
tests_trainer_unit_t_cifar10_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_cifar10_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cifar10_LDADD = $(train_ldadd)

tests_trainer_unit_t_dataset_SOURCES = tests/trainer/unit/t-dataset.c \
	tests/trainer/unit/vectors.h tests/unit/unit.h
tests_trainer_unit_t_dataset_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_dataset_CFLAGS = $(train_cflags)
tests_trainer_unit_t_dataset_LDADD = $(train_ldadd)

check_PROGRAMS += tests/trainer/unit/optim-driver
tests_trainer_unit_optim_driver_SOURCES = tests/trainer/unit/optim-driver.c
tests_trainer_unit_optim_driver_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_optim_driver_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_trainer_unit_optim_driver_LDADD = libtrainer.la -lm

tests_trainer_unit_t_bf16_SOURCES = tests/trainer/unit/t-bf16.c tests/unit/unit.h
tests_trainer_unit_t_bf16_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_bf16_CFLAGS = $(train_cflags)
tests_trainer_unit_t_bf16_LDADD = $(train_ldadd)
tests_trainer_unit_t_clip_SOURCES = tests/trainer/unit/t-clip.c tests/unit/unit.h
tests_trainer_unit_t_clip_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_clip_CFLAGS = $(train_cflags)
tests_trainer_unit_t_clip_LDADD = $(train_ldadd)
tests_trainer_unit_t_cores_SOURCES = tests/trainer/unit/t-cores.c tests/unit/unit.h
tests_trainer_unit_t_cores_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_cores_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cores_LDADD = $(train_ldadd)
tests_trainer_unit_t_threads_SOURCES = tests/trainer/unit/t-threads.c tests/unit/unit.h
tests_trainer_unit_t_threads_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_threads_CFLAGS = $(train_cflags)
tests_trainer_unit_t_threads_LDADD = $(train_ldadd) -lpthread
rank_threads = tests/trainer/unit/rank-threads.h tests/trainer/unit/ranks.h tests/unit/unit.h
tests_trainer_unit_t_collective_SOURCES = tests/trainer/unit/t-collective.c $(rank_threads)
tests_trainer_unit_t_collective_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_collective_CFLAGS = $(train_cflags)
tests_trainer_unit_t_collective_LDADD = $(train_ldadd)
tests_trainer_unit_t_collective_faults_SOURCES = tests/trainer/unit/t-collective-faults.c \
	$(rank_threads)
tests_trainer_unit_t_collective_faults_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_collective_faults_CFLAGS = $(train_cflags)
tests_trainer_unit_t_collective_faults_LDADD = $(train_ldadd)
tests_trainer_unit_t_collective_killed_SOURCES = tests/trainer/unit/t-collective-killed.c \
	$(rank_threads)
tests_trainer_unit_t_collective_killed_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_collective_killed_CFLAGS = $(train_cflags)
tests_trainer_unit_t_collective_killed_LDADD = $(train_ldadd)
# A rank as a process: tests/trainer/cli/collective.test starts several.
check_PROGRAMS += tests/trainer/unit/ranks-main
tests_trainer_unit_ranks_main_SOURCES = tests/trainer/unit/ranks-main.c tests/trainer/unit/ranks.h
tests_trainer_unit_ranks_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_ranks_main_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_trainer_unit_ranks_main_LDADD = libtrainer.la -lm
tests_trainer_unit_t_error_SOURCES = tests/trainer/unit/t-error.c tests/unit/unit.h
tests_trainer_unit_t_error_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_error_CFLAGS = $(train_cflags)
tests_trainer_unit_t_error_LDADD = $(train_ldadd)

tests_trainer_unit_t_init_SOURCES = tests/trainer/unit/t-init.c tests/trainer/unit/vectors.h \
	tests/unit/unit.h
tests_trainer_unit_t_init_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_init_CFLAGS = $(train_cflags)
tests_trainer_unit_t_init_LDADD = $(train_ldadd)

tests_trainer_unit_t_kernels_SOURCES = tests/trainer/unit/t-kernels.c \
	tests/trainer/unit/kernels.h tests/unit/unit.h
tests_trainer_unit_t_kernels_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_kernels_CFLAGS = $(train_cflags)
tests_trainer_unit_t_kernels_LDADD = $(train_ldadd)

tests_trainer_unit_t_kernels_convolution_SOURCES = tests/trainer/unit/t-kernels-convolution.c \
	tests/trainer/unit/kernels.h tests/unit/unit.h
tests_trainer_unit_t_kernels_convolution_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_kernels_convolution_CFLAGS = $(train_cflags)
tests_trainer_unit_t_kernels_convolution_LDADD = $(train_ldadd)
tests_trainer_unit_t_kernels_norm_SOURCES = tests/trainer/unit/t-kernels-norm.c \
	tests/trainer/unit/kernels.h tests/unit/unit.h
tests_trainer_unit_t_kernels_norm_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_kernels_norm_CFLAGS = $(train_cflags)
tests_trainer_unit_t_kernels_norm_LDADD = $(train_ldadd)

tests_trainer_unit_t_kernels_pass_SOURCES = tests/trainer/unit/t-kernels-pass.c \
	tests/trainer/unit/kernels.h tests/unit/unit.h
tests_trainer_unit_t_kernels_pass_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_kernels_pass_CFLAGS = $(train_cflags)
tests_trainer_unit_t_kernels_pass_LDADD = $(train_ldadd)

tests_trainer_unit_t_kernels_pool_SOURCES = tests/trainer/unit/t-kernels-pool.c \
	tests/trainer/unit/kernels.h tests/unit/unit.h
tests_trainer_unit_t_kernels_pool_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_kernels_pool_CFLAGS = $(train_cflags)
tests_trainer_unit_t_kernels_pool_LDADD = $(train_ldadd)

tests_trainer_unit_t_kernels_update_SOURCES = tests/trainer/unit/t-kernels-update.c \
	tests/trainer/unit/kernels.h tests/unit/unit.h
tests_trainer_unit_t_kernels_update_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_kernels_update_CFLAGS = $(train_cflags)
tests_trainer_unit_t_kernels_update_LDADD = $(train_ldadd)

tests_trainer_unit_t_launch_SOURCES = tests/trainer/unit/t-launch.c tests/unit/unit.h
tests_trainer_unit_t_launch_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_launch_CFLAGS = $(train_cflags)
tests_trainer_unit_t_launch_LDADD = $(train_ldadd)

tests_trainer_unit_t_least_SOURCES = tests/trainer/unit/t-least.c bench/least.h tests/unit/unit.h
tests_trainer_unit_t_least_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_least_CFLAGS = $(train_cflags)
tests_trainer_unit_t_least_LDADD = $(train_ldadd)

tests_trainer_unit_t_random_SOURCES = tests/trainer/unit/t-random.c tests/trainer/unit/vectors.h \
	tests/unit/unit.h
tests_trainer_unit_t_random_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_random_CFLAGS = $(train_cflags)
tests_trainer_unit_t_random_LDADD = $(train_ldadd)
tests_trainer_unit_t_reducer_SOURCES = tests/trainer/unit/t-reducer.c tests/unit/unit.h
tests_trainer_unit_t_reducer_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_reducer_CFLAGS = $(train_cflags)
tests_trainer_unit_t_reducer_LDADD = $(train_ldadd)

tests_trainer_unit_t_sampler_SOURCES = tests/trainer/unit/t-sampler.c \
	tests/trainer/unit/vectors.h tests/unit/unit.h
tests_trainer_unit_t_sampler_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_sampler_CFLAGS = $(train_cflags)
tests_trainer_unit_t_sampler_LDADD = $(train_ldadd)
train_checkpoints = tests/trainer/unit/folders.h tests/trainer/unit/models.h tests/unit/unit.h
tests_trainer_unit_t_checkpoint_SOURCES = tests/trainer/unit/t-checkpoint.c $(train_checkpoints)
tests_trainer_unit_t_checkpoint_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_checkpoint_CFLAGS = $(train_cflags)
tests_trainer_unit_t_checkpoint_LDADD = $(train_ldadd)

tests_trainer_unit_t_checkpoint_faults_SOURCES = tests/trainer/unit/t-checkpoint-faults.c \
	$(train_checkpoints)
tests_trainer_unit_t_checkpoint_faults_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_checkpoint_faults_CFLAGS = $(train_cflags)
tests_trainer_unit_t_checkpoint_faults_LDADD = $(train_ldadd)

tests_trainer_unit_t_checkpoint_folder_SOURCES = tests/trainer/unit/t-checkpoint-folder.c \
	$(train_checkpoints)
tests_trainer_unit_t_checkpoint_folder_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_checkpoint_folder_CFLAGS = $(train_cflags)
tests_trainer_unit_t_checkpoint_folder_LDADD = $(train_ldadd)

tests_trainer_unit_t_safetensors_SOURCES = tests/trainer/unit/t-safetensors.c tests/unit/unit.h
tests_trainer_unit_t_safetensors_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_safetensors_CFLAGS = $(train_cflags)
tests_trainer_unit_t_safetensors_LDADD = $(train_ldadd)

tests_trainer_unit_t_safetensors_bad_SOURCES = tests/trainer/unit/t-safetensors-bad.c \
	tests/trainer/unit/folders.h tests/unit/unit.h
tests_trainer_unit_t_safetensors_bad_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_safetensors_bad_CFLAGS = $(train_cflags)
tests_trainer_unit_t_safetensors_bad_LDADD = $(train_ldadd)

# Needs no libcheck: tests/trainer/cli/checkpoint.test runs it beside Python.
check_PROGRAMS += tests/trainer/unit/checkpoint-main
tests_trainer_unit_checkpoint_main_SOURCES = tests/trainer/unit/checkpoint-main.c
tests_trainer_unit_checkpoint_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_checkpoint_main_LDADD = libtrainer.la $(JANSSON_LIBS)
tests_trainer_unit_t_loss_SOURCES = tests/trainer/unit/t-loss.c tests/trainer/unit/backends.h \
	tests/unit/unit.h
tests_trainer_unit_t_loss_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_loss_CFLAGS = $(train_cflags)
tests_trainer_unit_t_loss_LDADD = $(train_ldadd)
tests_trainer_unit_t_mean_pool_SOURCES = tests/trainer/unit/t-mean-pool.c tests/unit/unit.h
tests_trainer_unit_t_mean_pool_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_mean_pool_CFLAGS = $(train_cflags)
tests_trainer_unit_t_mean_pool_LDADD = $(train_ldadd)
tests_trainer_unit_t_measure_SOURCES = tests/trainer/unit/t-measure.c \
	tests/trainer/unit/backends.h tests/trainer/unit/optimize.h tests/unit/unit.h
tests_trainer_unit_t_measure_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_measure_CFLAGS = $(train_cflags)
tests_trainer_unit_t_measure_LDADD = $(train_ldadd)
tests_trainer_unit_t_optimize_SOURCES = tests/trainer/unit/t-optimize.c \
	tests/trainer/unit/backends.h tests/trainer/unit/optimize.h tests/unit/unit.h
tests_trainer_unit_t_optimize_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_optimize_CFLAGS = $(train_cflags)
tests_trainer_unit_t_optimize_LDADD = $(train_ldadd)
tests_trainer_unit_t_optimizer_SOURCES = tests/trainer/unit/t-optimizer.c tests/unit/unit.h
tests_trainer_unit_t_optimizer_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_optimizer_CFLAGS = $(train_cflags)
tests_trainer_unit_t_optimizer_LDADD = $(failing_malloc) $(train_ldadd)
tests_trainer_unit_t_shapes_SOURCES = tests/trainer/unit/t-shapes.c tests/unit/unit.h
tests_trainer_unit_t_shapes_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_shapes_CFLAGS = $(train_cflags)
tests_trainer_unit_t_shapes_LDADD = $(train_ldadd)

tests_trainer_unit_t_scaler_SOURCES = tests/trainer/unit/t-scaler.c tests/unit/unit.h
tests_trainer_unit_t_scaler_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_scaler_CFLAGS = $(train_cflags)
tests_trainer_unit_t_scaler_LDADD = $(train_ldadd)
tests_trainer_unit_t_schedule_SOURCES = tests/trainer/unit/t-schedule.c tests/unit/unit.h
tests_trainer_unit_t_schedule_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_schedule_CFLAGS = $(train_cflags)
tests_trainer_unit_t_schedule_LDADD = $(train_ldadd)

tests_trainer_unit_t_peer_SOURCES = tests/trainer/unit/t-peer.c tests/trainer/unit/ranks.h \
	tests/unit/unit.h
tests_trainer_unit_t_peer_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_peer_CFLAGS = $(train_cflags)
tests_trainer_unit_t_peer_LDADD = $(train_ldadd) -lpthread
tests_trainer_unit_t_blocks_SOURCES = tests/trainer/unit/t-blocks.c tests/trainer/unit/blocks.h \
	tests/trainer/unit/numbers.c tests/trainer/unit/ops.h tests/trainer/unit/stage.c \
	tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_blocks_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_blocks_CFLAGS = $(train_cflags)
tests_trainer_unit_t_blocks_LDADD = $(train_ldadd)
tests_trainer_unit_t_graph_SOURCES = tests/trainer/unit/t-graph.c tests/trainer/unit/graphs.h \
	tests/trainer/unit/numbers.c tests/trainer/unit/ops.h tests/trainer/unit/stage.c \
	tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_graph_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_graph_CFLAGS = $(train_cflags)
tests_trainer_unit_t_graph_LDADD = $(train_ldadd)
tests_trainer_unit_t_ops_SOURCES = tests/trainer/unit/t-ops.c tests/trainer/unit/ops.h \
	tests/trainer/unit/numbers.c tests/trainer/unit/stage.c tests/trainer/unit/stage.h \
	tests/unit/unit.h
tests_trainer_unit_t_ops_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_ops_CFLAGS = $(train_cflags)
tests_trainer_unit_t_ops_LDADD = $(train_ldadd)

tests_trainer_unit_t_backend_SOURCES = tests/trainer/unit/t-backend.c \
	tests/trainer/unit/backends.h tests/trainer/unit/numbers.c tests/trainer/unit/stage.c \
	tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_backend_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_backend_CFLAGS = $(train_cflags)
tests_trainer_unit_t_backend_LDADD = $(train_ldadd)

tests_trainer_unit_t_model_SOURCES = tests/trainer/unit/t-model.c tests/trainer/unit/drawn.h \
	tests/trainer/unit/fork.h tests/trainer/unit/numbers.c tests/trainer/unit/stage.h \
	tests/unit/unit.h
tests_trainer_unit_t_model_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_model_CFLAGS = $(train_cflags)
tests_trainer_unit_t_model_LDADD = $(train_ldadd)
tests_trainer_unit_t_model_stages_SOURCES = tests/trainer/unit/t-model-stages.c \
	tests/trainer/unit/drawn.h tests/trainer/unit/fork.h tests/trainer/unit/numbers.c \
	tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_model_stages_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_model_stages_CFLAGS = $(train_cflags)
tests_trainer_unit_t_model_stages_LDADD = $(train_ldadd)

tests_trainer_unit_t_memory_SOURCES = tests/trainer/unit/t-memory.c \
	tests/trainer/unit/backends.h tests/unit/unit.h
tests_trainer_unit_t_memory_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_memory_CFLAGS = $(train_cflags)
tests_trainer_unit_t_memory_LDADD = $(train_ldadd)

tests_trainer_unit_t_model_memory_SOURCES = tests/trainer/unit/t-model-memory.c \
	tests/trainer/unit/numbers.c tests/trainer/unit/backends.h tests/trainer/unit/drawn.h \
	tests/trainer/unit/graphs.h tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_model_memory_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_model_memory_CFLAGS = $(train_cflags)
tests_trainer_unit_t_model_memory_LDADD = $(train_ldadd)

tests_trainer_unit_t_rows_SOURCES = tests/trainer/unit/t-rows.c tests/trainer/unit/numbers.c \
	tests/trainer/unit/backends.h tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_rows_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_rows_CFLAGS = $(train_cflags)
tests_trainer_unit_t_rows_LDADD = $(train_ldadd)

tests_trainer_unit_t_model_nomem_SOURCES = tests/trainer/unit/t-model-nomem.c tests/unit/unit.h
tests_trainer_unit_t_model_nomem_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_model_nomem_CFLAGS = $(train_cflags)
tests_trainer_unit_t_model_nomem_LDADD = $(train_ldadd)

tests_trainer_unit_t_burn_SOURCES = tests/trainer/unit/t-burn.c tests/unit/unit.h
tests_trainer_unit_t_burn_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_burn_CFLAGS = $(train_cflags)
tests_trainer_unit_t_burn_LDADD = $(train_ldadd)
tests_trainer_unit_t_memory_reuse_SOURCES = tests/trainer/unit/t-memory-reuse.c tests/unit/unit.h
tests_trainer_unit_t_memory_reuse_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_memory_reuse_CFLAGS = $(train_cflags)
tests_trainer_unit_t_memory_reuse_LDADD = $(train_ldadd)

tests_trainer_unit_t_trace_SOURCES = tests/trainer/unit/t-trace.c tests/trainer/unit/backends.h \
	tests/unit/unit.h
tests_trainer_unit_t_trace_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_trace_CFLAGS = $(train_cflags)
tests_trainer_unit_t_trace_LDADD = $(train_ldadd)

verify_cppflags = $(train_cppflags) -DPRETENDED='"$(abs_builddir)/pretend/.libs/libnvidia-ml.so.1"'
tests_trainer_unit_t_verify_SOURCES = tests/trainer/unit/t-verify.c tests/trainer/unit/verify.h \
	$(rank_threads)
tests_trainer_unit_t_verify_CPPFLAGS = $(verify_cppflags)
tests_trainer_unit_t_verify_CFLAGS = $(train_cflags)
tests_trainer_unit_t_verify_LDADD = $(train_ldadd) libgpumap/libgpumap.la -lpthread
EXTRA_tests_trainer_unit_t_verify_DEPENDENCIES = $(pretend_LTLIBRARIES)
tests_trainer_unit_t_verify_ranks_SOURCES = tests/trainer/unit/t-verify-ranks.c \
	tests/trainer/unit/verify.h $(rank_threads)
tests_trainer_unit_t_verify_ranks_CPPFLAGS = $(verify_cppflags)
tests_trainer_unit_t_verify_ranks_CFLAGS = $(train_cflags)
tests_trainer_unit_t_verify_ranks_LDADD = $(train_ldadd) libgpumap/libgpumap.la -lpthread
EXTRA_tests_trainer_unit_t_verify_ranks_DEPENDENCIES = $(pretend_LTLIBRARIES)

tests_trainer_unit_t_implementations_SOURCES = tests/trainer/unit/t-implementations.c \
	tests/trainer/unit/numbers.c tests/trainer/unit/ops.h tests/trainer/unit/stage.c \
	tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_implementations_CPPFLAGS = $(train_cppflags) $(DNNL_CPPFLAGS)
tests_trainer_unit_t_implementations_CFLAGS = $(train_cflags)
tests_trainer_unit_t_implementations_LDADD = $(train_ldadd)
tests_trainer_unit_t_winograd_SOURCES = tests/trainer/unit/t-winograd.c tests/unit/unit.h
tests_trainer_unit_t_winograd_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_winograd_CFLAGS = $(train_cflags)
tests_trainer_unit_t_winograd_LDADD = $(train_ldadd)
tests_trainer_unit_t_winograd_bf16_SOURCES = tests/trainer/unit/t-winograd-bf16.c tests/unit/unit.h
tests_trainer_unit_t_winograd_bf16_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_winograd_bf16_CFLAGS = $(train_cflags)
tests_trainer_unit_t_winograd_bf16_LDADD = $(train_ldadd)

# The trainer against PyTorch, where there is one.
check_PROGRAMS += tests/trainer/unit/model-dump
tests_trainer_unit_model_dump_SOURCES = tests/trainer/unit/model-dump.c \
	tests/trainer/unit/numbers.c tests/trainer/unit/one-model.c \
	tests/trainer/unit/one-model.h tests/trainer/unit/stage.h
tests_trainer_unit_model_dump_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_model_dump_LDADD = libtrainer.la -lm

check_PROGRAMS += tests/trainer/unit/implementations-main
tests_trainer_unit_implementations_main_SOURCES = tests/trainer/unit/implementations-main.c
tests_trainer_unit_implementations_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_implementations_main_LDADD = libtrainer.la $(JANSSON_LIBS) -lm
check_PROGRAMS += tests/trainer/unit/logits-main
tests_trainer_unit_logits_main_SOURCES = tests/trainer/unit/logits-main.c \
	tests/trainer/unit/one-model.c tests/trainer/unit/one-model.h
tests_trainer_unit_logits_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_logits_main_LDADD = libtrainer.la $(JANSSON_LIBS) -lm

tests_trainer_unit_t_stages_SOURCES = tests/trainer/unit/t-stages.c tests/unit/unit.h
tests_trainer_unit_t_stages_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_stages_CFLAGS = $(train_cflags)
tests_trainer_unit_t_stages_LDADD = $(train_ldadd)
tests_trainer_unit_t_sync_batch_norm_SOURCES = tests/trainer/unit/t-sync-batch-norm.c \
	tests/trainer/unit/backends.h tests/unit/unit.h
tests_trainer_unit_t_sync_batch_norm_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_sync_batch_norm_CFLAGS = $(train_cflags)
tests_trainer_unit_t_sync_batch_norm_LDADD = $(train_ldadd)
# Needs no libcheck: the settings of gpumap-train, without training.
check_PROGRAMS += tests/trainer/unit/settings-main
tests_trainer_unit_settings_main_SOURCES = tests/trainer/unit/settings-main.c
tests_trainer_unit_settings_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_settings_main_LDADD = libtrainer.la libgpumap/libgpumap.la -lm
# What people see of a training run: tests/trainer/cli/report.test looks at it.
check_PROGRAMS += tests/trainer/unit/verify-main
tests_trainer_unit_verify_main_SOURCES = tests/trainer/unit/verify-main.c
tests_trainer_unit_verify_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_verify_main_LDADD = libtrainer.la libgpumap/libgpumap.la $(JANSSON_LIBS) -lm

check_PROGRAMS += tests/trainer/unit/report-main
tests_trainer_unit_report_main_SOURCES = tests/trainer/unit/report-main.c
tests_trainer_unit_report_main_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_report_main_LDADD = libtrainer.la $(JANSSON_LIBS) -lm

tests_trainer_unit_t_metrics_SOURCES = tests/trainer/unit/t-metrics.c \
	tests/trainer/unit/folders.h tests/unit/unit.h
tests_trainer_unit_t_metrics_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_metrics_CFLAGS = $(train_cflags)
tests_trainer_unit_t_metrics_LDADD = $(train_ldadd)

tests_trainer_unit_t_progress_SOURCES = tests/trainer/unit/t-progress.c \
	tests/trainer/unit/folders.h tests/unit/unit.h
tests_trainer_unit_t_progress_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_progress_CFLAGS = $(train_cflags)
tests_trainer_unit_t_progress_LDADD = $(train_ldadd)

tests_trainer_unit_t_addition_SOURCES = tests/trainer/unit/t-addition.c tests/unit/unit.h
tests_trainer_unit_t_addition_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_addition_CFLAGS = $(train_cflags)
tests_trainer_unit_t_addition_LDADD = $(train_ldadd)
tests_trainer_unit_t_pool_SOURCES = tests/trainer/unit/t-pool.c tests/unit/unit.h
tests_trainer_unit_t_pool_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_pool_CFLAGS = $(train_cflags)
tests_trainer_unit_t_pool_LDADD = $(train_ldadd)
tests_trainer_unit_t_plot_SOURCES = tests/trainer/unit/t-plot.c tests/trainer/unit/folders.h \
	tests/unit/unit.h
tests_trainer_unit_t_plot_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_plot_CFLAGS = $(train_cflags)
tests_trainer_unit_t_plot_LDADD = $(train_ldadd)

tests_trainer_unit_t_timeline_SOURCES = tests/trainer/unit/t-timeline.c \
	tests/trainer/unit/folders.h tests/unit/unit.h
tests_trainer_unit_t_timeline_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_timeline_CFLAGS = $(train_cflags)
tests_trainer_unit_t_timeline_LDADD = $(train_ldadd)

train_settings_ldadd = libtrainer.la libgpumap/libgpumap.la $(CHECK_LIBS) -lm
tests_trainer_unit_t_settings_SOURCES = tests/trainer/unit/t-settings.c tests/unit/unit.h
tests_trainer_unit_t_settings_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_settings_CFLAGS = $(train_cflags)
tests_trainer_unit_t_settings_LDADD = $(train_settings_ldadd)

# With the simulated CUDA of tests/trainer/fake.
if HAVE_CUDA_BACKEND
tests_trainer_unit_t_cuda_calls_SOURCES = tests/trainer/unit/t-cuda-calls.c \
	tests/trainer/fake/fake_cuda_load.c $(fake_headers)
tests_trainer_unit_t_cuda_calls_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_cuda_calls_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_calls_LDADD = $(fake_ldadd)
chain = tests/trainer/unit/chain.c tests/trainer/unit/chain.h tests/trainer/unit/numbers.c \
	tests/trainer/unit/stage.h tests/trainer/unit/cuda-test.h
tests_trainer_unit_t_cuda_chains_SOURCES = tests/trainer/unit/t-cuda-chains.c $(chain) \
	tests/trainer/fake/inject_load.c $(fake_headers)
tests_trainer_unit_t_cuda_chains_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_chains_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_chains_LDADD = $(fake_ldadd)
# The same on a GPU, by tests/gpu/run-all train.
EXTRA_PROGRAMS += tests/trainer/unit/t-cuda-chains-gpu
gpu_tests += tests/trainer/unit/t-cuda-chains-gpu
tests_trainer_unit_t_cuda_chains_gpu_SOURCES = tests/trainer/unit/t-cuda-chains.c $(chain)
tests_trainer_unit_t_cuda_chains_gpu_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_cuda_chains_gpu_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_chains_gpu_LDADD = $(train_ldadd)
tests_trainer_unit_t_cuda_choose_SOURCES = tests/trainer/unit/t-cuda-choose.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/unit/cuda-test.h $(fake_headers)
tests_trainer_unit_t_cuda_choose_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_choose_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_choose_LDADD = $(fake_ldadd)
tests_trainer_unit_t_cuda_engines_SOURCES = tests/trainer/unit/t-cuda-engines.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/unit/cuda-test.h $(fake_headers)
tests_trainer_unit_t_cuda_engines_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_engines_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_engines_LDADD = $(fake_ldadd)
tests_trainer_unit_t_cuda_heuristics_SOURCES = tests/trainer/unit/t-cuda-heuristics.c tests/unit/unit.h
tests_trainer_unit_t_cuda_heuristics_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_cuda_heuristics_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_heuristics_LDADD = $(train_ldadd)
tests_trainer_unit_t_cuda_linear_SOURCES = tests/trainer/unit/t-cuda-linear.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/unit/cuda-test.h $(fake_headers)
tests_trainer_unit_t_cuda_linear_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_linear_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_linear_LDADD = $(fake_ldadd)
tests_trainer_unit_t_cuda_load_SOURCES = tests/trainer/unit/t-cuda-load.c tests/unit/unit.h
tests_trainer_unit_t_cuda_load_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_cuda_load_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_load_LDADD = $(train_ldadd)
tests_trainer_unit_t_cuda_ops_SOURCES = tests/trainer/unit/t-cuda-ops.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/unit/cuda-test.h \
	tests/trainer/unit/ops.h tests/trainer/unit/numbers.c tests/trainer/unit/stage.c \
	tests/trainer/unit/stage.h $(fake_headers)
tests_trainer_unit_t_cuda_ops_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_ops_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_ops_LDADD = $(fake_ldadd)
tests_trainer_unit_t_cuda_pooled_SOURCES = tests/trainer/unit/t-cuda-pooled.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/unit/cuda-test.h \
	tests/trainer/unit/numbers.c tests/trainer/unit/stage.h $(fake_headers)
tests_trainer_unit_t_cuda_pooled_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_pooled_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_pooled_LDADD = $(fake_ldadd)
tests_trainer_unit_t_cuda_steps_SOURCES = tests/trainer/unit/t-cuda-steps.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/unit/cuda-test.h $(fake_headers)
tests_trainer_unit_t_cuda_steps_CPPFLAGS = $(fake_cppflags) -DFAKE_CUDA
tests_trainer_unit_t_cuda_steps_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_steps_LDADD = tests/trainer/fake/libfake-cuda.la $(train_settings_ldadd) \
	-lpthread
# t-cuda-ops on a GPU, by tests/gpu/run-all train.
EXTRA_PROGRAMS += tests/trainer/unit/t-cuda-gpu
gpu_tests += tests/trainer/unit/t-cuda-gpu
tests_trainer_unit_t_cuda_gpu_SOURCES = tests/trainer/unit/t-cuda-ops.c \
	tests/trainer/unit/cuda-test.h tests/trainer/unit/ops.h tests/trainer/unit/numbers.c \
	tests/trainer/unit/stage.c tests/trainer/unit/stage.h tests/unit/unit.h
tests_trainer_unit_t_cuda_gpu_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_cuda_gpu_CFLAGS = $(train_cflags)
tests_trainer_unit_t_cuda_gpu_LDADD = $(train_ldadd)
nccl_ranks = tests/trainer/unit/nccl-ranks.h tests/unit/unit.h tests/trainer/fake/fake_cuda.h
tests_trainer_unit_t_nccl_SOURCES = tests/trainer/unit/t-nccl.c \
	tests/trainer/fake/fake_cuda_load.c $(nccl_ranks)
tests_trainer_unit_t_nccl_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_nccl_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_LDADD = $(fake_ldadd)
tests_trainer_unit_t_nccl_close_SOURCES = tests/trainer/unit/t-nccl-close.c \
	tests/trainer/fake/fake_cuda_load.c $(nccl_ranks)
tests_trainer_unit_t_nccl_close_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_nccl_close_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_close_LDADD = $(fake_ldadd)
tests_trainer_unit_t_nccl_faults_SOURCES = tests/trainer/unit/t-nccl-faults.c \
	tests/trainer/fake/fake_cuda_load.c $(nccl_ranks)
tests_trainer_unit_t_nccl_faults_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_nccl_faults_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_faults_LDADD = $(fake_ldadd)
tests_trainer_unit_t_nccl_gather_SOURCES = tests/trainer/unit/t-nccl-gather.c \
	tests/trainer/fake/fake_cuda_load.c $(nccl_ranks)
tests_trainer_unit_t_nccl_gather_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_nccl_gather_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_gather_LDADD = $(fake_ldadd)
tests_trainer_unit_t_nccl_inject_SOURCES = tests/trainer/unit/t-nccl-inject.c \
	tests/trainer/fake/inject_load.c $(nccl_ranks)
tests_trainer_unit_t_nccl_inject_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_nccl_inject_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_inject_LDADD = $(fake_ldadd)
tests_trainer_unit_t_nccl_place_SOURCES = tests/trainer/unit/t-nccl-place.c tests/unit/unit.h
tests_trainer_unit_t_nccl_place_CPPFLAGS = $(train_cppflags)
tests_trainer_unit_t_nccl_place_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_place_LDADD = $(train_ldadd)
if HAVE_NCCL
check_PROGRAMS += tests/trainer/unit/nccl-mpi-main
tests/trainer/cli/nccl-mpi.log: tests/trainer/unit/nccl-mpi-main
tests_trainer_unit_nccl_mpi_main_SOURCES = tests/trainer/unit/nccl-mpi-main.c \
	tests/trainer/fake/fake_cuda_load.c tests/trainer/fake/fake_cuda.h
tests_trainer_unit_nccl_mpi_main_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_nccl_mpi_main_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_trainer_unit_nccl_mpi_main_LDADD = $(fake_ldadd)
endif
tests_trainer_unit_t_nccl_steps_SOURCES = tests/trainer/unit/t-nccl-steps.c \
	tests/trainer/fake/fake_cuda_load.c $(nccl_ranks)
tests_trainer_unit_t_nccl_steps_CPPFLAGS = $(fake_cppflags)
tests_trainer_unit_t_nccl_steps_CFLAGS = $(train_cflags)
tests_trainer_unit_t_nccl_steps_LDADD = tests/trainer/fake/libfake-cuda.la $(train_settings_ldadd) -lpthread
endif
endif

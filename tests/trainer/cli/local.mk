# SPDX-License-Identifier: MIT
# Shell tests of gpumap-train and of the drivers in tests/trainer/unit.

# These tests compile programs, compare numbers with PyTorch's, or repeat other tests with kills or with the
# instructions of other processors.
train_alone_tests = \
	tests/trainer/cli/tsan.test \
	tests/trainer/cli/emulated.test \
	tests/trainer/cli/resume.test \
	tests/trainer/cli/implementations.test \
	tests/trainer/cli/isa.test \
	tests/trainer/cli/torch-train.test \
	tests/trainer/cli/torch-model.test \
	tests/trainer/cli/torch-resnet.test \
	tests/trainer/cli/torch-data.test
train_tests = \
	tests/trainer/cli/cuda-faults.test \
	tests/trainer/cli/burn.test \
	tests/trainer/cli/burn-gpu.test \
	tests/trainer/cli/cuda.test \
	tests/trainer/cli/estimate.test \
	tests/trainer/cli/kernel-resources.test \
	tests/trainer/cli/modes.test \
	tests/trainer/cli/nomem.test \
	tests/trainer/cli/stop.test \
	tests/trainer/cli/report.test \
	tests/trainer/cli/damage.test \
	tests/trainer/cli/hang.test \
	tests/trainer/cli/refused.test \
	tests/trainer/cli/where.test \
	tests/trainer/cli/exposed.test \
	tests/trainer/cli/collective.test \
	tests/trainer/cli/tail.test \
	tests/trainer/cli/terminal.test \
	tests/trainer/cli/optim.test \
	tests/trainer/cli/checkpoint.test \
	tests/trainer/cli/cifar10.test \
	tests/trainer/cli/example.test \
	tests/trainer/cli/nccl-mpi.test \
	tests/trainer/cli/place.test \
	tests/trainer/cli/settings.test \
	tests/trainer/cli/sums.test \
	tests/trainer/cli/verify.test \
	tests/trainer/cli/wrong-data.test
EXTRA_DIST += $(train_alone_tests) $(train_tests) \
	tests/trainer/cli/checkpoint.py \
	tests/trainer/cli/compare-logits.py \
	tests/trainer/cli/compare-losses.py \
	tests/trainer/cli/compare-parameters.py \
	tests/trainer/cli/compare-spread.py \
	tests/trainer/cli/compare.sh \
	tests/trainer/cli/cuda.sh \
	tests/trainer/cli/edit-safetensors.py \
	tests/trainer/cli/make-data.py \
	tests/trainer/cli/nomem.py \
	tests/trainer/cli/optim.py \
	tests/trainer/cli/place.tsv \
	tests/trainer/cli/read_safetensors.py \
	tests/trainer/cli/report.py \
	tests/trainer/cli/scales.py \
	tests/trainer/cli/settings.tsv \
	tests/trainer/cli/torch-data.py \
	tests/trainer/cli/torch-model.py \
	tests/trainer/cli/resnet.py \
	tests/trainer/cli/compare-state.py \
	tests/trainer/cli/torch-train.py \
	tests/trainer/cli/torchvision-resnet.py \
	tests/trainer/cli/train.sh \
	tests/trainer/cli/where.py

tests/trainer/cli/burn-gpu.log tests/trainer/cli/cuda.log tests/trainer/cli/cuda-faults.log \
	tests/trainer/cli/exposed.log tests/trainer/cli/sums.log: $(fake_drivers)
tests/trainer/cli/checkpoint.log: tests/trainer/unit/checkpoint-main
tests/trainer/cli/cifar10.log tests/trainer/cli/torch-data.log: tests/trainer/unit/data-main
tests/trainer/cli/collective.log: tests/trainer/unit/ranks-main
tests/trainer/cli/implementations.log: tests/trainer/unit/implementations-main
tests/trainer/cli/isa.log: $(train_programs) tests/trainer/unit/logits-main tests/trainer/unit/model-dump
tests/trainer/cli/nomem.log: tests/trainer/cli/train-failing
tests/trainer/cli/optim.log: tests/trainer/unit/optim-driver
tests/trainer/cli/place.log tests/trainer/cli/settings.log: tests/trainer/unit/settings-main
tests/trainer/cli/report.log: tests/trainer/unit/report-main
tests/trainer/cli/sums.log: bench/collective
tests/trainer/cli/torch-model.log: tests/trainer/unit/model-dump
tests/trainer/cli/torch-resnet.log tests/trainer/cli/torch-train.log: tests/trainer/unit/logits-main
tests/trainer/cli/tsan.log: libgpumap/libgpumap.la
tests/trainer/cli/verify.log: tests/trainer/unit/verify-main

if HAVE_TRAINER
tests/sync/options.log: tests/trainer/unit/settings-main
check_PROGRAMS += tests/trainer/cli/train-failing
tests_trainer_cli_train_failing_SOURCES = tests/cli/failing-command.c $(gpumap_train_SOURCES)
tests_trainer_cli_train_failing_CPPFLAGS = $(gpumap_train_CPPFLAGS)
tests_trainer_cli_train_failing_LDFLAGS = $(gpumap_train_LDFLAGS) -Wl,--wrap=main
tests_trainer_cli_train_failing_LDADD = $(failing_malloc) $(gpumap_train_LDADD)
TESTS += $(train_alone_tests) $(train_tests) $(train_programs)
endif

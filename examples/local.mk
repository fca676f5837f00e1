# SPDX-License-Identifier: MIT
# Programs as a user would write them. tests/cli/install.test builds them once more, outside
# the tree, against what was installed.
check_PROGRAMS += examples/pick examples/plan-dp examples/train-ranks examples/which-gpu
examples_pick_SOURCES = examples/pick.c
examples_pick_LDADD = libgpumap/libgpumap.la
examples_plan_dp_SOURCES = examples/plan-dp.c
examples_plan_dp_LDADD = libgpumap/libgpumap.la
examples_train_ranks_SOURCES = examples/train-ranks.c
examples_train_ranks_LDADD = libgpumap/libgpumap.la -lpthread -lm
examples_which_gpu_SOURCES = examples/which-gpu.c
examples_which_gpu_LDADD = libgpumap/libgpumap.la
EXTRA_DIST += examples/README.md examples/explain.cc examples/which-gpu.svg examples/machines examples/profiles \
	examples/programs examples/rehearse examples/tutorial

# SPDX-License-Identifier: MIT
# The Python part of gpumap rehearse. The command finds it beside itself.
rehearsedir = $(pkgdatadir)/rehearse
rehearsebootdir = $(rehearsedir)/boot
dist_rehearseboot_DATA = rehearse/boot/sitecustomize.py
rehearsepackagedir = $(rehearsedir)/gpumap_rehearse
dist_rehearsepackage_DATA = \
	rehearse/gpumap_rehearse/__init__.py \
	rehearse/gpumap_rehearse/batch_norm.py \
	rehearse/gpumap_rehearse/checkpoint.py \
	rehearse/gpumap_rehearse/cuda_api.py \
	rehearse/gpumap_rehearse/data_parallel.py \
	rehearse/gpumap_rehearse/devices.py \
	rehearse/gpumap_rehearse/distributed.py \
	rehearse/gpumap_rehearse/errors.py \
	rehearse/gpumap_rehearse/groups.py \
	rehearse/gpumap_rehearse/hooks.py \
	rehearse/gpumap_rehearse/install.py \
	rehearse/gpumap_rehearse/memory.py \
	rehearse/gpumap_rehearse/modes.py \
	rehearse/gpumap_rehearse/moves.py \
	rehearse/gpumap_rehearse/precision.py \
	rehearse/gpumap_rehearse/record.py \
	rehearse/gpumap_rehearse/refused.py \
	rehearse/gpumap_rehearse/tags.py \
	rehearse/gpumap_rehearse/tensor_device.py \
	rehearse/gpumap_rehearse/training.py
EXTRA_DIST += rehearse/README.md

# The build tree has it too, for the command that is there.
noinst_DATA += rehearse/tree
rehearse/tree:
	$(AM_V_GEN)$(MKDIR_P) rehearse && ln -sfn '$(abs_top_srcdir)/rehearse' $@
CLEANFILES += rehearse/tree

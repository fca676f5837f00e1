# SPDX-License-Identifier: MIT
# Tests of gpumap rehearse, most of which need PyTorch.
rehearse_tests = \
	tests/rehearse/gpu-stage.test \
	tests/rehearse/losses.test \
	tests/rehearse/operators.test \
	tests/rehearse/others.test \
	tests/rehearse/refused.test \
	tests/rehearse/rehearse.test \
	tests/rehearse/seeds.test \
	tests/rehearse/slurm.test \
	tests/rehearse/tensors.test
TESTS += $(rehearse_tests)
$(rehearse_tests:.test=.log): $(command_built) rehearse/tree
EXTRA_DIST += $(rehearse_tests) \
	tests/rehearse/collectives.py \
	tests/rehearse/ddp.py \
	tests/rehearse/lib.sh \
	tests/rehearse/losses.py \
	tests/rehearse/meeting.py \
	tests/rehearse/moves.py \
	tests/rehearse/operators.py \
	tests/rehearse/others/fsdp.py \
	tests/rehearse/others/late.py \
	tests/rehearse/others/lightning_ddp.py \
	tests/rehearse/others/resnet.py \
	tests/rehearse/others/trainer.py \
	tests/rehearse/packages.py \
	tests/rehearse/parts.py \
	tests/rehearse/refused.py \
	tests/rehearse/single.py \
	tests/rehearse/sync_norm.py \
	tests/rehearse/triton_kernel.py \
	tests/rehearse/warned.py \
	tests/rehearse/words.py

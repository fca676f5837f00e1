# SPDX-License-Identifier: MIT
# Tests of gpumap rehearse, most of which need PyTorch.
rehearse_tests = tests/rehearse/rehearse.test tests/rehearse/seeds.test
TESTS += $(rehearse_tests)
$(rehearse_tests:.test=.log): $(command_built) rehearse/tree
EXTRA_DIST += $(rehearse_tests) tests/rehearse/ddp.py tests/rehearse/parts.py tests/rehearse/single.py

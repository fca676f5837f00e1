# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # its variables are for the tests, and those of tests/cli/lib.sh
# What the tests of gpumap rehearse share, beside tests/cli/lib.sh.

# Sets with_torch to a Python that has PyTorch and numpy, or ends the test.
need_torch() {
	for with_torch in "$torch" python3; do
		[ -n "$with_torch" ] && "$with_torch" -c 'import torch, numpy' 2>/dev/null && break
		with_torch=
	done
	if [ -z "$with_torch" ] || sanitized; then
		skip 'GPUs of PyTorch' 'GPUMAP_TEST_TORCH names no Python that has PyTorch and numpy, or this build has sanitizers'
		done_testing
		exit
	fi
	with_torch=$(command -v "$with_torch")
}

# rehearse ARGUMENT...: on 4 GPUs, with a report
rehearse() {
	"$GPUMAP" rehearse --inventory 4xA100 --report report.json -- "$@"
}

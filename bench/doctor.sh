#!/bin/sh
# SPDX-License-Identifier: MIT
# doctor.sh GPUMAP USAGE: the CPU time and memory of gpumap doctor, beside PyTorch's collect_env, where
# there is a PyTorch. USAGE is the program made of usage.c. GPUMAP_TEST_TORCH names a Python that has it.
set -eu
gpumap=$1 usage=$2 runs=${3:-30}

# measure NAME COMMAND...: any status counts, since either may find something wrong
measure() {
	name=$1
	shift
	figures=$("$usage" "$runs" sh -c '"$@" || :' sh "$@")
	printf '%-44s%10s us%10s KiB\n' "$name" "${figures% *}" "${figures#* }"
}

for python in "${GPUMAP_TEST_TORCH:-}" python3 /usr/bin/python3 ''; do
	[ -z "$python" ] || ! "$python" -c 'import torch' 2>/dev/null || break
done
echo "median CPU time of $runs runs, greatest memory, each with the shell that starts it"
measure 'sh alone' true
measure 'gpumap doctor' "$gpumap" doctor
if [ "$python" ]; then
	python=$("$python" -c 'import sys; print(sys.executable)')
	measure 'gpumap doctor -- python3' "$gpumap" doctor -- "$python"
	runs=5
	measure 'python3 -m torch.utils.collect_env (5 runs)' "$python" -m torch.utils.collect_env
fi

#!/bin/sh
# SPDX-License-Identifier: MIT
# start.sh GPUMAP ARRIVE [ROUNDS]: milliseconds from the start of a launcher to the last main() of
# 8, 64 and 512 ranks, for gpumap run, mpirun and torchrun alternately. Each is the median of ROUNDS
# starts (5); torchrun's is the lower of at most two, because such a start takes a second. ARRIVE is the
# program made of arrive.c. A dash marks a launcher that is missing or fails.
set -eu
gpumap=$1 arrive=$2 rounds=${3:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=
for candidate in python3 /usr/bin/python3; do
	[ "$python" ] || ! "$candidate" -c 'import torch.distributed.run' 2>/dev/null || python=$candidate
done
OMP_NUM_THREADS=1
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_hwloc_base_binding_policy=none
export OMP_NUM_THREADS OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
	OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy

# one LAUNCHER RANKS: one start
one() {
	case $1 in
	gpumap) set -- "$2" "$gpumap" run --gpus none --cpu-bind none --ranks "$2" -- ;;
	mpirun) set -- "$2" mpirun -np "$2" ;;
	torchrun)
		set -- "$2" "$python" -m torch.distributed.run -r 1 -t 1 --log_dir "$folder/logs" \
			--master_addr=127.0.0.1 --no_python --nproc_per_node="$2"
		;;
	esac
	"$arrive" "$folder/clock" "$@" "$arrive" "$folder/clock" >"$folder/out" 2>&1 </dev/null && tail -n 1 "$folder/out"
}

median() {
	sort -n "$1" 2>/dev/null | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "-" }'
}

ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { if (b == "-") print "-"; else printf "%.1f\n", b / a }'
}

printf '%-8s%12s%12s%12s%10s%10s\n' ranks 'gpumap ms' 'mpirun ms' 'torchrun ms' mpirun torchrun
for ranks in 8 64 512; do
	rm -f "$folder"/times.*
	round=0
	while [ "$round" -lt "$rounds" ]; do
		round=$((round + 1))
		for launcher in gpumap mpirun torchrun; do
			[ $launcher != torchrun ] || { [ "$python" ] && [ "$round" -le 2 ]; } ||
				continue
			one $launcher "$ranks" >>"$folder/times.$launcher" || true
		done
	done
	a=$(median "$folder/times.gpumap") b=$(median "$folder/times.mpirun") c=$(median "$folder/times.torchrun")
	printf '%-8s%12s%12s%12s%10s%10s\n' "$ranks" "$a" "$b" "$c" "$(ratio "$a" "$b")" "$(ratio "$a" "$c")"
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# sums.sh COLLECTIVE FOLDER [OPTION...]: bench/collective between 2 and 4 ranks of the CPU, as threads,
# as processes, and by MPI, whose module is in FOLDER; a missing module is reported.
program=$1 folder=$2
shift 2
for ranks in 2 4; do
	"$program" "$@" shm $ranks && "$program" "$@" shm $ranks processes || exit 1
done
if ! command -v mpirun >/dev/null 2>&1 || ! [ -e "$folder/gpumap-mpi.so" ]; then
	echo 'mpi: not here (it takes mpirun, and a build with Open MPI)'
	exit 0
fi
LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LD_LIBRARY_PATH OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
start='mpirun --oversubscribe --bind-to none -n'
if ! why=$($start 1 "$program" -r 1 -s 1024 mpi 2>&1); then
	echo "mpi: it does not start here: $(echo "$why" | head -n 1)"
	exit 0
fi
for ranks in 2 4; do
	$start $ranks "$program" "$@" mpi || exit 1
done

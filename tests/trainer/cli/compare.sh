# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # its variables are for the tests, and from tests/cli/lib.sh
#
# For tests that train. After tests/cli/lib.sh:
#
#	$train		gpumap-train		$mpirun		mpirun and its options, or empty
#
#	run NAME OPTIONS...	gpumap-train writes NAME.json; it has to end well
#	agree NAME A B [RELATIVE[,NORMS] [SPREAD [FROM]]]	losses of two runs, by compare-losses.py
#	make_data FOLDER TRAIN TEST [WRONG]		files of CIFAR-10's form

train=$builddir/gpumap-train
[ -x "$train" ] || skip_all 'NOTHING IS TRAINED: gpumap-train is not built'
have python3 || skip_all 'python3 is missing, LOSSES ARE NOT COMPARED: install python3'

# There may be more ranks than cores. A device with one thread does not wait for others that a busy machine delays.
OMP_NUM_THREADS=1
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
LD_LIBRARY_PATH=$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM LD_LIBRARY_PATH \
	PYTHONDONTWRITEBYTECODE

if ! [ -e "$builddir/.libs/gpumap-mpi.so" ]; then
	mpirun='' no_mpi='NOTHING IS TRAINED WITH MPI: built without it; install libopenmpi-dev'
elif ! have mpirun; then
	mpirun='' no_mpi='NOTHING IS TRAINED WITH MPI: mpirun is missing; install openmpi-bin'
else
	# Open MPI leaks.
	mpirun='env ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe --bind-to none' no_mpi=
fi

make_data() {
	python3 "$srcdir/tests/trainer/cli/make-data.py" "$@" || exit 99
}

agree() {
	agree_name=$1
	shift
	if agree_text=$(python3 "$srcdir/tests/trainer/cli/compare-losses.py" "$@" 2>&1); then
		ok "$agree_name: $agree_text"
	else
		not_ok "$agree_name" "$agree_text"
	fi
}

run() {
	run_name=$1
	shift
	limited "$train" --progress none --metrics "$run_name.json" "$@" >"$out" 2>"$err" && return
	not_ok "$run_name trains" "status $?: $(head -n 5 "$err")"
}

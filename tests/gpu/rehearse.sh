# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage rehearse: what programs find on a GPU beside what gpumap rehearse says of it.

stage_steps() {
	echo 'programs 20 programs with a GPU, and rehearsed: devices, errors, memory'
}

stage_ready() {
	find_python
	gpumap=$top/bin/gpumap
	[ -e "$top/VERSION" ] || gpumap=${GPUMAP_GPU_PROGRAMS:-$top/_build/main}/gpumap
	export gpumap
	[ -x "$gpumap" ] || skip_stage "there is no gpumap in ${gpumap%/*}: say ./dev build"
	LD_LIBRARY_PATH=$(rehearse_path) "$gpumap" --version >"$build/version.txt" 2>&1 ||
		skip_stage "gpumap does not start here: $(head -n 1 "$build/version.txt")"
	# shellcheck disable=SC2034 # of lib.sh
	stage_made_by="$gpu_name, sources $(sources_hash "$stage"), PyTorch $stage_pytorch"
}

stage_step() {
	case $1 in
	programs) step_programs ;;
	*) fail_step "there is no step '$1'" ;;
	esac
}

# The libraries of gpumap, which PyTorch does not need.
rehearse_path() {
	if [ -e "$top/VERSION" ]; then
		echo "$top/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	else
		echo "${LD_LIBRARY_PATH:-}"
	fi
}

# Lines "NAME PROGRAM ARGUMENTS"
programs_of() {
	for mistake in none module input labels ordinal numpy memory cpu caught; do
		echo "single-$mistake single.py $mistake 0"
	done
	echo 'words words.py'
}

# one NAME PROGRAM ARGUMENTS: on the GPU, and rehearsed, side by side. All write no bytecode beside the sources.
one() {
	name=$1 program=$top/tests/rehearse/$2
	shift 2
	"$python" "$here/rehearse-run.py" "$program" "$@" >"$name.gpu" 2>"$name.gpu.err" &
	on_gpu=$!
	LD_LIBRARY_PATH=$(rehearse_path) "$gpumap" rehearse --inventory machine.ini -- \
		"$python" "$here/rehearse-run.py" "$program" "$@" >"$name.rehearsed" 2>"$name.rehearsed.err"
	wait "$on_gpu"
}

step_programs() {
	export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
	LD_LIBRARY_PATH=$(rehearse_path) "$gpumap" inventory --save machine.ini >inventory.txt 2>&1 ||
		skip_step "gpumap inventory does not see this machine: $(tail -n 1 inventory.txt)"
	printf 'ran\tgpumap rehearse --inventory machine.ini -- python3 rehearse-run.py PROGRAM\n'
	programs_of >programs.txt
	begun=0 bad=0
	while read -r name program arguments; do
		# shellcheck disable=SC2086 # words
		one "$name" "$program" $arguments </dev/null &
		begun=$((begun + 1))
		[ $((begun % $(nproc))) -ne 0 ] || wait
	done <programs.txt
	wait
	while read -r name program arguments; do
		awk -f "$here/rehearse.awk" -v name="$name" "$name.gpu" "$name.rehearsed" || {
			bad=1
			for side in gpu rehearsed; do
				tail -n 3 "$name.$side.err" | sed "s/^/said	$name, $side: /"
			done
		}
	done <programs.txt
	return "$bad"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# gpumap-train, its libraries and its data, for the stages that run it.

# Sets programs, the folder of gpumap-train and of the test programs, programs_lib, that of the libraries that were
# packed with them, and programs_built, the file that describes how they were built.
find_programs() {
	built=${GPUMAP_GPU_PROGRAMS:-$top/_build/main}
	programs=$top/bin programs_lib=$top/lib
	if [ ! -e "$top/VERSION" ] && [ -e "$built/Makefile" ]; then
		programs=$build/programs/bin programs_lib=$build/programs/lib
		timeout "$(build_seconds)" make -C "$built" -j"$(nproc)" gpu-programs DIR="$build/programs" >"$build/programs.log" 2>&1 || {
			tail -n 20 "$build/programs.log" >&2
			bail_out "make gpu-programs failed in $built, or had no time left"
		}
	elif [ ! -e "$top/VERSION" ]; then
		programs=$built programs_lib=
	fi
	[ -x "$programs/gpumap-train" ] || bail_out \
		"there is no gpumap-train in $built: say ./dev build, or name a build by GPUMAP_GPU_PROGRAMS"
	programs_built=${programs%/bin}/build.txt
	export programs programs_lib
}

# ours OPTIONS...: gpumap-train as it was packed
ours() {
	LD_LIBRARY_PATH=$(ours_path) "$programs/gpumap-train" "$@"
}

ours_path() {
	echo "${programs_lib:+$programs_lib:}${library_path:+$library_path:}${LD_LIBRARY_PATH:-}"
}

# What a stage with gpumap-train on a GPU must have.
need_trainer() {
	find_programs
	need_libraries "$programs/gpumap-train"
	ours --version >"$build/version.txt" 2>&1 ||
		bail_out "gpumap-train does not start here: $(head -n 1 "$build/version.txt")"
	backends=$(sed -n 's/^backends: //p' "$build/version.txt")
	case " $backends " in
	*' cuda '*) ;;
	*) skip_stage "this gpumap-train has no backend cuda (backends: $backends)" ;;
	esac
	for name in $lacking; do
		case $name in
		libnccl.*) ;;
		*) skip_stage "$name was found nowhere: name its folder in LD_LIBRARY_PATH" ;;
		esac
	done
	need_driver
	find_data
	# shellcheck disable=SC2086 # words
	LD_LIBRARY_PATH=$(ours_path) timeout 60 "$tools/facts" libraries $opened >"$build/libraries.txt" 2>/dev/null
	# shellcheck disable=SC2034 # of lib.sh
	{
		stage_libraries=$build/libraries.txt
		stage_made_by="$gpu_name, sources $(sources_hash "$stage"), build $(programs_hash)$(
			awk -F '\t' '$4 ~ /^[1-9]/ { printf ", %s %s", $2, $4 }' "$build/libraries.txt")"
		stage_nvcc=$(build_value nvcc "$programs_built")
	}
}

# Programs that nothing describes are described by their bytes.
programs_hash() {
	if [ -e "$programs_built" ]; then
		short_hash <"$programs_built"
	else
		cat "$programs"/gpumap-train "$programs"/gpumap "$programs"/t-cuda-* "$programs/collective" \
			"$programs/exposed" 2>/dev/null | short_hash
	fi
}

# A runtime of CUDA wants a driver for its major version.
need_driver() {
	wants=$(printf '%s\n' "$opened" | sed -n 's/^libcublasLt\.so\.//p')
	has=$(awk -F '\t' '$1 == "cuda" { print int($2); exit }' "$build/facts.txt")
	[ "${has:-0}" -ge "${wants:-0}" ] || skip_stage \
		"the driver is for CUDA $has, and this gpumap-train was built with CUDA $wants: build it with CUDA $has"
}

# Sets data: images to train with, or "synthetic".
find_data() {
	data=synthetic
	for folder in "${GPU_DATA:-}" "$top/data" "$build/data"; do
		if [ "$folder" ] && [ -e "$folder/data_batch_1.bin" ]; then
			data=$(cd "$folder" && pwd)
			break
		fi
	done
	if [ "$data" = synthetic ]; then
		for python in $(pythons); do
			if "$python" "$top/tests/trainer/cli/make-data.py" "$build/data" 2000 500 2>/dev/null; then
				data=$build/data
				break
			fi
		done
	fi
	export data
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage kernels: the trainer's kernels against their references, as they were packed or built here by nvcc.

stage_steps() {
	echo 'small 20 kernels agree with their references, small shapes'
	echo 'large 40 the same with large shapes, and their speed'
	for tool in memcheck racecheck initcheck; do
		echo "$tool 40 compute-sanitizer finds nothing, $tool"
	done
}

stage_ready() {
	PATH=$PATH:/usr/local/cuda/bin
	export PATH
	kernels=$top/bin/kernels stage_nvcc=$(build_value nvcc "$top/build.txt")
	kernels_flags=$(build_value 'nvcc flags' "$top/build.txt")
	if ! starts "$kernels" || ! made_for "${kernels_flags%% *}"; then
		build_kernels
	fi
	export kernels
	# shellcheck disable=SC2034 # of lib.sh
	stage_made_by="$gpu_name, sources $(sources_hash kernels), nvcc $stage_nvcc $kernels_flags${seed:+, seed $seed}"
}

build_kernels() {
	command -v nvcc >/dev/null 2>&1 || skip_stage 'nvcc is missing: install the CUDA Toolkit'
	kernels_arch=$(arch_here)
	build_here kernels 'nvcc and a C++ compiler are needed'
	kernels=$build/kernels/kernels stage_nvcc=$(nvcc_version) kernels_flags="-arch=$kernels_arch -O2"
}

gpu_capability() {
	awk -F '\t' '$1 == "gpu" { print $7; exit }' "$build/facts.txt"
}

# What kernels are built for: the first GPU, by its number, since a record tells what was built.
arch_here() {
	case ${CUDA_ARCH:-$(gpu_capability)} in
	[1-9]*.*) echo "sm_$(gpu_capability | tr -d .)" ;;
	*) echo "${CUDA_ARCH:-native}" ;;
	esac
}

# made_for -arch=ARCH: such kernels run on the first GPU. Those of an older one of the same generation do.
made_for() {
	capability=$(gpu_capability)
	case $1 in
	-arch=all*) return 0 ;;
	-arch=sm_"${capability%.*}"[0-9]) [ "${1#-arch=sm_"${capability%.*}"}" -le "${capability#*.}" ] ;;
	*) false ;;
	esac
}

stage_step() {
	case $1 in
	small | large) compare "--$1" ;;
	memcheck | racecheck) step_sanitize "$1" ;;
	# It must find what is read too early, so memory stays unchanged.
	initcheck) step_sanitize initcheck --raw ;;
	*) fail_step "there is no step '$1'" ;;
	esac
}

# compare SHAPES: each line is in the record when it is known, and a kernel that ends its process is named there. The
# rest are tried in another process.
compare() {
	"$kernels" "$1" --record --seconds "${GPU_KERNEL_SECONDS:-20}" ${seed:+--seed "$seed"}
	compare_status=$?
	[ $compare_status -le 1 ] || fail_step "the program of the kernels ended with status $compare_status"
	return $compare_status
}

# step_sanitize TOOL OPTION...: the small trials again, watched
step_sanitize() {
	tool=$1
	shift
	command -v compute-sanitizer >/dev/null 2>&1 || skip_step 'compute-sanitizer is missing'
	compute-sanitizer --target-processes all --tool "$tool" --error-exitcode 77 "$kernels" --small --seconds 60 "$@" \
		${seed:+--seed "$seed"} >tap.txt 2>err.txt
	sanitize_status=$?
	grep -a -e '^not ok' -e '^Bail out' -A 1 tap.txt
	if [ $sanitize_status -eq 0 ] && grep -aq '^1\.\.[1-9]' tap.txt; then
		printf 'clean\t%s\n' "$(grep -a '^========= .*SUMMARY' tap.txt | tail -n 1)"
	elif grep -aqE -e '^(not )?ok ' -e '^========= .*(Invalid|Race|Uninitialized)' tap.txt; then
		grep -a -e '^not ok' -e '^=========' tap.txt | grep -av -e 'COMPUTE-SANITIZER$' >found.txt
		head -n 40 found.txt | sed 's/^/found	/'
		fail_step "$(head -n 1 found.txt)"
	else
		refusal=$(cat tap.txt err.txt | grep -a -m 1 '^========= .*[Ee]rror')
		skip_step "compute-sanitizer does not run: ${refusal:-$(cat tap.txt err.txt | grep -a . | tail -n 1)}"
	fi
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage kernels: the trainer's kernels against their references, as they were packed or built here by nvcc.

stage_steps() {
	echo 'compare 60 kernels agree with their references, and their speed'
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
	compare) step_compare ;;
	memcheck | racecheck) step_sanitize "$1" ;;
	# It must find what is read too early, so memory stays unchanged.
	initcheck) step_sanitize initcheck --raw ;;
	*) fail_step "there is no step '$1'" ;;
	esac
}

# tested TAP COMMAND...: returns its status, and prints what failed
tested() {
	tap=$1
	shift
	"$@" ${seed:+--seed "$seed"} >"$tap" 2>err.txt
	tested_status=$?
	grep -a '^not ok' "$tap"
	[ "$tested_status" -eq 0 ] && grep -aq '^1\.\.[1-9]' "$tap"
}

step_compare() {
	tested tap.txt "$kernels" --record kernels.tsv
	compare_status=$?
	[ -s kernels.tsv ] || fail_step "$(cat tap.txt err.txt | head -n 1)"
	cat kernels.tsv
	tail -n 3 err.txt >&2
	return $compare_status
}

# step_sanitize TOOL OPTION...: the small trials again, watched
step_sanitize() {
	tool=$1
	shift
	command -v compute-sanitizer >/dev/null 2>&1 || skip_step 'compute-sanitizer is missing'
	if tested tap.txt compute-sanitizer --tool "$tool" --error-exitcode 77 "$kernels" \
		--small "$@"; then
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

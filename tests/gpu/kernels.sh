# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage kernels: the trainer's kernels against their references, built here by nvcc.

stage_steps() {
	echo 'compare 60 kernels agree with their references, and their speed'
	for tool in memcheck racecheck initcheck; do
		echo "$tool 50 compute-sanitizer finds nothing, $tool"
	done
}

stage_ready() {
	PATH=$PATH:/usr/local/cuda/bin
	export PATH
	command -v nvcc >/dev/null 2>&1 || skip_stage 'nvcc is missing: install the CUDA Toolkit'
	kernels_arch=$(arch_here)
	make -C "$here" -j"$(nproc)" CC="$tools_cc" out="$build" CUDA_ARCH="$kernels_arch" kernels \
		>"$build/make.log" 2>&1 || {
		cat "$build/make.log" >&2
		bail_out 'the kernels cannot be built'
	}
	# shellcheck disable=SC2034 # of lib.sh
	{
		stage_nvcc=$(nvcc_version)
		stage_made_by="$gpu_name, sources $(sources_hash kernels), nvcc $stage_nvcc -arch=$kernels_arch${seed:+, seed $seed}"
	}
}

# What kernels are built for: the first GPU, by its number, since a record tells what was built.
arch_here() {
	capability=$(awk -F '\t' '$1 == "gpu" { print $8; exit }' "$build/facts.txt")
	case ${CUDA_ARCH:-$capability} in
	[1-9]*.*) echo "sm_${capability%.*}${capability#*.}" ;;
	*) echo "${CUDA_ARCH:-native}" ;;
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
	tested tap.txt "$build/kernels/kernels" --record kernels.tsv
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
	if tested tap.txt compute-sanitizer --tool "$tool" --error-exitcode 77 "$build/kernels/kernels" \
		--small "$@"; then
		printf 'clean\t%s\n' "$(grep -a '^========= .*SUMMARY' tap.txt | tail -n 1)"
	elif grep -aq '^1\.\.' tap.txt; then
		grep -a -e '^not ok' -e '^=========' tap.txt | grep -av -e 'COMPUTE-SANITIZER$' >found.txt
		head -n 40 found.txt | sed 's/^/found	/'
		fail_step "$(head -n 1 found.txt)"
	else
		skip_step "compute-sanitizer does not run: $(cat tap.txt err.txt | grep -a . | tail -n 1)"
	fi
}

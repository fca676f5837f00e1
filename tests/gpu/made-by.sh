# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# What results depend on: sources, flags and nvcc's version. A hash of programs would not do, because nvcc never writes
# the same bytes twice: no record would count on the next machine.

# sources_of STAGE: files below $top, a line each
sources_of() {
	measured='base libgpumap trainer kernels'
	case $1 in
	driver) set -- base libgpumap tools/cuda-driver.h tests/gpu/driver* ;;
	kernels) set -- kernels tests/trainer/kernels trainer/data/random.[ch] trainer/base/simd.[ch] tests/gpu/kernels* ;;
	train)
		# shellcheck disable=SC2086 # words
		set -- $measured tests/trainer/unit tests/trainer/fake tests/unit/unit.h bench/*.[ch] bench/sums.sh \
			tests/gpu/train.sh tests/gpu/*.awk
		;;
	rehearse) set -- base libgpumap pretend rehearse tests/rehearse tools/*rehearse* tests/gpu/rehearse* ;;
	peer)
		# shellcheck disable=SC2086 # words
		set -- $measured bench/gpu-peer.py bench/peer.py tests/gpu/peer.sh tests/gpu/speed.awk
		;;
	esac
	find "$@" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' -o -name '*.awk' \
		-o -name '*.sh' -o -name '*.py' \) | LC_ALL=C sort
}

# sources_hash STAGE
sources_hash() {
	(cd "$top" && sources_of "$1" | xargs sha256sum | short_hash)
}

short_hash() {
	sha256sum | cut -c 1-12
}

nvcc_version() {
	"${1:-nvcc}" --version 2>/dev/null | sed -n 's/.*release.*, V//p' | head -n 1
}

# build_value KEY FILE: a line of the file that describes a build
build_value() {
	sed -n "s/^$1	//p" "$2" 2>/dev/null | head -n 1
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# pack.sh programs SOURCE LIBTOOL DIR PROGRAM...: what `make gpu-programs` does, in the build folder:
#	programs to DIR/bin, stripped, and the libraries that they load to DIR/lib, with the module for
#	MPI, and to where gpumap looks for it what it pretends GPUs with. The system's own (libc, the compiler's), MPI's and NVIDIA's are looked for where they run.
#	DIR/build.txt describes how they were built.
# pack.sh bundle SOURCE DIR FILE: what `make gpu-bundle` does: DIR, which has the programs, and in DIR/built what
#	tests/gpu/Makefile built, gets sources, data and run-all, and FILE, a tar.gz, all of it. GPU_DATA is a
#	folder with CIFAR-10's binary files (data_batch_N.bin, or train_10000.bin and test_2000.bin; packed with
#	xz or not), of which 4,000 images to train with and 1,000 to test with are taken; without it 2,000 are made.
#	GPU_FORM=small leaves out images and what only stage peer needs.
# The other machine needs a shell, awk, tar and gzip, and a C compiler where these programs do not start.
set -u

# Bytes of the bundle: 64 MiB less the sources, which a machine may get with it
case ${GPU_FORM:-whole} in
whole) limit=57000000 ;;
small) limit=34000000 ;;
*) echo "gpu-bundle: GPU_FORM is '$GPU_FORM'; whole and small are" >&2 && exit 2 ;;
esac

die() {
	echo "gpu-bundle: $*" >&2
	exit 1
}

# --- programs -----------------------------------------------------------------------------

# Libraries that this program loads, but for those of any system.
libraries_of() {
	ldd "$1" | awk '
		/=> not found/ { print "not-found " $1; next }
		$2 == "=>" && $3 ~ /^\// {
			name = $1; sub(/.*\//, "", name)
			if (name !~ /^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux.*)\.so/ &&
			    name !~ /^lib(cud|cublas|nccl|nv)/)
				print name, $3
		}'
}

pack_programs() {
	libtool=$1 dir=$2
	shift 2
	rm -rf "${dir:?}/bin" "${dir:?}/lib"
	mkdir -p "$dir/bin" "$dir/lib" || exit 1
	for program in "$@"; do
		# libtool warns that its library is not installed, which it need not be.
		# shellcheck disable=SC2086 # libtool is a command with arguments
		$libtool --mode=install install -c "$program" "$dir/bin/${program##*/}" >"$dir/install.log" 2>&1 ||
			die "$program cannot be copied: $(tail -n 1 "$dir/install.log")"
		strip "$dir/bin/${program##*/}" || exit 1
		LD_LIBRARY_PATH=$PWD/libgpumap/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
			libraries_of "$dir/bin/${program##*/}"
	done | sort -u >"$dir/libraries.txt" || exit 1
	while read -r name file; do
		[ "$name" != not-found ] || die "$file, which a program loads, is not found"
		cp -L "$file" "$dir/lib/$name" && chmod u+w "$dir/lib/$name" && strip "$dir/lib/$name" || exit 1
	done <"$dir/libraries.txt"
	# gpumap-train opens it by its name, where there is MPI.
	if [ -e .libs/gpumap-mpi.so ]; then
		cp -L .libs/gpumap-mpi.so "$dir/lib" && strip "$dir/lib/gpumap-mpi.so" || exit 1
	fi
	rm -f "$dir/libraries.txt" "$dir/install.log"
	for program in "$@"; do
		[ -x "$dir/bin/${program##*/}" ] || die "$program was not copied"
	done
	pack_pretended
	describe_build >"$dir/build.txt"
}

# installed NAME: a folder of the Makefile below the prefix, as gpumap finds it below the folder of its own
installed() {
	# shellcheck disable=SC2016 # variables of make
	printf 'include Makefile\nshow-folder:\n\t@echo $(patsubst $(prefix)/%%,%%,$(%s))\n' "$1" |
		env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES make -s --no-print-directory -f - show-folder | tail -n 1
}

# The library of gpumap pretend, and the Python part of gpumap rehearse, which is packed with the sources.
pack_pretended() {
	[ -e pretend/.libs/libnvidia-ml.so.1 ] || return 0
	folder=$(installed pretenddir) part=$(installed rehearsedir)
	case $folder:$part in
	:* | *: | /* | *:/*) die "make knows no folders below the prefix for gpumap pretend: '$folder' and '$part'" ;;
	esac
	mkdir -p "$dir/$folder" "$dir/${part%/*}" &&
		cp -L pretend/.libs/libnvidia-ml.so.1 "$dir/$folder" && strip "$dir/$folder/libnvidia-ml.so.1" || exit 1
	ln -sfn "$(printf '%s' "${part%/*}" | sed 's#[^/]*#..#g')/rehearse" "$dir/$part" || exit 1
}

# makefile_value NAME: of the build folder, with words that one space divides
makefile_value() {
	sed -n "s/^$1 = //p" Makefile | head -n 1 | xargs
}

# Whoever builds the same sources the same way has the same lines, wherever that is.
describe_build() {
	flags=
	for name in CPPFLAGS HARDENING_CFLAGS SANITIZER_CFLAGS COVERAGE_CFLAGS CFLAGS LDFLAGS; do
		flags="$flags $(makefile_value $name)"
	done
	# shellcheck disable=SC2046 # a command with arguments
	printf 'compiler\t%s\n' "$($(makefile_value CC) --version 2>/dev/null | head -n 1)"
	printf 'flags\t%s\n' "$(printf '%s' "$flags" | xargs)"
	printf 'configured\t%s\n' "$(short_hash <config.h)"
	nvcc=$(makefile_value NVCC)
	[ -z "$nvcc" ] || printf 'nvcc\t%s\nnvcc flags\t%s\n' "$(nvcc_version "$nvcc")" \
		"-arch=$(makefile_value CUDA_ARCH) $(makefile_value NVCCFLAGS)"
}

# --- data -----------------------------------------------------------------------------------

record=3073

# images NAME: the file NAME or NAME.xz of GPU_DATA to standard output
images() {
	if [ -e "$GPU_DATA/$1" ]; then
		cat "$GPU_DATA/$1"
	elif [ -e "$GPU_DATA/$1.xz" ]; then
		xz -dc "$GPU_DATA/$1.xz"
	else
		die "GPU_DATA=$GPU_DATA has no $1 and no $1.xz"
	fi
}

# part FIRST COUNT: so many images of standard input
part() {
	tail -c +$(($1 * record + 1)) | head -c $(($2 * record))
}

pack_data() {
	rm -rf "$1"
	[ "${GPU_FORM:-}" != small ] || return 0
	mkdir -p "$1" || exit 1
	if [ -z "${GPU_DATA:-}" ]; then
		python3 "$source/tests/trainer/cli/make-data.py" "$1" 2000 500 || die 'python3 makes no data'
		return
	fi
	for i in 1 2 3 4 5; do
		if [ -e "$GPU_DATA/train_10000.bin" ] || [ -e "$GPU_DATA/train_10000.bin.xz" ]; then
			images train_10000.bin | part $(((i - 1) * 800)) 800
		else
			images data_batch_$i.bin | part 0 800
		fi >"$1/data_batch_$i.bin"
	done
	if [ -e "$GPU_DATA/test_2000.bin" ] || [ -e "$GPU_DATA/test_2000.bin.xz" ]; then
		images test_2000.bin | part 0 1000
	else
		images test_batch.bin | part 0 1000
	fi >"$1/test_batch.bin"
	for file in "$1"/*.bin; do
		size=$(wc -c <"$file")
		if [ "$size" -eq 0 ] || [ $((size % record)) -ne 0 ]; then
			die "${file##*/} made of $GPU_DATA is not of CIFAR-10's form ($size bytes)"
		fi
	done
}

# --- the bundle -----------------------------------------------------------------------------

# The sources that the stages build, and those that their records depend on. They are small, so whole folders are packed.
pack_sources() {
	(cd "$source" && { for stage in driver kernels train peer rehearse; do sources_of $stage; done
		find base kernels libgpumap tests/gpu tests/trainer tools trainer -type f \
		\( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' -o -name '*.awk' \
		-o -name '*.sh' -o -name '*.py' -o -name Makefile -o -name run-all \) -print
		echo LICENSE; } | sort -u) >"$dir/.files" || exit 1
	(cd "$source" && tar -cf - -T "$dir/.files") | (cd "$dir" && tar -xf -) || exit 1
	rm -f "$dir/.files"
	[ "${GPU_FORM:-}" != small ] || rm -f "$dir"/bench/*peer.py
	cat >"$dir/run-all" <<'RUN'
#!/bin/sh
# SPDX-License-Identifier: MIT
exec "$(dirname "$0")/tests/gpu/run-all" "$@"
RUN
	chmod +x "$dir/run-all"
}

# What tests/gpu/Makefile built, beside the other programs.
pack_tools() {
	for file in facts driver-visible kernels/kernels; do
		if [ -x "$dir/built/$file" ]; then
			cp "$dir/built/$file" "$dir/bin" && strip "$dir/bin/${file##*/}" || exit 1
		fi
	done
	rm -rf "$dir/built"
	[ -x "$dir/bin/facts" ] || die "$dir/built has no programs of tests/gpu/Makefile"
}

# commands_of TARGET: what make would run. Compilations run side by side, and all are over before a program is linked.
commands_of() {
	# shellcheck disable=SC2016 # names for the script
	(
		unset MAKEFLAGS MFLAGS MAKEOVERRIDES
		make -n -B --no-print-directory -C "$source/tests/gpu" out='"$$out"' CC='$$CC' NVCC='$$NVCC' CUDA_ARCH='$$CUDA_ARCH' \
			cuda_root='$$cuda_root' "$1"
	) | awk '
		{ command = command $0 }
		sub(/\\$/, " ", command) { next }
		command ~ / -c -o / { print command " & pids=\"$pids $!\""; command = ""; next }
		command ~ / -o / { print "all_over" }
		{ print command; command = "" }'
}

# build.sh does what tests/gpu/Makefile does, where make is missing.
write_build_script() {
	cat <<'SCRIPT'
#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh all|kernels: what tests/gpu/Makefile does, without make. out is the folder to build in, CC the C compiler;
# NVCC and CUDA_ARCH are for the kernels. Written by tests/gpu/pack.sh.
set -eu
cd "$(dirname "$0")/tests/gpu"
: "${CC:=cc}" "${NVCC:=nvcc}" "${CUDA_ARCH:=native}"
mkdir -p "$out"
pids=

all_over() {
	for pid in $pids; do
		wait "$pid"
	done
	pids=
}

case $1 in
all)
SCRIPT
	commands_of all
	cat <<'SCRIPT'
;;
kernels)
: >"$out/empty.cu"
cuda_root=$($NVCC --dryrun "$out/empty.cu" 2>&1 | sed -n 's/^#\$ TOP=//p')
SCRIPT
	commands_of kernels
	cat <<'SCRIPT'
;;
*)
	echo "build.sh: there is no $1" >&2
	exit 2
	;;
esac
SCRIPT
}

write_version() {
	commit=$(git -C "$source" describe --always --dirty 2>/dev/null)
	"$dir/bin/gpumap" --version 2>/dev/null | head -n 1 |
		sed "s/\$/, commit ${commit:-unknown}, packed $(date -u +%Y-%m-%dT%H:%MZ)/"
	LD_LIBRARY_PATH=$dir/lib "$dir/bin/gpumap-train" --version
}

# The bundle must not depend on where it was packed: texts have no path of it, and programs do not look for libraries
# in the build. They may look in the folder of an installation.
check_paths() {
	for path in "$source" "$PWD"; do
		found=$(grep -rlIF -e "$path/" "$dir" | head -n 3)
		[ -z "$found" ] || die "$path stands in $found"
	done
	for file in "$dir"/bin/* "$dir"/lib/*; do
		! readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -qF '/.libs' ||
			die "${file##*/} looks for libraries in this build"
	done
}

pack_bundle() {
	dir=$1 packed=$2
	pack_sources
	write_build_script >"$dir/build.sh" && sh -n "$dir/build.sh" || exit 1
	pack_tools
	pack_data "$dir/data"
	write_version >"$dir/VERSION" || exit 1
	check_paths
	tar -C "$(dirname "$dir")" --owner=0 --group=0 -cf - "$(basename "$dir")" | gzip -9 >"$packed" || exit 1
	size=$(wc -c <"$packed")
	[ "$size" -le "$limit" ] || die "$packed has $size bytes, more than $limit: $(du -a "$dir" |
		sort -rn | sed -n '2,6p' | tr '\t\n' '  ')"
	echo "$packed: $size bytes; unpack it, and say ./run-all --help there"
}

[ $# -ge 4 ] || die 'see the head of pack.sh'
what=$1 source=$(cd "$2" && pwd) || exit 1
# shellcheck source=tests/gpu/made-by.sh
. "$source/tests/gpu/made-by.sh"
shift 2
case $what in
programs) pack_programs "$@" ;;
bundle) pack_bundle "$@" ;;
*) die "there is no '$what'" ;;
esac

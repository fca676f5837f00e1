# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of lib.sh
# For tests of tests/gpu.

# make_compilers FOLDER: nvcc and cc there. As the real one, this nvcc never writes the same bytes twice. Its kernels are a
# script that agrees with everything. cc is the real one, but for objects that go with kernels.
make_compilers() {
	mkdir -p "$1"
	cat >"$1/nvcc" <<'SH'
#!/bin/sh
case " $* " in
*' --version '*) echo "Cuda compilation tools, release 77.1, V${NVCC_VERSION:-77.1.5}" && exit ;;
*' --dryrun '*) echo '#$ TOP=/nonexistent' >&2 && exit ;;
esac
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho ok 1 - a; echo 1..1; echo "check	a" >kernels.tsv # %s\n' "$(od -An -N8 -tx1 /dev/urandom)" >"$2"
chmod +x "$2"
SH
	cat >"$1/cc" <<SH
#!/bin/sh
case " \$* " in
*/kernels/*.o*) while [ "\$1" != -o ]; do shift; done && : >"\$2" ;;
*) exec '$(command -v cc)' "\$@" ;;
esac
SH
	chmod +x "$1/nvcc" "$1/cc"
}

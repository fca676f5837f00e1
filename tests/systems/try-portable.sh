#!/bin/sh
# SPDX-License-Identifier: MIT
# try-portable.sh ARCHIVE: what an ordinary user does with the portable build on a system that has nothing. It prints the
# seconds from the archive to the first answer. As root it makes that user:
#	tests/systems/bare-root.sh --bring FOLDER bullseye -- tests/systems/try-portable.sh '/brought/*-x86_64.tar.gz'
set -eu
if [ "$(id -u)" -eq 0 ]; then
	id ann >/dev/null 2>&1 || useradd --create-home ann
	exec runuser -u ann -- "$0" "$@"
fi
cd "$(mktemp -d)"
# shellcheck disable=SC2086 # a pattern
archive=$(ls $1)
begin=$(date +%s%N)
tar -xzf "$archive"
first=$(echo gpumap-*/bin/gpumap)
answer=$("$first" --visible 2,3,4,5 --device 1)
end=$(date +%s%N)

expect() {
	case $2 in
	*"$1"*) echo "ok - $1" ;;
	*)
		printf 'not ok - %s: %s\n' "$1" "$2"
		exit 1
		;;
	esac
}

expect 'cuda:1 is physical GPU 3' "$answer"
mv gpumap-* there
gpumap=$PWD/there/bin/gpumap
export GPUMAP_LEASES="$PWD/leases"
expect '8 GPUs, from nvml' "$("$gpumap" pretend --inventory 8xH100 -- "$gpumap" inventory)"
# shellcheck disable=SC2016 # the inner shell expands it
expect 'leased 0,1' "$("$gpumap" pretend --inventory 8xH100 -- "$gpumap" pick 2 -- sh -c 'echo "leased $CUDA_VISIBLE_DEVICES"')"
expect '4 ranks on 1 host' "$("$gpumap" plan --inventory 8xH100 --ranks 4 --device cuda:%l -- true)"
echo 'import torch; x = torch.zeros(1).cuda(7)' >a.py
expect 'a.py:1' "$("$gpumap" lint --inventory 4 a.py 2>&1 || true)"
echo "seconds from the archive to the answer: $(((end - begin) / 1000000)) ms"

#!/bin/sh
# SPDX-License-Identifier: MIT
# ps.sh GPUMAP USAGE [PROCESSES]: what gpumap ps costs on a pretended machine of 8 GPUs, on which as many
# processes run. USAGE is the program made of usage.c. Calls of NVML are counted by callgrind.
set -eu
gpumap=$(realpath "$1") usage=$(realpath "$2") processes=${3:-500}
folder=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
i=0
while [ "$i" -lt "$processes" ]; do
	sleep 100000 &
	pids="$pids $!"
	echo "$((i % 8)) $! 20" >>use
	i=$((i + 1))
done
for i in 0 1 2 3 4 5 6 7; do
	printf '%s load 90\n%s temperature 40\n%s mode default\n' $i $i $i >>use
done
GPUMAP_PRETEND_USE=$folder/use
export GPUMAP_PRETEND_USE
# What the command does after the library is found: pretend becomes it, with the same environment.
"$gpumap" pretend --inventory 8xH100 env >environment
while IFS= read -r line; do
	case $line in
	LD_LIBRARY_PATH=* | GPUMAP_PRETEND_*) export "${line%%=*}=${line#*=}" ;;
	esac
done <environment

row() {
	printf '%-28s%12s%14s\n' "$@"
}
row "8 GPUs, $processes processes" 'CPU us' 'memory KiB'
for command in 'inventory' 'inventory --usage' 'ps' 'ps --json'; do
	# shellcheck disable=SC2086 # words
	measured=$("$usage" 21 "$gpumap" $command)
	row "gpumap $command" "${measured% *}" "${measured#* }"
done
command -v valgrind >/dev/null 2>&1 || exit 0
for command in 'inventory' 'ps'; do
	# shellcheck disable=SC2086 # words
	valgrind -q --tool=callgrind --compress-strings=no --callgrind-out-file=calls "$gpumap" $command >/dev/null
	awk -v command="$command" '
		/^fn=/ { inside = /^fn=nvml[A-Z]/ }
		/^cfn=nvml[A-Z]/ { callee = !inside }
		/^calls=/ {
			if (callee) {
				split($1, part, "=")
				count += part[2]
			}
			callee = 0
		}
		END { printf "gpumap %s: %d calls of NVML\n", command, count }' calls
done

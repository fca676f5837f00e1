#!/bin/sh
# SPDX-License-Identifier: MIT
# cli.sh GPUMAP USAGE: what "gpumap --visible 2,3,4,5 --device 1" costs, beside python3 that
# does nothing. USAGE is the program made of usage.c. Python's path is resolved first: what
# stands in $PATH may be a script that looks for the real one.
#
# "calls of main" are the system calls after the dynamic linker's last one, which lets go of
# ld.so.cache: the munmap(2) after the last library was opened. (Python opens libraries all
# along: for it they are those after its last.)
set -eu
gpumap=$1 usage=$2 runs=${3:-300}
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || python=
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
set -- "$gpumap" --visible 2,3,4,5 --device 1

# calls: how many of them are in the trace, and how many calls at all
calls() {
	awk '/^[0-9 ]*openat\(.*\.so/ { last = NR }
		{ line[NR] = $0 }
		END {
			for (i = last; i < NR && line[i] !~ /munmap\(/; i++)
				;
			for (i++; i <= NR; i++)
				if (line[i] !~ /\+\+\+ exited/)
					count++
			print count + 0, NR
		}' "$trace"
}

row() {
	printf '%-38s%10s%12s%14s%12s\n' "$@"
}

# measure NAME COMMAND...: sets cpu and memory, and prints a row
measure() {
	name=$1
	shift
	cpu=$("$usage" "$runs" "$@")
	memory=${cpu#* } cpu=${cpu% *} counted='- -'
	if command -v strace >/dev/null 2>&1; then
		strace -f -o "$trace" "$@" >/dev/null
		counted=$(calls)
	fi
	row "$name" "$cpu" "$memory" "${counted% *}" "${counted#* }"
}

row "median of $runs runs" 'CPU us' 'memory KiB' 'calls of main' 'all calls'
measure 'gpumap --visible 2,3,4,5 --device 1' "$@"
own_cpu=$cpu own_memory=$memory
measure 'gpumap --version' "$gpumap" --version
if [ "$python" ]; then
	measure 'python3 -c pass' "$python" -c pass
	awk -v a="$own_cpu" -v b="$cpu" -v c="$own_memory" -v d="$memory" \
		'BEGIN { printf "gpumap : python3 = 1 : %.1f of CPU time, 1 : %.1f of memory\n", b / a, d / c }'
fi

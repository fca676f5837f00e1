#!/bin/sh
# SPDX-License-Identifier: MIT
# tests.sh BUILD [TEST...]: runs the tests, all if none is named, and prints for each what it took: seconds of
# CPU time (user and system), seconds that went by, and its status. The first hardly depends on what else
# the machine does. Environment: JOBS, tests at a time (1).
set -u

# of_times: the seconds of the last line of what the shell's times writes, 0m1.5s 0m0.25s
of_times() {
	awk '{ split($1, u, /[ms]/); split($2, s, /[ms]/) }
		END { print 60 * (u[1] + s[1]) + u[2] + s[2] }'
}

if [ "${1:-}" = --one ]; then
	file=$2
	shift 2
	for name; do :; done
	begin=$(date +%s.%N)
	"$@"
	status=$?
	times >"$file.$$"
	# No test has a name with a blank.
	echo "$(of_times <"$file.$$") $(date +%s.%N) $begin ${name##*/tests/} $status" |
		awk '{ print $1, $2 - $3, $4, $5 }' >>"$file"
	rm -f "$file.$$"
	exit $status
fi

if [ $# -eq 0 ] || [ ! -e "$1/Makefile" ]; then
	echo 'usage: tests.sh BUILD [TEST...]: BUILD is a configured folder' >&2
	exit 2
fi
build=$1
shift
here=$(cd "$(dirname "$0")" && pwd) || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
one="/bin/sh $here/tests.sh --one $folder/times"
make -k -C "$build" -j"${JOBS:-1}" check LOG_COMPILER="$one" TEST_LOG_COMPILER="$one /bin/sh" \
	${1:+"TESTS=$*"} >"$folder/log" 2>&1
status=$?
[ -s "$folder/times" ] || { tail -n 20 "$folder/log" >&2; exit 1; }
printf '%8s %8s  %s\n' CPU time test
sort -rn "$folder/times" | awk '{
	cpu += $1
	printf "%8.2f %8.2f  %s%s\n", $1, $2, $3, $4 ? ", status " $4 : ""
} END { printf "%8.2f           all\n", cpu }'
exit $status

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # variables of the tests and of tests/cli/lib.sh
# What the tests of the launcher share, after tests/cli/lib.sh.
driver=$builddir/tests/launch/driver
writer=$builddir/tests/launch/writer

# part N: the Nth field of the last line of the result file
part() {
	awk -v n="$1" '$1 == "run" { print $n }' result
}

# alive WORD: how many processes have WORD as one of their arguments, zombies not counted
alive() {
	alive_count=0
	for alive_file in /proc/[0-9]*/cmdline; do
		tr '\0' '\n' <"$alive_file" 2>/dev/null | grep -qx -- "$1" &&
			alive_count=$((alive_count + 1))
	done 2>/dev/null
	echo "$alive_count"
}

# until_true SECONDS COMMAND...: tries again until it holds
until_true() {
	until_end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -le "$until_end" ] || return 1
		sleep 0.02
	done
}

gone() {
	[ "$(alive "$1")" -eq 0 ]
}

# lines FILE N: it has N lines
lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" -eq "$2" ]
}

# within FROM TO VALUE, in seconds
within() {
	awk -v a="$1" -v b="$2" -v x="$3" 'BEGIN { exit !(x >= a && x <= b) }'
}

# A word for sleep's argument that no other process has.
token=$((20000 + $$ % 10000)).$(date +%N)

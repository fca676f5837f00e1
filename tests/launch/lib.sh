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

# over PID: it has ended, collected or not
over() {
	! grep -q '^State:.[^Z]' /proc/"$1"/status 2>/dev/null
}

# guard_of PID: the launcher's only child. Other processes come and go while this looks.
guard_of() {
	for guard_file in /proc/[0-9]*/stat; do
		read -r guard_line <"$guard_file" || continue
		# shellcheck disable=SC2086 # words
		set -- "$1" ${guard_line##*) }
		[ "$3" != "$1" ] || echo "$guard_file" | tr -dc 0-9
	done 2>/dev/null
}

# wake_ups PID: how often a launcher and its guard were woken
wake_ups() {
	cat /proc/"$1"/status /proc/"$(guard_of "$1")"/status | awk '/ctxt/ { n += $2 } END { print n }'
}

# lines FILE N: it has N lines
lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" -eq "$2" ]
}

# within FROM TO VALUE, in seconds
within() {
	awk -v a="$1" -v b="$2" -v x="$3" 'BEGIN { exit !(x >= a && x <= b) }'
}

# Instrumented builds are slow and large: what is measured there proves nothing.
if nm "$driver" 2>/dev/null | grep -qE '__(asan|tsan)_init|__gcov'; then
	holds_here() {
		skip "$1" 'this build is instrumented'
	}
else
	holds_here() {
		holds "$@"
	}
fi

# A word for sleep's argument that no other process has.
token=$((20000 + $$ % 10000)).$(date +%N)

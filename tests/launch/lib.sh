# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # variables of the tests and of tests/cli/lib.sh
# What the tests of the launcher share, after tests/cli/lib.sh.
driver=$builddir/tests/launch/driver
writer=$builddir/tests/launch/writer

# part N: the Nth field of the last line of the result file
part() {
	awk -v n="$1" '$1 == "run" { print $n }' result
}

# alive WORD: how many processes have WORD as one of their arguments, zombies not counted, and not
# the one that looks for it
alive() {
	echo "$1" >"$trash/.word"
	grep -lszxF -f "$trash/.word" /proc/[0-9]*/cmdline | wc -l
}

gone() {
	[ "$(alive "$1")" -eq 0 ]
}

# guard_of PID, keeper_of PID: a launcher's children. Other processes come and go while this looks.
child_of() {
	for child_file in /proc/[0-9]*/stat; do
		read -r child_line <"$child_file" || continue
		case $child_line in
		*" ($2) "?" $1 "*) echo "${child_line%% *}" ;;
		esac
	done 2>/dev/null
}
guard_of() {
	child_of "$1" rank-guard
}
keeper_of() {
	child_of "$1" rank-keeper
}

# sleeps PID: a launcher and its guard are not woken for a second
sleeps() {
	sleeps_before=$(wake_ups "$1")
	sleep 1
	[ "$sleeps_before" = "$(wake_ups "$1")" ]
}
wake_ups() {
	cat /proc/"$1"/status /proc/"$(guard_of "$1")"/status | awk '/ctxt/ { n += $2 } END { print n }'
}

# lines FILE N: it has N lines
lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" -eq "$2" ]
}

# files PREFIX N: there are N files whose names begin with PREFIX
files() {
	[ "$(find . -name "$1*" | wc -l)" -eq "$2" ]
}

# stopped PID: by SIGSTOP
stopped() {
	grep -q '^State:.T' /proc/"$1"/status
}

# Instrumented builds are large: memory that is measured there proves nothing.
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

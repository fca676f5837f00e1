# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # its variables are for the tests, and those of tests/cli/lib.sh
# What tests of guards share, after tests/cli/lib.sh: a folder of leases, processes that can hold, and what they left.
without=$builddir/tests/lease/without
GPUMAP_LEASES=$trash/leases
GPUMAP_PRETEND_USE=$trash/use
export GPUMAP GPUMAP_LEASES GPUMAP_PRETEND_USE
: >use

# gpus COMMAND...: with 4 pretended GPUs
gpus() {
	"$GPUMAP" pretend --inventory 4xH100 -- "$@"
}

pick() {
	gpus "$GPUMAP" pick "$@"
}

# guards: PID TITLE of each guard of this test
guards() {
	for guards_pid in $(pgrep -x gpumap-lease); do
		tr '\0' '\n' <"/proc/$guards_pid/environ" | grep -qx "GPUMAP_LEASES=$GPUMAP_LEASES" &&
			echo "$guards_pid $(tr -d '\0' <"/proc/$guards_pid/cmdline")"
	done 2>/dev/null
}
no_guard() {
	test -z "$(guards)"
}
is_free() {
	pick 4 -- true
}
is_leased() {
	! is_free
}
# hold: a process that can hold, in $holder
hold() {
	sleep 100000 &
	holder=$!
	kill_at_exit "$holder"
}
# shellcheck disable=SC2086 # words
trap 'lease_status=$?; kill -9 $(guards | cut -d" " -f1) 2>/dev/null; (exit $lease_status); at_exit' EXIT

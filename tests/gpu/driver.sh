# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all
# Stage driver: a program of its own, which is quick and always does everything.

driver_stage() {
	driver_record=$build/driver-visible.tsv driver_begin=$(date +%s)
	build_tools
	"$tools/driver-visible" --record "$driver_record" "$@" >"$build/driver.tap"
	driver_status=$?
	cat "$build/driver.tap"
	# A skip and a wrong option leave no result.
	if grep -q '^1\.\.3$' "$build/driver.tap" && look_at_gpu; then
		mkdir -p "$build/results"
		{
			record_begin driver-visible "run-all driver $*"
			grep -v 'the record is' "$build/driver.tap"
			sed -n 's/^# //p' "$driver_record"
		} >"$build/results/driver.txt"
		record_end "$build/results/driver.txt" "$(result_of "$driver_status")" $(($(date +%s) - driver_begin))
	fi
	exit "$driver_status"
}

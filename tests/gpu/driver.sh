# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all
# Stage driver: a program of its own, which is quick and always does everything; as a step of all stages, in 80 seconds.

stage_steps() {
	echo "lists 90 CUDA_VISIBLE_DEVICES as the driver reads it"
}

stage_ready() {
	# shellcheck disable=SC2034 # of lib.sh
	stage_made_by="$gpu_name, sources $(sources_hash driver)"
}

stage_step() {
	ask_driver --values 2000 --seconds 80 ${seed:+--seed "$seed"}
	lists_status=$?
	cat driver.txt
	return $lists_status
}

# ask_driver OPTIONS...: leaves driver.tap, and driver.txt without what only TAP needs
ask_driver() {
	"$tools/driver-visible" --record "$build/driver-visible.tsv" "$@" >driver.tap
	ask_status=$?
	{
		grep -v 'the record is' driver.tap
		sed -n 's/^# //p' "$build/driver-visible.tsv"
	} >driver.txt
	return $ask_status
}

driver_stage() {
	driver_begin=$(date +%s)
	build_tools
	cd "$build" || exit 99
	ask_driver "$@"
	driver_status=$?
	cat driver.tap
	# A skip and a wrong option leave no result.
	if grep -q '^1\.\.3$' driver.tap && look_at_gpu; then
		stage_ready
		records=$build/records/driver
		mkdir -p "$records"
		record_begin lists "run-all driver $*" >"$records/lists.txt"
		cat driver.txt >>"$records/lists.txt"
		record_end "$records/lists.txt" "$(result_of "$driver_status")" $(($(date +%s) - driver_begin))
		gather_results
	fi
	exit "$driver_status"
}

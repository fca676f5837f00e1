# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage all: steps of all stages, those first that are worth most if the time of a GPU is short. Together they take at
# most 20 minutes. Left out is what is worth less than its time: types other than bf16 beside PyTorch and alone, two of
# three sizes of exposed communication, racecheck and initcheck, what needs no GPU, and what needs several.

# A line "STAGE STEP,STEP..." for each part
all_parts() {
	echo 'train speed-bf16-32,speed-bf16-512,speed-bf16-4096,losses-fp32,losses-bf16,bits-fp32,bits-bf16'
	echo 'kernels small,large'
	echo 'peer speed-bf16-32,speed-bf16-512,speed-bf16-4096'
	echo 'train test-t-cuda-gpu,resnet-single,resnet-sync,resnet50-64,burn,mode-dp,mode-ddp,mode-mp,resume,errors'
	echo 'train start,exposed-512,sums-nccl,accuracy,ncu'
	echo 'peer start'
	echo 'kernels memcheck'
	echo 'driver lists'
}

# Lines "STAGE STEP SECONDS TITLE" in order, then those of the steps that are left out
list_all() {
	all_parts | while read -r of steps; do
		sh "$here/run-all" "$of" --only "$steps" --list | sed "s/^/$of /"
	done >"$build/all.txt"
	cat "$build/all.txt"
	for of in train kernels peer; do
		sh "$here/run-all" "$of" --list | sed "s/^/$of /"
	done | awk 'NR == FNR { known[$1, $2] = 1; next } !(($1, $2) in known) { print "# left out: " $0 }' "$build/all.txt" -
}

all_stage() {
	read_options "$@"
	[ -z "$only" ] || stage_usage '--only is for a stage'
	[ "$list" = no ] || { list_all && exit 0; }
	# shellcheck disable=SC2034 # of lib.sh
	start=$(date +%s)
	build_tools
	look_at_gpu || skip_stage "$why_no_gpu"
	[ "$fresh" = no ] || rm -rf "$build/records" "$build/work"
	sed 's/^/# /' "$build/facts.txt"
	all_failed=0 all_waiting=0 part_pid=''
	echo 0 >"$build/number.txt"
	trap 'end_part 143' TERM
	trap 'end_part 130' INT
	trap 'end_part 129' HUP
	all_parts >"$build/parts.txt"
	while read -r of steps; do
		do_part "$of" "$steps"
		count_part $?
	done <"$build/parts.txt"
	echo "1..$(cat "$build/number.txt")"
	bring_back
	[ "$all_failed" -eq 0 ] || exit 1
	[ "$all_waiting" -eq 0 ] || exit 75
	exit 0
}

# do_part STAGE STEPS: a stage in the time that is left, if it is enough to look at the GPU. number.txt counts the tests
# of all parts.
do_part() {
	left=$(time_left)
	if [ "$left" -lt 10 ]; then
		echo "# no time left for $1 ($2): the same command does it"
		return 75
	fi
	sh "$here/run-all" "$1" --only "$2" --seconds "$left" --part "$build/number.txt" \
		${limit:+--limit "$limit"} ${seed:+--seed "$seed"} ${archive:+--archive "$archive"} </dev/null &
	part_pid=$!
	wait "$part_pid"
}

# count_part STATUS
count_part() {
	part_pid=''
	case $1 in
	0) ;;
	75) all_waiting=1 ;;
	*) all_failed=1 ;;
	esac
}

# end_part STATUS: the stage in progress ends its step and writes its records
end_part() {
	trap '' TERM INT HUP
	[ -z "$part_pid" ] || { kill -TERM "$part_pid" && wait "$part_pid"; }
	bring_back
	exit "$1"
}

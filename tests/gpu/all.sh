# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage all: steps of all stages for two calls of 230 and 420 seconds, those first that are worth most. First comes what
# shows whether anything runs, then what is right, then speed, then PyTorch's, and what it compiles at last. The limits
# of the steps of correctness fit the first call, those of all both. Left out is what is worth less than its time: types
# other than bf16 beside PyTorch and alone, exposed communication, a rank alone, compute-sanitizer, ncu, accuracy, a burn,
# faults, what needs no GPU, and what needs several.

# A line "STAGE STEP:LIMIT,STEP:LIMIT..." for each part
all_parts() {
	echo 'train first:120'
	echo 'kernels small:20'
	echo 'train losses-bf16:15,bits-bf16:10,test-t-cuda-gpu:35,mode-nccl:15'
	echo 'train speed-bf16-32:20,speed-bf16-512:20,speed-bf16-4096:20'
	echo 'kernels large:40'
	echo 'peer speed-bf16-32:45,speed-bf16-512:45,speed-bf16-4096:45'
	echo 'train losses-fp32:15,resume:10'
	echo 'rehearse programs:45'
	echo 'peer compiled-bf16-512:75'
}

# Lines "STAGE STEP SECONDS LIMIT TITLE" in order, then those of the steps that are left out
list_all() {
	all_parts | while read -r of steps; do
		sh "$here/run-all" "$of" --only "$steps" --list | sed "s/^/$of /"
	done >"$build/all.txt"
	cat "$build/all.txt"
	for of in train kernels peer rehearse; do
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
	rm -f "$build/pytorch.txt"
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

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage peer: gpumap-train beside PyTorch (bench/gpu-peer.py), alternating.
. "$here/programs.sh"

stage_steps() {
	for type in bf16 tf32 fp16; do
		for batch in 32 512 4096; do
			echo "speed-$type-$batch 130 $type, batch $batch: speed beside PyTorch's"
		done
		[ $type != bf16 ] || echo 'start 60 from the start to the end of the first step'
		[ $type != bf16 ] || echo 'memory 180 memory of the device at most'
	done
}

stage_ready() {
	find_python
	need_trainer
	stage_made_by="$stage_made_by, $torch"
	# What PyTorch compiles is kept, so that a step that ran out of time can go on with it.
	TORCHINDUCTOR_CACHE_DIR=$build/inductor
	export TORCHINDUCTOR_CACHE_DIR
}

# Sets python, one whose PyTorch sees the GPU.
find_python() {
	torch=''
	for python in $(pythons); do
		torch=$(timeout 120 "$python" -c \
			'import torch; assert torch.cuda.is_available(); print("PyTorch", torch.__version__)' 2>/dev/null)
		[ -z "$torch" ] || break
	done
	[ "$torch" ] || skip_stage 'no Python has a PyTorch that sees the GPU (GPUMAP_TEST_TORCH=PYTHON names one)'
	export python
}

stage_step() {
	case $1 in
	speed-*)
		type=${1#speed-}
		step_speed "${type%-*}" "${type##*-}"
		;;
	start | memory) "step_$1" ;;
	*) fail_step "there is no step '$1'" ;;
	esac
}

# peer WHAT OPTIONS...
peer() {
	"$python" "$top/bench/gpu-peer.py" "$@"
}

step_speed() {
	compare="compare --batch $2 --precision $1"
	for forms in eager,best,compiled,graph eager,best,compiled eager,best; do
		printf 'ran\tgpu-peer.py %s --forms %s\n' "$compare" "$forms"
		# shellcheck disable=SC2086 # words
		peer $compare --forms $forms --trainer "$programs/gpumap-train" --library-path \
			"$programs_lib:$library_path" 2>peer.err && return
		# A form may leave the GPU unusable for this process; then the last form is left out.
		printf 'failed with %s\t%s\n' "$forms" "$(tail -n 1 peer.err)"
		! grep -q '^gpumap-train: status' peer.err || exit 1
	done
	exit 1
}

# watched NAME COMMAND...: adds a line to watched.txt: the name, the seconds and the memory. If the form "compiled"
# fails, it is only reported.
watched() {
	name=$1
	shift
	if "$tools/facts" watch "$gpu_uuid" one.txt "$@" >out.txt 2>err.txt; then
		awk -v name="$name" '{ v[$1] = $2 } END { print name, v["seconds"], v["memory"] }' one.txt >>watched.txt
	elif [ "$name" = compiled ]; then
		printf 'no form\t%s\t%s\n' "$name" "$(tail -n 1 err.txt)"
	else
		fail_step "$name: $(tail -n 1 err.txt)"
	fi
}

# watch_ours BATCH STEPS, watch_peer FORM BATCH STEPS
watch_ours() {
	watched gpumap-train env LD_LIBRARY_PATH="$(ours_path)" "$programs/gpumap-train" --backend cuda \
		--model convnet --samples $((2 * $1)) --test-samples 1 --evaluate-every 0 \
		--progress none --precision bf16 --global-batch "$1" --steps "$2"
}

watch_peer() {
	watched "$1" "$python" "$top/bench/gpu-peer.py" one "$1" --batch "$2" --steps "$3"
}

# table COLUMN WORDS [GOAL]: prints for each name in watched.txt the median of a column, and how many times
# gpumap-train's it is. The second name meets the goal if that is at least GOAL.
table() {
	names=$(cut -d ' ' -f 1 watched.txt | awk '!seen[$0]++')
	for name in $names; do
		printf '%s %s\n' "$name" "$(awk -v name="$name" -v c="$1" '$1 == name { print $c }' watched.txt |
			sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')"
	done | awk -v words="$2" -v goal="${3:-0}" '
		NR == 1 { ours = $2 }
		{ printf "%s\t%s\t%s", words, $1, $2 }
		NR > 1 && ours + 0 > 0 { printf "\ttimes %.2f", $2 / ours }
		NR == 2 && goal && ours + 0 > 0 { printf "\tgoal %s: %s", goal, ($2 >= goal * ours) ? "met" : "MISSED" }
		{ print "" }'
}

step_start() {
	rm -f watched.txt
	for round in 1 2 3; do
		watch_ours 32 1
		watch_peer eager 32 1
		watch_peer best 32 1
		table 2 "so far	$round of 3	start, seconds, batch 32"
	done
	table 2 "start, seconds, batch 32, $round rounds" 5
}

step_memory() {
	for batch in 32 512 4096; do
		rm -f watched.txt
		watch_ours "$batch" 30
		for form in eager best compiled; do
			watch_peer $form "$batch" 30
		done
		table 3 "memory, bytes, batch $batch"
	done
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage peer: gpumap-train beside PyTorch (bench/gpu-peer.py), alternating.
. "$here/programs.sh"

stage_steps() {
	for type in bf16 tf32 fp16; do
		for batch in 32 512 4096; do
			echo "speed-$type-$batch 35 $type, batch $batch: speed beside PyTorch's"
		done
	done
	echo "resnet50-bf16-64 60 ResNet-50 at 224 x 224, bf16, batch 64: speed beside PyTorch's"
	echo 'start 60 from the start to the end of the first step'
	echo 'memory 60 memory of the device at most'
	for type in bf16 tf32 fp16; do
		for batch in 32 512 4096; do
			echo "compiled-$type-$batch 60 the same of what PyTorch compiles"
		done
	done
	echo 'compiled-resnet50-bf16-64 90 ResNet-50, and what PyTorch compiles'
	echo 'compiled-memory 180 memory of the compiled form'
}

stage_ready() {
	[ -e "$top/bench/gpu-peer.py" ] || skip_stage 'this bundle is small: one that is whole has the part for PyTorch'
	find_python
	need_trainer
	stage_made_by="$stage_made_by, PyTorch $stage_pytorch"
	# What PyTorch compiles is kept, so that a step that ran out of time can go on with it.
	TORCHINDUCTOR_CACHE_DIR=$build/inductor TRITON_CACHE_DIR=$build/inductor/triton
	export TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR
}

# What is compiled has steps of its own: to compile may take minutes.
stage_step() {
	model=convnet forms=step_speed name=$1
	case $1 in
	compiled-memory) step_memory compiled && return ;;
	compiled-*) forms=step_compiled name=speed-${1#compiled-} ;;
	esac
	case $name in
	speed-resnet50-* | resnet50-*) model=resnet50 name=speed-${name#*resnet50-} ;;
	esac
	type=${name#speed-}
	case $name in
	speed-*) $forms $model "${type%-*}" "${type##*-}" ;;
	start) step_start ;;
	memory) step_memory eager best ;;
	*) fail_step "there is no step '$1'" ;;
	esac
}

step_speed() {
	compare_forms eager,best 5 60 "$@" || fail_step "$(tail -n 1 peer.err)"
}

# Each form has a process of its own, for it may leave the GPU unusable. Each process alternates with gpumap-train.
step_compiled() {
	for form in compiled graph; do
		compare_forms $form 3 "${GPU_COMPILE_SECONDS:-60}" "$@" ||
			printf 'no form\t%s\tstatus %s: %s\n' $form $? "$(tail -n 1 peer.err)"
		! grep -q '^gpumap-train: status' peer.err || fail_step "$(tail -n 1 peer.err)"
	done
}

# compare_forms FORMS ROUNDS READY_SECONDS MODEL TYPE BATCH. What does not react in READY_SECONDS is ended.
compare_forms() {
	compare="compare --model $4 --batch $6 --precision $5 --forms $1 --rounds $2 --seconds 20 --ready-seconds $3"
	printf 'ran\tgpu-peer.py %s\n' "$compare"
	# shellcheck disable=SC2086 # words
	timeout -k 5 $((2 * $3 + 60)) "$python" "$top/bench/gpu-peer.py" $compare --trainer "$programs/gpumap-train" \
		--library-path "$programs_lib:$library_path" 2>peer.err
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

# step_memory FORM...
step_memory() {
	for batch in 32 512 4096; do
		rm -f watched.txt
		watch_ours "$batch" 30
		for form; do
			watch_peer "$form" "$batch" 30
		done
		table 3 "memory, bytes, batch $batch"
	done
}

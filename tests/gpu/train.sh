# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and lib.sh
# Stage train: gpumap-train on a GPU.
. "$here/programs.sh"

# A GPU is there for minutes, and each call takes two runs.
failing_calls=8

stage_steps() {
	echo 'first 40 the first run on this machine, and why it fails'
	for program in $(test_programs); do
		echo "test-${program##*/} 30 the tests of ${program##*/}"
	done
	for type in fp32 bf16 tf32 fp16; do
		echo "losses-$type 12 100 steps of SGD, the losses of the CPU"
	done
	for type in fp32 bf16 tf32 fp16; do
		echo "bits-$type 8 twice the same bits"
	done
	for mode in dp ddp mp nccl; do
		echo "mode-$mode 10 $mode on one card, the losses of single"
	done
	for mode in single ddp sync; do
		echo "resnet-$mode 12 ResNet-18, $mode: the losses of the CPU"
	done
	echo 'resnet-bits 10 ResNet-18 in bf16, twice the same bits'
	echo 'resnet50-64 60 ResNet-50 at 224 x 224 in bf16, images per second'
	echo 'burn 80 a burn finds nothing, and then a wrong bit'
	echo 'resume 10 a checkpoint, and the losses after it'
	echo "errors 50 $failing_calls calls that fail, and the checkpoint after them"
	echo 'one-rank 35 ddp of one rank takes what single takes'
	for batch in 32 512 4096; do
		echo "exposed-$batch 30 communication beside backward and behind it"
	done
	echo 'sums-nccl 15 all-reduce by NCCL, time by size'
	echo 'verify 160 gpumap verify finds nothing in ddp with NCCL'
	echo 'sums-cpu 60 all-reduce on the CPU, time by size'
	for type in bf16 fp16 tf32 fp32; do
		for batch in 32 512 4096; do
			echo "speed-$type-$batch 14 images per second"
		done
	done
	echo 'start 25 from the start to the first step, and memory'
	echo 'accuracy 80 test accuracy is that of the CPU'
	echo 'ncu 30 the kernels of a step, time and memory traffic'
}

# The test programs that were built with the real libraries; before they are built, their names in the build.
test_programs() {
	for program in "$top"/bin/t-cuda-* "$build"/programs/bin/t-cuda-*; do
		[ ! -x "$program" ] || echo "$program"
	done | grep . || sed -n 's#^gpu_tests += .*/\(t-cuda-.*\)#\1#p' "$top/tests/trainer/unit/local.mk" 2>/dev/null
}

stage_ready() {
	need_trainer
	# Now the test programs are built.
	chosen_steps >"$build/steps.txt" || exit 2
}

stage_step() {
	type=${1#*-}
	progress=none
	case $1 in
	losses-* | bits-* | mode-* | resnet-*) progress=lines ;; # what is timed has none
	esac
	case $1 in
	first) step_first ;;
	test-*) step_test "${1#test-}" ;;
	losses-*) step_losses "$type" 100 ;;
	bits-*) step_bits "$type" convnet 100 ;;
	mode-*) step_mode "$type" ;;
	resnet-bits) step_bits bf16 resnet18 30 ;;
	resnet-*) step_resnet "$type" ;;
	resnet50-*) step_resnet50 "$type" ;;
	one-rank) step_one_rank ;;
	exposed-*) step_exposed "$type" ;;
	sums-*) "step_sums_$type" ;;
	speed-*) step_speed "${type%-*}" "${type##*-}" ;;
	errors | resume | start | accuracy | verify | ncu | burn) "step_$1" ;;
	*) fail_step "there is no step '$1'" ;;
	esac
}

# --- running --------------------------------------------------------------------------------

# The options of a type: fp32 is exact, and without it TF32 is used.
precision_of() {
	case $1 in
	fp32) echo '--precision fp32 --exact' ;;
	tf32) echo '--precision fp32' ;;
	*) echo "--precision $1" ;;
	esac
}

# tell_run OPTIONS...: each command once, without where things are on this machine
tell_run() {
	told=$(printf 'ran\tgpumap-train %s\n' "$*" | sed "s#$data#DATA#g")
	grep -qxF -e "$told" ran.txt 2>/dev/null || echo "$told"
	echo "$told" >>ran.txt
}

# train METRICS OPTIONS...: a run must end well
train() {
	metrics=$1
	shift
	tell_run "$@"
	ours --progress "${progress:-none}" --evaluate-every 0 --metrics "$metrics" "$@" >"$metrics.out" 2>"$metrics.err" && return
	fail_step "gpumap-train: $(tail -n 1 "$metrics.err")"
}

# on_gpu METRICS OPTIONS...
on_gpu() {
	gpu_metrics=$1
	shift
	train "$gpu_metrics" --backend cuda "$@"
}

# The option of the fastest backend on the CPU.
cpu() {
	case " $(sed -n 's/^backends: //p' "$build/version.txt") " in
	*' onednn '*) echo '--backend onednn' ;;
	*) echo '--backend reference' ;;
	esac
}

# agree NAME STEPS TOLERANCE WANTED GOT
agree() {
	awk -v name="$1" -v steps="$2" -v tolerance="$3" -f "$here/losses.awk" "$4" "$5"
}

sgd='--model convnet --global-batch 64 --optimizer sgd --lr 0.01'

# --- steps ------------------------------------------------------------------------------------

# The first process on a machine loads gigabytes of libraries and may have to start the GPU. If the run fails, everything
# that tells why is in the record, and nothing is measured after it.
step_first() {
	begin=$(date +%s)
	tell_run --backend cuda --model convnet --global-batch 64 --steps 3 --precision bf16
	run_first 75 && { echo "first	$(($(date +%s) - begin)) s" && return; }
	first_status=$? first_words=$(tail -n 1 err.txt)
	sed 's/^/said	/' out.txt err.txt
	echo "path	$(ours_path)"
	LD_LIBRARY_PATH=$(ours_path) ldd "$programs/gpumap-train" 2>&1 | sed 's/^/ldd	/'
	sed 's/^/folder	/' "$build/folders.txt"
	CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=$PWD/cudnn.txt run_first 25
	tail -n 200 cudnn.txt 2>/dev/null | cut -c 1-500 | sed 's/^/cudnn	/'
	fail_step "gpumap-train: status $first_status: $first_words"
}

# run_first SECONDS
run_first() {
	LD_LIBRARY_PATH=$(ours_path) timeout -k 5 "$1" "$programs/gpumap-train" --backend cuda --model convnet \
		--samples 192 --test-samples 1 --global-batch 64 --steps 3 --precision bf16 --progress none \
		--evaluate-every 0 >out.txt 2>err.txt
}

# Runs a libcheck program of gpumap-train on this GPU. With CK_FORK=no the libraries are opened once, not for each test.
step_test() {
	for program in $(test_programs); do
		[ "${program##*/}" = "$1" ] || continue
		{
			LD_LIBRARY_PATH=$(ours_path) CK_FORK=no CK_VERBOSITY=silent CK_TAP_LOG_FILE_NAME=- "$program"
			echo $? >status.txt
		} | tee tap.txt
		printf 'tests\t%s ok\t%s not ok\n' "$(grep -c '^ok' tap.txt)" "$(grep -c '^not ok' tap.txt)"
		[ "$(cat status.txt)" -eq 0 ] && grep -q '^ok' tap.txt
		return
	done
	fail_step "there is no program $1"
}

# How far losses may be from the CPU's, relative: what a type rounds, grown over 100 steps.
tolerance_of() {
	case $1 in
	bf16) echo 5e-2 ;;
	*) echo 1e-2 ;;
	esac
}

# step_losses TYPE STEPS. The CPU computes exactly: half types are compared with what they stand for.
step_losses() {
	# shellcheck disable=SC2046,SC2086 # words
	{
		train cpu.json $(cpu) $sgd --data "$data" --steps "$2" --exact
		on_gpu gpu.json $sgd --data "$data" --steps "$2" $(precision_of "$1") $(deterministic)
	}
	case $1 in
	fp32) agree_early "losses $1" "$2" cpu.json gpu.json ;;
	*) agree "losses $1" "$2" "$(tolerance_of "$1")" cpu.json gpu.json ;;
	esac
}

# agree_early NAME STEPS WANTED GOT: the first ten losses agree. The rest is told, and must be finite. How far 10 losses of two programs that compute in float32 may be apart, relative. With
# convnet at batch 64 two things part them; u is 2^-24.
#
# Rounding. A sum of K products in another order differs by sqrt(2) u sqrt(K / 6) of its usual size. Layers have K = 27,
# 576, 8192 and 512, together 3.3e-6 of the logits, which are below 1: at most 1.5e-6 of a loss of 2.3.
#
# Choices. A maximum or a ReLU whose inputs are nearer than that takes another side: of 1.05 million windows of pool1
# 1.8e-7, of 524,288 of pool2 8.5e-7, of 32,768 units of fc1 2.5e-6, so 0.7 in a step and 7 in ten; more than 16 in one of
# 1,000 runs. One changes the gradient by 8e-4 of itself (bench/README.md), and the losses after it at most by that part
# of what a step lowers them, 1.1e-3 of themselves. 16 are 1.4e-5.
#
# 1.6e-5 in all, and twice that, as the gradients of two batches differ. A wrong step shows: a rate that is 1 % too high
# changes the tenth loss by 1e-4. Two orders of sums on a CPU differ by 5e-9 to 6e-8 in 10 steps and by up to 9e-6 in 20
# (6 seeds); after 20 to 60 steps the losses of any two programs diverge.
agree_early() {
	agree "$1, told" "$2" 1e-3 "$3" "$4" >told.txt
	cat told.txt
	! grep -qe 'NOT FINITE' -e 'is missing' told.txt && agree "$1, 10 steps" 10 3e-5 "$3" "$4"
}

# step_bits TYPE MODEL STEPS
step_bits() {
	for run in 1 2; do
		# shellcheck disable=SC2046 # words
		on_gpu "$run.json" --model "$2" --data "$data" --global-batch 128 --steps "$3" --augment \
			$(precision_of "$1") $(deterministic)
	done
	agree "bits $1" "$3" 0 1.json 2.json
}

# The option, if gpumap-train has it.
deterministic() {
	ours --help | grep -o -e '--deterministic' | head -n 1
}

# step_mode MODE: ranks on one card; nccl is ddp of one rank, with NCCL's sums.
step_mode() {
	mode=$1 devices=0,0,0,0 how=--allow-share
	case $1 in
	mp) devices=0,0,0 ;;
	nccl) need_nccl && mode=ddp devices=0 how='--collective nccl' ;;
	esac
	learn="$sgd --steps 50 --exact $(deterministic)"
	# shellcheck disable=SC2086 # words
	{
		on_gpu single.json $learn --data "$data"
		train "$1.json" --backend cuda --mode $mode --device-ids "$devices" $how $learn --data "$data"
	}
	agree_early "$1" 50 single.json "$1.json"
}

# step_resnet MODE. Losses of a ResNet diverge soon, so the rate is small. Two orders of sums on a CPU differ by 2e-7 to
# 3e-6 in 5 steps (3 seeds, in each mode); a rate that is 1 % too high by 1.2e-5 to 2e-5.
step_resnet() {
	learn="--model resnet18 --global-batch 64 --optimizer sgd --lr 0.0001 --steps 5 --exact"
	one='' several=''
	case $1 in
	ddp) one='--inventory 4' several='--device-ids 0,0,0,0 --allow-share --mode ddp' ;;
	sync) several='--device-ids 0,0,0,0 --allow-share --mode ddp --sync-batch-norm' ;;
	esac
	# shellcheck disable=SC2046,SC2086 # words
	{
		train cpu.json $(cpu) ${one:+--mode ddp $one} $learn --data "$data"
		on_gpu gpu.json $several $learn --data "$data" $(deterministic)
	}
	agree "ResNet-18, $1" 5 1e-5 cpu.json gpu.json
}

# step_resnet50 BATCH
step_resnet50() {
	for run in 1 2 3; do
		on_gpu "$run.json" --model resnet50 --image-size 224 --samples 1024 --test-samples 1 \
			--global-batch "$1" --optimizer sgd --momentum 0.9 --precision bf16 --steps 110
		speed_of "$run.json" bf16 "$1" >>speeds.txt || fail_step "$(cat speeds.txt)"
		so_far "$run of 3" "$(cut -d ' ' -f 1 speeds.txt | median) us a step"
	done
	middle=$(cut -d ' ' -f 1 speeds.txt | median)
	awk -v middle="$middle" -v batch="$1" '$1 == middle {
		printf "speed\tResNet-50\tbatch %s\t%s us a step\t%s images/s\n", batch, $1, $2; exit
	}' speeds.txt
	sed -n '/peak/,$p' 1.json.out | sed 's/^/memory	/'
}

# What a burn prints, with what it measured, is in the record. The wrong bit is one of the first GPU's.
step_burn() {
	burn '' 0
	burn flip:0 1
	grep -q "$gpu_uuid" out.txt || fail_step "a wrong bit was planted, and this GPU is not named"
}

# burn FAULT STATUS: which status it ends with
burn() {
	tell_run --burn 20s --backend cuda
	GPUMAP_TEST_BURN=$1 ours --burn 20s --backend cuda --progress none >out.txt 2>err.txt
	burn_status=$?
	sed "s/^/burn${1:+, $1}	/" out.txt err.txt
	[ "$burn_status" -eq "$2" ] || fail_step "status $burn_status, not $2: $(tail -n 1 err.txt)"
}

step_resume() {
	learn="--model convnet --data $data --global-batch 64 --augment $(deterministic)"
	# shellcheck disable=SC2086 # words
	{
		on_gpu whole.json $learn --steps 40
		on_gpu part.json $learn --steps 23 --checkpoint saved --checkpoint-every 10
		on_gpu part.json $learn --steps 40 --checkpoint saved --resume
	}
	agree resume 40 0 whole.json part.json
}

# One call of a run fails, and all calls after it. The run ends with one line that names the call, and its last
# checkpoint can be resumed with the same losses.
step_errors() {
	[ -x "$programs/train-inject" ] || skip_step 'there is no train-inject beside gpumap-train'
	learn="--backend cuda --model net28 --data $data --global-batch 64 --steps 24
		--progress none --evaluate-every 0 --checkpoint saved --checkpoint-every 5 $(deterministic)"
	# shellcheck disable=SC2086 # words
	tell_run $learn
	injected 0 whole.json || fail_step "train-inject: $(tail -n 1 err.txt)"
	calls=$(sed -n 's/^calls: //p' err.txt)
	awk -v n="$calls" 'BEGIN { srand(); for (i = 0; i < '"$failing_calls"'; i++) print 1 + int(n * rand()) }' >places.txt
	while read -r place; do
		rm -rf saved part.json
		if ! injected "$place" part.json >/dev/null; then
			if [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -Eq -e '^gpumap-train: no GPU: ' -e \
				'GPU [0-9]+( \([0-9A-Fa-f:.]+, GPU-[0-9a-f-]+\))?: (cu|kernel_)[A-Za-z0-9_]+: .*\([0-9]+\)' \
				err.txt || { grep -q '"type":"step"' part.json 2>/dev/null &&
				! grep -q '; after step [0-9]*$' err.txt; }; then
				fail_step "call $place of $calls: $(head -n 3 err.txt | tr '\n' ';')"
			fi
			printf 'call\t%s\t%s\n' "$place" "$(cat err.txt)"
			# shellcheck disable=SC2086 # words
			[ ! -d saved ] || ours $learn --resume --metrics part.json >out.txt 2>err.txt ||
				fail_step "call $place of $calls, resumed: $(tail -n 1 err.txt)"
			[ -d saved ] || continue
		fi
		agree "after call $place" 24 0 whole.json part.json || exit 1
	done <places.txt
	echo "calls	$calls in all, $failing_calls of them failed"
}

# injected PLACE METRICS: a run whose PLACE-th call fails; 0: none fails, and it prints how many calls it makes
injected() {
	inject=FAKE_CUDA_FAIL=$1
	[ "$1" -gt 0 ] || inject=FAKE_CUDA_COUNT=1
	# shellcheck disable=SC2086 # words
	env "$inject" LD_LIBRARY_PATH="$(ours_path)" timeout 60 "$programs/train-inject" $learn \
		--metrics "$2" >out.txt 2>err.txt
}

# fast METRICS TYPE BATCH STEPS OPTIONS...: images are made, enough for 12 steps of 4096
fast() {
	fast_metrics=$1 fast_type=$2 fast_batch=$3 fast_steps=$4
	shift 4
	# shellcheck disable=SC2046 # words
	on_gpu "$fast_metrics" --model convnet --samples 49152 --test-samples 1 --global-batch "$fast_batch" \
		--steps "$fast_steps" $(precision_of "$fast_type") "$@"
}

steps_of() {
	case $1 in
	32) echo 8050 ;;
	512) echo 2050 ;;
	*) echo 410 ;;
	esac
}

# speed_of METRICS TYPE BATCH: microseconds, images per second, the floor, times the floor
speed_of() {
	awk -v precision="$2" -v batch="$3" -f "$here/speed.awk" "$1"
}

# so_far ROUND WORDS: medians after each round, for a step that does not come to its end
so_far() {
	printf 'so far\t%s\t%s\n' "$1" "$2"
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

step_speed() {
	for run in 1 2 3; do
		fast "$run.json" "$1" "$2" "$(steps_of "$2")"
		speed_of "$run.json" "$1" "$2" >>speeds.txt || fail_step "$(cat speeds.txt)"
		so_far "$run of 3" "$(cut -d ' ' -f 1 speeds.txt | median) us a step"
	done
	middle=$(cut -d ' ' -f 1 speeds.txt | median)
	grep "^$middle " speeds.txt | head -n 1 | awk -v type="$1" -v batch="$2" '{
		printf "speed\t%s\tbatch %s\t%s us a step\t%s images/s\tfloor of an H200 %s us\ttimes floor %s\n",
			type, batch, $1, $2, $3, $4
	}'
	echo "runs	$(cut -d ' ' -f 1 speeds.txt | tr '\n' ' ')us"
	sed -n '/peak/,$p' 1.json.out | sed 's/^/memory	/'
	case $gpu_name in
	*H200*) goal=$(awk -v b="$2" 'BEGIN { print b <= 32 ? 2.0 : b <= 512 ? 1.7 : 1.6 }') ;;
	*) return 0 ;;
	esac
	[ "$1" = bf16 ] || return 0
	awk -v middle="$middle" -v goal="$goal" '$1 == middle {
		printf "goal\tat most %s times the floor\t%s\n", goal, $4 <= goal ? "met" : "MISSED"; exit
	}' speeds.txt
}

need_nccl() {
	collective=$(sed -n 's/^collectives: //p' "$build/version.txt")
	case " $collective " in
	*' nccl '*) ;;
	*) skip_step "this gpumap-train has no NCCL (collectives: $collective)" ;;
	esac
	case " $lacking " in
	*libnccl*) skip_step "${lacking# } was found nowhere: name its folder in LD_LIBRARY_PATH" ;;
	esac
}

# Both alternate, so that other work of the card affects both.
step_one_rank() {
	need_nccl
	for batch in 32 512; do
		rm -f single.txt ddp.txt
		for run in 1 2; do
			fast single.json bf16 $batch 4050
			fast ddp.json bf16 $batch 4050 --mode ddp --device-ids 0 --collective nccl
			for mode in single ddp; do
				speed_of $mode.json bf16 $batch >>$mode.txt || fail_step "$(tail -n 1 $mode.txt)"
			done
			so_far "$run of 2" "batch $batch	single $(cut -d ' ' -f 1 single.txt | median) us	ddp $(cut \
				-d ' ' -f 1 ddp.txt | median) us"
		done
		printf '%d %s %s\n' $batch "$(cut -d ' ' -f 1 single.txt | median)" \
			"$(cut -d ' ' -f 1 ddp.txt | median)" >>both.txt
	done
	awk '{
		more = 100 * ($3 / $2 - 1)
		printf "one rank\tbatch %d\tsingle %s us\tddp %s us\t%+.1f %%\n", $1, $2, $3, more
		if (more > 2)
			bad = 1
	} END { exit bad }' both.txt
}

# report_of NAME OPTIONS...: what a program beside gpumap-train reports about this machine
report_of() {
	[ -x "$programs/$1" ] || skip_step "there is no program $1 beside gpumap-train"
	printf 'ran\t%s\n' "$*"
	program=$1
	shift
	LD_LIBRARY_PATH=$(ours_path) "$programs/$program" "$@" 2>err.txt || fail_step "$(tail -n 1 err.txt)"
}

step_exposed() {
	report_of exposed -b "$1"
}

# Measures one rank, then a rank on each GPU. The sum of one rank in place moves nothing, so its time is the cost of a
# call.
step_sums_nccl() {
	need_nccl
	report_of collective nccl 1
	gpus=$(grep -c '^gpu	' "$build/facts.txt")
	[ "$gpus" -eq 1 ] || report_of collective nccl "$gpus"
}

# Ranks that train on all GPUs, which NCCL connects by mappings of their memory. Those are no stray contexts.
step_verify() {
	need_nccl
	[ -x "$programs/gpumap" ] || skip_step 'there is no gpumap beside gpumap-train'
	gpus=$(grep -c '^gpu	' "$build/facts.txt")
	[ "$gpus" -gt 1 ] || skip_step 'one GPU has no peer'
	verify_run isolate cuda:0
	verify_run list cuda:%l
}

# verify_run SHARE DEVICE: verify finds nothing once all ranks have used their GPUs
verify_run() {
	printf 'ran\tgpumap run --share %s --device %s -- gpumap-train --mode ddp --collective nccl\n' "$1" "$2"
	# shellcheck disable=SC2086 # options
	LD_LIBRARY_PATH=$(ours_path) "$programs/gpumap" run --share "$1" --device "$2" --console none -- \
		"$programs/gpumap-train" --backend cuda --mode ddp --collective nccl $sgd --data synthetic \
		--steps 1000000 --progress none --evaluate-every 0 >out.txt 2>err.txt &
	verify_pid=$!
	verified=99
	for look in $(seq 70); do
		sleep 1
		kill -0 "$verify_pid" 2>/dev/null || break
		"$programs/gpumap" verify --pid "$verify_pid" --json >verify.json 2>verify.txt
		verified=$?
		grep -q '"state":"unused"' verify.json || ! grep -q '"state":' verify.json || break
	done
	printf 'verify\t%s %s\tlooks %s\tstatus %s\n' "$1" "$2" "$look" "$verified"
	sed 's/^/said	/' verify.txt
	kill -0 "$verify_pid" 2>/dev/null || fail_step "the run ended: $(tail -n 1 err.txt)"
	kill "$verify_pid"
	wait "$verify_pid"
	grep -q '"state":"unused"' verify.json && fail_step 'after 70 s some rank has not used its GPU'
	[ "$verified" -eq 0 ] || fail_step "gpumap verify has status $verified"
}

step_sums_cpu() {
	[ -x "$programs/collective" ] || skip_step 'there is no program collective beside gpumap-train'
	printf 'ran\tsums.sh collective\n'
	LD_LIBRARY_PATH=$(ours_path) sh "$top/bench/sums.sh" "$programs/collective" "$programs_lib" \
		2>err.txt || fail_step "$(tail -n 1 err.txt)"
}

# Measures a run of one step: its time from start to end, and the memory of the card.
step_start() {
	for batch in 32 512 4096; do
		rm -f seconds.txt memory.txt
		for run in 1 2 3; do
			# facts starts it and watches it, so train() cannot.
			LD_LIBRARY_PATH=$(ours_path) "$tools/facts" watch "$gpu_uuid" watched.txt \
				"$programs/gpumap-train" --backend cuda --model convnet --samples $((2 * batch)) \
				--test-samples 1 --global-batch "$batch" --steps 1 --precision bf16 --progress none \
				--evaluate-every 0 >out.txt 2>err.txt || fail_step "gpumap-train: $(tail -n 1 err.txt)"
			awk '$1 == "seconds" { print $2 }' watched.txt >>seconds.txt
			awk '$1 == "memory" { print $2 }' watched.txt >>memory.txt
			so_far "$run of 3" "batch $batch	$(median <seconds.txt) s"
		done
		printf 'start\tbatch %d\t%s s\tmemory %s bytes of the device\n' "$batch" "$(median <seconds.txt)" \
			"$(sort -n memory.txt | tail -n 1)"
		sed -n '/peak/,$p' out.txt | sed 's/^/memory	/'
	done
}

# The mean accuracy of three seeds is within two points of the CPU's, on all images that there are.
step_accuracy() {
	[ "$data" != synthetic ] || skip_step 'there are no images (GPU_DATA=FOLDER names some)'
	tell_run --model convnet --data "$data" --global-batch 128 --epochs 5
	for seed in 0 1 2; do
		for type in cpu fp32 bf16; do
			backend='--backend cuda'
			[ $type != cpu ] || backend=$(cpu)
			precision=$type
			[ $type != cpu ] || precision=fp32
			# shellcheck disable=SC2086 # words
			ours $backend --model convnet --data "$data" --global-batch 128 --epochs 5 --seed $seed \
				--precision $precision --progress none --metrics run.json >out.txt 2>err.txt ||
				fail_step "gpumap-train, $type: $(tail -n 1 err.txt)"
			printf '%s %s\n' $type "$(sed -n 's/.*"evaluation".*"accuracy":\([^,}]*\).*/\1/p' run.json |
				tail -n 1)" >>accuracies.txt
		done
		so_far "seed $seed" "$(tail -n 3 accuracies.txt | tr '\n' '	')"
	done
	awk '{ sum[$1] += 100 * $2; all[$1] = all[$1] sprintf(" %.2f", 100 * $2) } END {
		for (type in sum) {
			d = (sum[type] - sum["cpu"]) / 3
			printf "accuracy\t%s\tmean %.2f %%\tof the CPU %+.2f\tby seed%s\n", type, sum[type] / 3, d, all[type]
			if (d < -2 || d > 2)
				bad = 1
		}
		exit bad
	}' accuracies.txt
}

# The kernels of the last of four steps, which are those after the last kernel that makes a batch.
step_ncu() {
	PATH=$PATH:/usr/local/cuda/bin
	for folder in /opt/nvidia/nsight-compute/*/; do
		PATH=$PATH:${folder%/}
	done
	command -v ncu >/dev/null 2>&1 || skip_step 'ncu is missing'
	set -- --model convnet --samples 49152 --test-samples 1 --global-batch 512 --steps 4 --precision bf16
	tell_run --backend cuda "$@"
	LD_LIBRARY_PATH=$(ours_path) ncu --csv --print-units base --clock-control none \
		--metrics gpu__time_duration.sum,dram__bytes.sum "$programs/gpumap-train" --backend cuda "$@" \
		--progress none --evaluate-every 0 >ncu.csv 2>err.txt
	ncu_status=$?
	awk -f "$here/ncu.awk" ncu.csv && return
	skip_step "ncu does not run here: status $ncu_status: $(cat ncu.csv err.txt | grep -a -m 1 -e '^==ERROR==' -e .)"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of run-all and of the stages
# Steps, their records, and what is on this machine. A stage's file has
#
#	stage_steps	prints a line "NAME SECONDS TITLE" for each step, which takes about so many seconds
#	stage_ready	finds what all steps need, or ends by skip_stage or bail_out; sets stage_made_by, words
#			that change when earlier records are no longer true (made-by.sh), and stage_nvcc
#	stage_step NAME	does the step: figures on standard output; status 0 or 1, or ends by skip_step REASON
#
# Each step is a process of its own, so that it has a time limit: three times what it takes.

bail_out() {
	if [ "${part:-}" ]; then
		next_number
		echo "not ok $number - $stage: $1"
	else
		echo "Bail out! $1"
	fi
	echo "run-all: $stage: $1" >&2
	exit 99
}

skip_stage() {
	if [ "${part:-}" ]; then
		next_number
		echo "ok $number - $stage # SKIP $1"
	else
		echo "1..0 # SKIP $1"
	fi
	echo "SKIP: $stage: $1; NOTHING WAS RUN" >&2
	exit 0
}

# next_number: of a test, where a stage is a part of all
next_number() {
	number=$(($(cat "$part") + 1))
	echo "$number" >"$part"
}

skip_step() {
	echo "skipped	$1"
	exit 77
}

fail_step() {
	echo "failed	$1"
	exit 1
}

# --- this machine -----------------------------------------------------------------------

# Sets tools, the folder of facts and driver-visible. Those of a bundle are taken if they start here: an older C library
# would not let them.
build_tools() {
	tools=$top/bin
	if ! starts "$tools/facts" || ! starts "$tools/driver-visible"; then
		tools=$build
		build_here all 'a C compiler is needed'
	fi
	export tools
}

# starts PROGRAM: it does, and objects to an option
starts() {
	[ -x "$1" ] || return
	"$1" --no-such-option >/dev/null 2>&1
	[ $? -eq 2 ]
}

# time_left: the seconds of this call
time_left() {
	now=$(date +%s)
	echo $((${start:-$now} + ${seconds:-460} - now))
}

# build_seconds: a build has the time of the call, and a minute at least
build_seconds() {
	if [ "$(time_left)" -lt 60 ]; then echo 60; else time_left; fi
}

# build_here TARGET WORDS: what tests/gpu/Makefile builds, in $build; by make or by what make would do
build_here() {
	CC=${CC:-cc} out=$build
	command -v "${CC%% *}" >/dev/null 2>&1 || CC=gcc
	export CC out
	if command -v make >/dev/null 2>&1; then
		timeout "$(build_seconds)" make -C "$here" -j"$(nproc)" CC="$CC" out="$build" CUDA_ARCH="${kernels_arch:-}" "$1"
	elif [ -e "$top/build.sh" ]; then
		CUDA_ARCH=${kernels_arch:-} timeout "$(build_seconds)" sh "$top/build.sh" "$1"
	else
		echo 'make is missing, and this is no bundle with a build.sh'
		false
	fi >"$build/make.log" 2>&1 && return
	cat "$build/make.log" >&2
	bail_out "tests/gpu cannot be built ($2): $(tail -n 1 "$build/make.log")"
}

# Writes the facts of this machine to facts.txt; false sets why_no_gpu. CUDA_DEVICE_ORDER is set, because gpumap cannot
# tell the order of unlike GPUs without it.
look_at_gpu() {
	CUDA_DEVICE_ORDER=${CUDA_DEVICE_ORDER:-PCI_BUS_ID}
	export CUDA_DEVICE_ORDER
	if ! timeout 60 "$tools/facts" >"$build/facts.txt" 2>&1; then
		why_no_gpu=$(head -n 1 "$build/facts.txt")
		[ "$why_no_gpu" ] || why_no_gpu='the driver does not answer'
		return 1
	fi
	gpu_name=$(awk -F '\t' '$1 == "gpu" { print $3; exit }' "$build/facts.txt")
	gpu_uuid=$(awk -F '\t' '$1 == "gpu" { print $4; exit }' "$build/facts.txt")
	export gpu_name gpu_uuid
}

# Folders in which libraries of NVIDIA may be, a line each: those of the environment, the toolkit,
# the system, and the packages of a Python.
library_folders() {
	printf '%s\n' "${LD_LIBRARY_PATH:-}" | tr ':' '\n'
	ldconfig -p 2>/dev/null | sed -n 's#.*=> \(.*\)/lib\(cudnn\|cublasLt\|nccl\)\.so.*#\1#p'
	for folder in "${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda /usr/local/cuda-*; do
		printf '%s\n' "$folder/lib64" "$folder/targets/x86_64-linux/lib"
	done
	printf '%s\n' /usr/lib/x86_64-linux-gnu /usr/lib64
	pythons | while read -r python; do
		"$python" -c 'import sys; print("\n".join(p for p in sys.path if p))' 2>/dev/null
	done | while read -r folder; do
		printf '%s\n' "$folder"/nvidia/*/lib
	done
}

# Every Python there may be, a line each, the one that is named first.
pythons() {
	for python in "${GPUMAP_TEST_TORCH:-}" python3 /usr/bin/python3 /opt/*/bin/python3 \
		/opt/*/.venv/bin/python3 /opt/conda/bin/python3; do
		[ -z "$python" ] || command -v "$python" 2>/dev/null
	done | awk '!seen[$0]++'
}

# Sets python, one whose PyTorch sees the GPU, and stage_pytorch, which PyTorch that is. To ask takes long, so the answer
# is kept for the next part of all.
find_python() {
	stage_pytorch=''
	if [ "$part" ] && [ -s "$build/pytorch.txt" ]; then
		read -r python stage_pytorch <"$build/pytorch.txt"
		export python
		return
	fi
	for python in $(pythons); do
		stage_pytorch=$(timeout 60 "$python" -c 'import platform, torch
assert torch.cuda.is_available()
print(f"{torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()},",
      f"Python {platform.python_version()}")' 2>/dev/null)
		[ -z "$stage_pytorch" ] || break
	done
	[ "$stage_pytorch" ] || skip_stage 'no Python has a PyTorch that sees the GPU (GPUMAP_TEST_TORCH=PYTHON names one)'
	echo "$python $stage_pytorch" >"$build/pytorch.txt"
	export python
}

# need_libraries PROGRAM: sets library_path to the folders of the libraries that it opens, and lacking to the names of
# those that are not there. The program's file has the names, with their versions.
need_libraries() {
	library_path='' lacking=''
	library_folders | awk 'NF && !seen[$0]++' >"$build/folders.txt"
	: >"$build/not-taken.txt"
	opened=$(grep -ao 'lib\(cudnn\|cublasLt\|nccl\)\.so\.[0-9][0-9]*' "$1" | sort -u)
	for name in $opened; do
		found=''
		while read -r folder; do
			if [ -e "$folder/$name" ] && [ -z "$found" ]; then
				found=$folder
			elif [ -e "$folder/$name" ]; then
				printf 'not taken\t%s\n' "$folder/$name"
			fi
		done <"$build/folders.txt" >>"$build/not-taken.txt"
		if [ -z "$found" ]; then
			lacking="$lacking $name"
		else
			case :$library_path: in
			*":$found:"*) ;;
			*) library_path=$library_path${library_path:+:}$found ;;
			esac
		fi
	done
	export library_path lacking
}

# --- records ------------------------------------------------------------------------------

# record_begin STEP COMMAND: what a record has before the output of its step. It says "unfinished" until record_end
# changes that, so whatever ends the machine, what a step had found is in a record.
record_begin() {
	printf 'stage\t%s\nstep\t%s\ncommand\t%s\ndate\t%s\n' "$stage" "$1" "$2" \
		"$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	[ ! -e "$top/VERSION" ] || printf 'bundle\t%s\n' "$(head -n 1 "$top/VERSION")"
	cat "$build/facts.txt"
	printf 'nvcc\t%s\n' "${stage_nvcc:-}"
	[ -z "${stage_pytorch:-}" ] || printf 'pytorch\t%s\n' "$stage_pytorch"
	[ -z "${stage_libraries:-}" ] || cat "$stage_libraries" "$build/not-taken.txt"
	printf 'cpu\t%s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
	printf 'system\t%s\n' "$(uname -sr)"
	printf 'made by\t%s\n' "${stage_made_by:-}"
	printf 'seconds\t-\nresult\tunfinished\n\n'
}

# record_end FILE RESULT SECONDS
record_end() {
	awk -v result="$2" -v seconds="$3" '
		/^$/ { body = 1 }
		!body && /^seconds\t/ { $0 = "seconds\t" seconds }
		!body && /^result\t/ { $0 = "result\t" result }
		{ print }' "$1" >"$1.new" && mv "$1.new" "$1"
}

# result_of STATUS
result_of() {
	case $1 in
	0) echo ok ;;
	77) echo skipped ;;
	*) echo "FAILED (status $1)" ;;
	esac
}

# was_done FILE: the step succeeded before, with these programs and on this kind of GPU. Each call has a first run.
was_done() {
	[ "${1##*/}" != first.txt ] && [ -e "$1" ] && grep -qx 'result	ok' "$1" && grep -qxF "made by	$stage_made_by" "$1"
}

# --- a stage --------------------------------------------------------------------------------

stage_usage() {
	echo "run-all: $stage: $1; see $0 --help" >&2
	exit 2
}

read_options() {
	only='' fresh=no list=no seconds=460 limit='' one='' archive='' part='' seed=${seed:-}
	while [ $# -gt 0 ]; do
		case $1 in
		--fresh) fresh=yes ;;
		--list) list=yes ;;
		--only | --seconds | --limit | --seed | --archive | --step | --part)
			[ $# -gt 1 ] || stage_usage "$1 needs a value"
			case $1 in
			--only) only=$2 ;;
			--seconds) seconds=$2 ;;
			--limit) limit=$2 ;;
			--seed) seed=$2 ;;
			--archive) archive=$2 ;;
			--step) one=$2 ;;
			--part) part=$2 ;;
			esac
			shift
			;;
		*) stage_usage "there is no option '$1'" ;;
		esac
		shift
	done
	need_number --seconds "${seconds:-none}"
	need_number --limit "$limit"
	need_number --seed "$seed"
	[ -z "$archive" ] || archive_place
	export seed
}

# need_number OPTION VALUE
need_number() {
	case $2 in
	*[!0-9]*) stage_usage "$1 '$2' is not a number" ;;
	esac
}

# The steps that were asked for: lines "NAME SECONDS LIMIT TITLE". A limit is that of --limit, or of STEP:LIMIT.
chosen_steps() {
	for name in $(printf '%s' "${only:-$(stage_steps | cut -d ' ' -f 1)}" | tr ',' ' '); do
		of_step=$limit
		case $name in
		*:*) of_step=${limit:-${name#*:}} ;;
		esac
		stage_steps | awk -v name="${name%:*}" -v limit="$of_step" '$1 == name {
			$2 = $2 " " (limit ? limit : 3 * $2); print; found = 1
		} END { exit !found }' || stage_usage "there is no step '${name%:*}' (--list names them)"
	done
}

# need_first: nothing is measured where the first run has failed
need_first() {
	! grep -q '^result	FAILED' "$build/records/train/first.txt" 2>/dev/null ||
		skip_step "the first run has failed: see the record of train, first"
}

# do_step NAME LIMIT FILE: runs the step, whose output goes to its record as it comes; returns its status. That is 75 if
# the step had less than LIMIT and ran out of time.
do_step() {
	begin=$(date +%s) left=$(time_left)
	[ "$left" -lt "$2" ] || left=$2
	record_begin "$1" "run-all $stage --only $1" >"$3"
	timeout -k 5 "$left" sh "$here/run-all" "$stage" --step "$1" </dev/null >>"$3" 2>"$3.err" &
	step_pid=$!
	wait "$step_pid"
	step_status=$? step_pid='' took=$(($(date +%s) - begin))
	case $step_status in
	124 | 137)
		result="FAILED (unfinished: it was ended after $took s, its limit)"
		if [ "$left" -lt "$2" ]; then
			result="unfinished (there were $left s)" step_status=75
		fi
		;;
	*) result=$(result_of "$step_status") ;;
	esac
	record_end "$3" "$result" "$took"
	case $step_status in
	0 | 77) rm -f "$3.err" ;;
	*) left_behind "$1" "$3" ;;
	esac
	return "$step_status"
}

# left_behind NAME FILE: adds to the record the last lines of what the step, which failed, has written elsewhere
left_behind() {
	tail -n 200 "$2.err" | sed 's/^/stderr	/' >>"$2"
	rm -f "$2.err"
	for left in "$build/work/$stage/$1"/*.json "$build/work/$stage/$1"/*.txt "$build/work/$stage/$1"/*.out \
		"$build/work/$stage/$1"/*.err; do
		[ ! -s "$left" ] || tail -n 3 "$left" | cut -c 1-300 | sed "s/^/left	${left##*/}	/" >>"$2"
	done
}

# interrupted SIGNAL STATUS: ends the step in progress
interrupted() {
	trap '' TERM INT HUP
	if [ "$step_pid" ]; then
		kill -TERM "$step_pid"
		wait "$step_pid"
		record_end "$file" "unfinished (SIG$1)" $(($(date +%s) - begin))
		left_behind "$name" "$file"
	fi
	gather_results
	bring_back
	exit "$2"
}

# say_step NUMBER NAME TITLE STATUS FILE
say_step() {
	case $4 in
	0) echo "ok $1 - $stage: $3 ($2)" ;;
	77)
		echo "ok $1 - $stage: $3 ($2) # SKIP $(sed -n 's/^skipped	//p' "$5")"
		echo "SKIP: $stage: $2: $(sed -n 's/^skipped	//p' "$5")" >&2
		;;
	75) echo "ok $1 - $stage: $3 ($2) # SKIP $(sed -n 's/^result	//p' "$5"): the same command does it again" ;;
	*) echo "not ok $1 - $stage: $3 ($2): $(sed -n 's/^result	//p' "$5")" ;;
	esac
	sed '1,/^$/d; s/^/#   /' "$5"
}

# Everything the stage has found, in the order of its steps.
gather_results() {
	mkdir -p "$build/results"
	stage_steps | while read -r step _; do
		[ ! -e "$records/$step.txt" ] || { cat "$records/$step.txt" && echo; }
	done >"$build/results/$stage.txt"
}

# count_step STATUS
count_step() {
	say_step "$number" "$name" "$title" "$1" "$file"
	case $1 in
	0 | 77) ;;
	75) waiting=$((waiting + 1)) ;;
	*) failed=$((failed + 1)) ;;
	esac
}

run_steps() {
	number=0 failed=0 waiting=0 step_pid=''
	[ -z "$part" ] || number=$(cat "$part")
	trap 'interrupted TERM 143' TERM
	trap 'interrupted INT 130' INT
	trap 'interrupted HUP 129' HUP
	while read -r name about most title; do
		number=$((number + 1)) file=$records/$name.txt
		if was_done "$file"; then
			echo "ok $number - $stage: $title ($name), done before"
		elif [ "$(time_left)" -lt "$about" ]; then
			echo "ok $number - $stage: $title ($name) # SKIP no time left: the same command does it"
			waiting=$((waiting + 1))
		else
			do_step "$name" "$most" "$file"
			count_step $?
			gather_results
			bring_back
		fi
		[ -z "$part" ] || echo "$number" >"$part"
	done <"$build/steps.txt"
	gather_results
	bring_back
	echo "# the record of the stage is $build/results/$stage.txt"
	[ "$failed" -eq 0 ] || exit 1
	[ "$waiting" -eq 0 ] || exit 75
	exit 0
}

run_stage() {
	read_options "$@"
	if [ "$one" ]; then
		work=$build/work/$stage/$one
		rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 99
		# gpumap-train warns of variables that begin like its own and are not.
		unset GPUMAP_GPU_BUILD GPUMAP_GPU_PROGRAMS GPUMAP_TEST_TORCH
		case $one in
		speed-* | compiled-* | resnet50-* | one-rank | start | memory* | exposed-* | sums-nccl) need_first ;;
		esac
		trap 'exit 143' TERM # when the program in progress, which gets it too, has written its last words
		stage_step "$one"
		exit
	fi
	start=$(date +%s)
	chosen_steps >"$build/steps.txt" || exit 2
	[ "$list" = no ] || { cat "$build/steps.txt" && exit 0; }
	build_tools
	look_at_gpu || skip_stage "$why_no_gpu"
	records=$build/records/$stage
	[ "$fresh" = no ] || rm -rf "$records" "$build/work/$stage"
	mkdir -p "$records" || exit 99
	stage_ready
	if [ -z "$part" ]; then
		echo "1..$(wc -l <"$build/steps.txt")"
		sed 's/^/# /' "$build/facts.txt"
	fi
	run_steps
}

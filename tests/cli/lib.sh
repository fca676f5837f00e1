# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # its variables are for the tests
#
# TAP for tests in POSIX shell. A test begins and ends like this:
#
#	. "$GPUMAP_TEST_SRCDIR/tests/cli/lib.sh"
#	check 'the second of two' 0 '^cuda:1 is physical GPU 3$' '' -- "$GPUMAP" --visible 2,3 --device 1
#	done_testing
#
# It runs in an empty folder of its own, with standard input empty and without the variables
# that gpumap looks at. It may use:
#
#	$GPUMAP    the command, an absolute path	$srcdir    the source tree
#	$builddir  the build tree			$shared    recorded machines, or empty
#	$python    with nvitop and gpustat, or empty	$torch     with PyTorch, or empty
#	$servers   not empty: real launchers must work	$full      not empty: what takes minutes is wanted
#
# GPUMAP_MAX_CPU_ISA and GPUMAP_TEST_SEED stay in the environment, for programs.
#
#	check NAME STATUS STDOUT STDERR -- COMMAND...
#		Runs COMMAND, $limit seconds at most, and compares. STDOUT and STDERR are extended
#		regular expressions that some line matches, '' for no output at all, or '-' for
#		any. What was written stays in the files $out and $err.
#	out_has NAME REGEX; out_lacks NAME REGEX; err_has NAME REGEX; err_lacks NAME REGEX
#		One more look at what the last check left.
#	out_is NAME <FILE	the whole of $out
#	ok NAME; not_ok NAME [WHY]; holds NAME COMMAND...
#	skip NAME REASON; skip_all REASON (ends the test)
#	have COMMAND		is it on this machine?
#	sanitized		has this build sanitizers?
#	first_pid_space		is this the first PID namespace? Others do not show all processes, nor which process
#				took a lock and has ended
#	until_true COMMAND...	tries again until it holds, $limit seconds at most; what a test waits
#				for is an event like that, never a time
#	over PID		it has ended, collected or not
#	keep_json FILE...	what JSON was printed; done_testing compares it with the schemas. check() and files that
#				are left at the end need no call; bad* and old* may be otherwise
#	stop PID		stops it until kill -CONT, or the end of the test

set -u
srcdir=$GPUMAP_TEST_SRCDIR
builddir=${GPUMAP_TEST_BUILDDIR:-}
python=${GPUMAP_TEST_PYTHON:-}
servers=${GPUMAP_TEST_SERVERS:-}
torch=${GPUMAP_TEST_TORCH:-}
full=${GPUMAP_TEST_FULL:-}
# The limit ends what hangs. It does not measure speed, because other work may keep the machine busy.
limit=${GPUMAP_TEST_LIMIT:-1200}
gpumap_path=${GPUMAP:-}
max_cpu_isa=${GPUMAP_MAX_CPU_ISA:-}
test_seed=${GPUMAP_TEST_SEED:-}
shared=$(cd "$srcdir/.." && pwd)/shared
[ -d "$shared" ] || shared=

# shellcheck disable=SC2013 # names are words
# awk prints the names, because a value may have several lines.
for variable in $(awk 'BEGIN {
	for (v in ENVIRON)
		if (v ~ /^(CUDA|GPU|NV|HIP|ROCR|SLURM|NCCL|PMI|OMPI|MPI|MV2|PALS|FLUX|JSM|LSB|PBS|TORCH)[A-Z0-9_]*$/ ||
		    v ~ /^((LOCAL_|GROUP_|NODE_|CROSS_|ROLE_)?(RANK|SIZE|WORLD_SIZE)|KUBERNETES_SERVICE_HOST|PET_NNODES|NO_COLOR|CLICOLOR|COLUMNS)$/)
			print v
	}'); do
	unset "$variable"
done
GPUMAP=$gpumap_path
[ -z "$max_cpu_isa" ] || export GPUMAP_MAX_CPU_ISA="$max_cpu_isa"
[ -z "$test_seed" ] || export GPUMAP_TEST_SEED="$test_seed"
LC_ALL=C
export LC_ALL
exec </dev/null

first_path=$PATH
tests=0
failures=0
done=
trash=$(mktemp -d "${TMPDIR:-/tmp}/gpumap-test.XXXXXX") || exit 99
out=$trash/.out
err=$trash/.err
# Other tests lease the same pretended GPUs.
GPUMAP_LEASES=$trash/.leases
export GPUMAP_LEASES

# start_of PID: when it started
start_of() {
	{ read -r start_line <"/proc/$1/stat"; } 2>/dev/null || return
	# shellcheck disable=SC2086 # words
	set -- ${start_line##*) }
	echo "${20}"
}

# at_exit_send SIGNAL PID...: what these processes get at the end of the test. It knows their start, because the
# number of a process that has ended is soon another's.
at_exit_send() {
	send_signal=$1
	shift
	for send_pid; do
		send_start=$(start_of "$send_pid") && echo "$send_signal $send_pid $send_start" >>"$trash/.signals"
	done
}

# kill_at_exit PID...
kill_at_exit() {
	at_exit_send KILL "$@"
}

# Ends or continues processes, and ends servers of tmux, which would outlive the test. Files keep their ids, because a
# subshell cannot set variables.
end_leftovers() {
	[ -f "$trash/.signals" ] && while read -r send_signal send_pid send_start; do
		[ "$(start_of "$send_pid")" != "$send_start" ] || kill -"$send_signal" "$send_pid"
	done <"$trash/.signals"
	[ -f "$trash/servers" ] && while read -r tmux_server; do
		tmux_run kill-server
	done <"$trash/servers"
}

at_exit() {
	status=$?
	end_leftovers 2>/dev/null
	cd / && chmod -R u+rwx "$trash" && rm -rf "$trash"
	# Without this a test that dies half way would look complete.
	[ "$done" ] || echo 'Bail out! the test ended before done_testing'
	exit "$status"
}
trap at_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$trash" || exit 99

have() {
	command -v "$1" >/dev/null 2>&1
}

sanitized() {
	grep -qs '^SANITIZER_CFLAGS = .' "$builddir/Makefile"
}

first_pid_space() {
	[ "$(stat -L -c %i /proc/self/ns/pid 2>/dev/null)" = 4026531836 ]
}

escaped() {
	printf '%s' "$1" | tr '\n' ' ' | sed 's/#/\\#/g'
}

comment() {
	sed 's/^/#   /'
}

ok() {
	tests=$((tests + 1))
	echo "ok $tests - $(escaped "$1")"
}

not_ok() {
	tests=$((tests + 1))
	failures=$((failures + 1))
	echo "not ok $tests - $(escaped "$1")"
	[ $# -lt 2 ] || printf '%s\n' "$2" | comment
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $(escaped "$1") # SKIP $2"
}

skip_all() {
	[ "$tests" -eq 0 ] || { echo 'Bail out! skip_all after a test' && exit 99; }
	echo "1..0 # SKIP $1"
	done=yes
	exit 0
}

keep_json() {
	grep -ahs '^{"[$]schema":"urn:gpumap:' "$@" >>"$trash/.json"
}

# The JSON that the test has seen, and the files that it has left.
judge_json() {
	find "$trash" -type f ! -name '.json*' ! -name 'bad*' ! -name 'old*' -size -8M -exec grep -ahs '^{"[$]schema":"urn:gpumap:' {} + \
		>"$trash/.json-left" 2>/dev/null
	: >>"$trash/.json"
	[ -s "$trash/.json" ] || [ -s "$trash/.json-left" ] || return
	# The first python3 may lack what Debian's has.
	for json_python in python3 /usr/bin/python3; do
		json_why=$(PATH=$first_path $json_python "$srcdir/tests/cli/schemas.py" "$trash/.json" "$trash/.json-left" 2>&1)
		json_status=$?
		[ "$json_status" -eq 77 ] || break
	done
	case $json_status in
	0) ok 'JSON is as its schemas say' ;;
	77 | 127) skip 'JSON is as its schemas say' 'jsonschema is missing: install python3-jsonschema' ;;
	*) not_ok 'JSON is as its schemas say' "$json_why" ;;
	esac
}

done_testing() {
	judge_json
	echo "1..$tests"
	done=yes
	[ "$failures" -eq 0 ]
	exit
}

# An external command gets a time limit; a function of the test cannot have one.
limited() {
	case $(command -v "$1") in
	/*) timeout -k 2 "$limit" "$@" ;;
	*) "$@" ;;
	esac
}

# matches FILE REGEX
matches() {
	case $2 in
	-) return 0 ;;
	'') [ ! -s "$1" ] ;;
	*) grep -aqE -e "$2" "$1" ;;
	esac
}

check() {
	if [ $# -lt 6 ] || [ "$5" != -- ]; then
		not_ok "$1" 'usage: check NAME STATUS STDOUT STDERR -- COMMAND...'
		return
	fi
	check_name=$1 check_status=$2 check_out=$3 check_err=$4
	shift 5
	limited "$@" >"$out" 2>"$err"
	check_got=$?
	check_why=
	case "$* " in *json* | *' -o - '* | *manifest*) keep_json "$out" ;; esac
	[ "$check_got" = "$check_status" ] || check_why="status $check_got, not $check_status"
	matches "$out" "$check_out" || check_why="$check_why${check_why:+; }stdout is not /$check_out/"
	matches "$err" "$check_err" || check_why="$check_why${check_why:+; }stderr is not /$check_err/"
	if [ -z "$check_why" ]; then
		ok "$check_name"
		return
	fi
	not_ok "$check_name" "$check_why"
	printf '%s\n' "$*" | head -c 1000 | sed 's/^/#   $ /'
	echo
	head -n 20 "$out" | cut -c1-500 | sed 's/^/#   stdout: /'
	head -n 20 "$err" | cut -c1-500 | sed 's/^/#   stderr: /'
}

# look_in NAME FILE REGEX yes|no
look_in() {
	if grep -aqE -e "$3" "$2"; then look_found=yes; else look_found=no; fi
	if [ "$look_found" = "$4" ]; then
		ok "$1"
		return
	fi
	not_ok "$1" "/$3/ found: $look_found"
	head -n 20 "$2" | cut -c1-500 | comment
}

out_has() {
	look_in "$1" "$out" "$2" yes
}

out_lacks() {
	look_in "$1" "$out" "$2" no
}

err_has() {
	look_in "$1" "$err" "$2" yes
}

err_lacks() {
	look_in "$1" "$err" "$2" no
}

out_is() {
	if out_differs=$(diff -u - "$out"); then
		ok "$1"
	else
		not_ok "$1" "$out_differs"
	fi
}

until_true() {
	until_end=$(($(date +%s) + limit))
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -le "$until_end" ] || return 1
		sleep 0.02
	done
}

# tmux_run ARGUMENTS...: tmux on the server of the session that tmux_start began last
tmux_run() {
	TMUX='' TERM=xterm SHELL=/bin/sh tmux -S "$trash/tmux.$tmux_server" -f /dev/null "$@"
}

# tmux_start NAME COLUMNS ROWS COMMAND: a session on a server of its own, since one that ends may
# still take commands. Its name is drawn: a subshell cannot count.
tmux_start() {
	tmux_server=$(mktemp -u XXXXXXXX)
	echo "$tmux_server" >>"$trash/servers"
	tmux_run new-session -d -s "$1" -x "$2" -y "$3" "$4"
}

# stop PID: SIGSTOP, which the end of the test takes back
stop() {
	at_exit_send CONT "$1"
	kill -STOP "$1"
}

over() {
	! grep -q '^State:.[^Z]' /proc/"$1"/status 2>/dev/null
}

holds() {
	holds_name=$1
	shift
	if holds_text=$("$@" 2>&1); then
		ok "$holds_name"
	else
		not_ok "$holds_name" "$holds_text"
	fi
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # variables of the tests and of tests/cli/lib.sh
# What the tests of whole training runs share, after tests/cli/lib.sh.
train=$builddir/gpumap-train
gpumap=$builddir/gpumap
[ -x "$train" ] || skip_all 'gpumap-train is not built'

# Ten steps an epoch, of some milliseconds each.
small='--model net28 --samples 320 --test-samples 40 --global-batch 32 --progress none --threads 1
	--timeout 5m'

# run N COMMAND...: N ranks as processes, whose ids are in the files pid.RANK. RUN: more options
run() {
	(launch "$@")
}

# launch N COMMAND...: the same in place of this shell, so that after `launch ... &` $! is gpumap
launch() {
	run_ranks=$1
	shift
	# shellcheck disable=SC2016,SC2086 # for the rank's shell; words
	exec "$gpumap" run ${RUN:-} --mode ddp --ranks "$run_ranks" --inventory "$run_ranks" \
		--device cuda:%l -- sh -c 'echo $$ >new.$RANK; mv new.$RANK pid.$RANK; exec "$@"' sh "$@"
}

# Lines of metrics without what differs between any two runs: times, and the slowest rank. They have no schema.
plain() {
	sed -E 's/"[$]schema":"[^"]*",//; s/,"(seconds|slowest_rank|slowest_seconds|mean_seconds|exposed_seconds)":[^,}]*//g' "$1"
}

# same FILE FILE: the same lines, to the last bit of each loss
same() {
	plain "$1" >same.1 && plain "$2" >same.2 && [ -s same.1 ] && cmp same.1 same.2
}

# near FILE FILE: the same steps, and losses that differ by 1e-6 of their value at most
near() {
	plain "$1" >near.1 && plain "$2" >near.2 && [ -s near.1 ] && paste -d '\n' near.1 near.2 | awk '
		{
			kind = /"type":"step"/ ? "step" : "evaluation"
			step = $0; sub(/.*"step":/, "", step); sub(/,.*/, "", step)
			loss = $0; sub(/.*"loss":/, "", loss); sub(/,.*/, "", loss)
			if (NR % 2) { k = kind; s = step; l = loss + 0; next }
			d = l - loss; if (d < 0) d = -d
			if (k != kind || s != step || d > 1e-6 * l) {
				print k, s, l " and " kind, step, loss " differ"; exit 1
			}
		}'
}

# random FROM TO: a random number of seconds between them
random() {
	od -An -N4 -tu4 /dev/urandom |
		awk -v a="$1" -v b="$2" '{ printf "%.4f", a + (b - a) * $1 / 4294967296 }'
}

now() {
	date +%s.%N
}

# since TIME: seconds
since() {
	awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.3f", b - a }'
}

# has_lines FILE N: at least so many
has_lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}

# one_line REGEX: what the last check left on standard error is one line like this
one_line() {
	[ "$(wc -l <"$err")" -eq 1 ] && matches "$err" "^gpumap-train: $1"
}

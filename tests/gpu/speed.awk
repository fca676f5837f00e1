# SPDX-License-Identifier: MIT
# speed.awk -v batch=B -v precision=P [-v warm=W] METRICS: how fast the steps of a run are, those after
# the first W (50). Results come late and sometimes several at once, so times are means over blocks,
# and the median of nine blocks counts.
#
# The floor is what an H200 would take at least for convnet and Adam: the greater of operations at its
# measured rate (145.5 MFLOP a sample; TFLOP/s: 790 in half types, 396 in TF32, 67 in fp32) and memory
# traffic at 4.3 TB/s (656,384 elements a sample; weights, gradients and Adam's state 162 MB, 171 MB
# without copies in half width).
#
# Prints "microseconds images/s floor ratio"; status 1 if there are too few steps.
function floor_of(precision, batch,   rate, bytes) {
	rate = precision == "fp32" ? 67e12 : precision == "tf32" ? 396e12 : 790e12
	if (precision == "fp32" || precision == "tf32")
		bytes = 656384 * 4 * batch + 171e6
	else
		bytes = 656384 * 2 * batch + 162e6
	rate = 145.5e6 * batch / rate
	bytes /= 4.3e12
	return rate > bytes ? rate : bytes
}
BEGIN { blocks = 9; warm = warm == "" ? 50 : warm }
/"type":"step"/ && match($0, /"seconds":[^,}]*/) {
	if (++steps > warm)
		took[++n] = substr($0, RSTART + 10, RLENGTH - 10) + 0
}
END {
	size = int(n / blocks)
	if (size < 1) {
		printf "only %d steps\n", steps
		exit 1
	}
	for (b = 0; b < blocks; b++) {
		sum = 0
		for (i = 1; i <= size; i++)
			sum += took[b * size + i]
		mean = sum / size
		for (j = b; j > 0 && sorted[j - 1] > mean; j--)
			sorted[j] = sorted[j - 1]
		sorted[j] = mean
	}
	step = sorted[int(blocks / 2)]
	floor = floor_of(precision, batch)
	printf "%.1f %.0f %.1f %.2f\n", 1e6 * step, batch / step, 1e6 * floor, step / floor
}

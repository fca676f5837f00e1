# SPDX-License-Identifier: MIT
# losses.awk -v steps=N -v tolerance=T [-v name=WORDS] WANTED GOT: two files of metrics. The first N
# losses must be there and agree, relative to the wanted ones; 0: to the bit. Prints the greatest
# difference; status 1 if they do not agree.
function value(line, key) {
	if (!match(line, "\"" key "\":[^,}]*"))
		return ""
	return substr(line, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
}
FNR == 1 { file++ }
/"type":"step"/ {
	step = value($0, "step") + 0
	loss = value($0, "loss")
	if (loss !~ /^-?[0-9]/)
		broken[file] = broken[file] ? broken[file] : step
	if (file == 2 && value($0, "skipped") == "true")
		skipped++
	of[file, step] = loss
}
END {
	differ = 0
	for (i = 1; i <= steps; i++) {
		if (!((1, i) in of) || !((2, i) in of)) {
			printf "%s\tstep %d is missing\n", name, i
			exit 1
		}
		d = of[2, i] - of[1, i]
		d = d < 0 ? -d : d
		of_it = of[1, i] + 0 > 0 ? d / of[1, i] : d
		if (of_it > most) { most = of_it; at = i }
		# As text, because numbers that differ only in the last digit may be equal in awk.
		if (tolerance > 0 ? of_it > tolerance : of[1, i] != of[2, i])
			differ = differ ? differ : i
	}
	printf "%s\t%d steps, greatest difference %.2g (step %d), tolerance %g", name, steps, most, at, tolerance
	printf ", last loss %.6g", of[2, steps]
	if (skipped)
		printf ", %d skipped", skipped
	if (broken[1] || broken[2])
		printf ", NOT FINITE at step %d", broken[2] ? broken[2] : broken[1]
	if (differ)
		printf ", DIFFERS from step %d", differ
	print ""
	exit differ || broken[1] || broken[2]
}

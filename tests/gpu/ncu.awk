# SPDX-License-Identifier: MIT
# ncu.awk CSV: what ncu --csv prints of time and memory traffic. Prints "kernel NAME us BYTES" for those since the last
# input_fill, in their order, and their sums; status 1 if there are none.
function fields(line) {
	gsub(/^"|"$/, "", line)
	return split(line, field, "\",\"")
}
/^"ID",/ {
	count = fields($0)
	for (i = 1; i <= count; i++)
		place[field[i]] = i
	next
}
/^"/ && count && fields($0) == count {
	id = field[place["ID"]]
	name = field[place["Kernel Name"]]
	value = field[place["Metric Value"]]
	gsub(/,/, "", value)
	if (!(id in name_of)) {
		if (name ~ /input_fill/)
			n = 0
		order[++n] = id
		name_of[id] = name
	}
	of[id, field[place["Metric Name"]]] = value
}
END {
	for (i = 1; i <= n; i++) {
		us = of[order[i], "gpu__time_duration.sum"] / 1e3
		bytes = of[order[i], "dram__bytes.sum"]
		printf "kernel\t%s\t%.2f us\t%.0f bytes\n", name_of[order[i]], us, bytes
		all += us
		moved += bytes
	}
	if (n)
		printf "kernels\t%d\t%.2f us\t%.0f bytes\n", n, all, moved
	exit !n
}

# SPDX-License-Identifier: MIT
# rehearse.awk -v name=WORDS GPU REHEARSED: what rehearse-run.py said of a program on a GPU and of the same under gpumap
# rehearse. Prints each difference, and both peaks; status 1 if the type of the error differs, or one of them did not
# reach its end.
BEGIN { FS = OFS = "\t" }
FNR == 1 { file++ }
{ value = substr($0, length($1) + 2) }
$1 == "out" { key = "out " ++lines[file] }
$1 != "out" { key = $1 }
{
	said[file, key] = value
	if (!(key in known))
		order[++count] = key
	known[key] = 1
}
function of(which, key) {
	return (which, key) in said ? said[which, key] : "none"
}
END {
	for (i = 1; i <= count; i++) {
		key = order[i]
		if (key != "peak" && of(1, key) != of(2, key)) {
			printf "%s\t%s\t%s\ton the GPU: %s\trehearsed: %s\n", key == "error" ? "WRONG" : "differs", name,
				key, of(1, key), of(2, key)
			bad = bad || key == "error"
		}
	}
	for (which = 1; which <= 2; which++)
		if (!((which, "peak") in said)) {
			printf "WRONG\t%s\tit has no end %s\n", name, which == 1 ? "on the GPU" : "rehearsed"
			bad = 1
		}
	estimate = of(2, "peak") + 0
	if (!bad)
		print "peak", name, of(1, "peak") " bytes on the GPU", estimate " bytes rehearsed" \
			(estimate ? sprintf("\ttimes %.2f", of(1, "peak") / estimate) : "")
	exit bad
}

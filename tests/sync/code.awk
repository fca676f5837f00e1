# SPDX-License-Identifier: MIT
# Prints FILE:LINE:TEXT of C sources without comments and without what strings hold.
FNR == 1 {
	comment = 0
}
{
	code = ""
	quote = ""
	for (i = 1; i <= length($0); i++) {
		c = substr($0, i, 1)
		two = substr($0, i, 2)
		if (comment) {
			if (two == "*/") {
				comment = 0
				i++
			}
		} else if (quote != "") {
			if (c == "\\")
				i++
			else if (c == quote) {
				quote = ""
				code = code c
			}
		} else if (two == "/*") {
			comment = 1
			code = code " "
			i++
		} else if (two == "//") {
			break
		} else {
			code = code c
			if (c == "\"" || c == "'")
				quote = c
		}
	}
	if (code ~ /[^ \t]/)
		print FILENAME ":" FNR ":" code
}

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of lib.sh
# What keys.test and override.test share, after lib.sh: the file machine.ini, and in `rows` the rows of keys.table.

defs=$srcdir/libgpumap/request/profile_keys.def
cpu=$(awk '/^Cpus_allowed_list/ { sub(/[-,].*/, "", $2); print $2 }' /proc/self/status)
awk -v cpu="$cpu" 'BEGIN {
	print "[snapshot]\nschema = 1"
	for (i = 0; i < 3; i++)
		printf "[gpu %d]\nuuid = GPU-%d0000000-0000-4000-8000-000000000000\npci = 0000:0%d:00.0\nname = A\nnuma = 0\ncpus = %s\n", i, i, i + 1, cpu
}' >machine.ini
mkdir sub
grep -v '^#' "$srcdir/tests/cli/keys.table" | sed "s/|list:CPU|/|list:$cpu|/" >rows

# keys_with REGEX: the keys of [profile] and [program] whose row in profile_keys.def matches, as SECTION:KEY
keys_with() {
	awk -v wanted="$1" '/^PROFILE_KEY\(/ { row = "" } { row = row $0 }
		/\)$/ && row ~ /^PROFILE_KEY\(/ && row ~ wanted {
			split(row, part, /[(,] */)
			print part[2] ":" part[3]
			row = ""
		}' "$defs"
}

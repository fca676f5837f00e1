# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # variables of the tests and of tests/cli/lib.sh
# What the tests under real launchers share, after tests/cli/lib.sh.
report=$builddir/tests/servers/report

# Launchers leave files, which are removed with the test's own folder.
TMPDIR=$trash
export TMPDIR

# cannot WHAT: skips the test, or the rest of it; where these tests were asked for, it fails.
cannot() {
	if [ -z "$servers" ]; then
		[ "$tests" -gt 0 ] || skip_all "NOTHING WAS TRIED, $1"
		skip 'the rest' "NOTHING MORE WAS TRIED, $1"
		done_testing
	fi
	echo "Bail out! $1"
	done=yes
	exit 99
}

[ -x "$report" ] || cannot "$report is not built"

# ranks_are NAME FIELD... <LINES: these fields of what report printed into $out, by rank
ranks_are() {
	ranks_name=$1
	shift
	awk -v wanted="$*" '{
		sub(/^.*rank=/, "rank=") # what a launcher puts before a line
		split("", value)
		fields = split($0, field, "\t")
		for (i = 1; i <= fields; i++) {
			at = index(field[i], "=")
			value[substr(field[i], 1, at - 1)] = substr(field[i], at + 1)
		}
		count = split(wanted, name, " ")
		for (i = 1; i <= count; i++)
			printf "%s%s", value[name[i]], i < count ? " " : "\n"
	}' "$out" | sort -n >"$trash/ranks"
	if ranks_differ=$(diff -u - "$trash/ranks"); then
		ok "$ranks_name"
	else
		not_ok "$ranks_name" "$ranks_differ"
	fi
}

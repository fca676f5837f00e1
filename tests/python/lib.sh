# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables of tests/cli/lib.sh
# What the tests of the Python module share, after tests/cli/lib.sh.

module=$builddir/python/package
[ -e "$module/gpumap/_gpumap.abi3.so" ] || skip_all 'the module was not built: install python3-dev'
have python3 || skip_all 'python3 is missing: install python3'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip_all 'python3 is older than 3.10'
# python3 has no sanitizer, so the module's comes before it, and before it alone.
if sanitized; then
	cc=$(sed -n 's/^CC = //p' "$builddir/Makefile")
	for asan in "libclang_rt.asan-$(uname -m).so" libasan.so ''; do
		asan=$($cc -print-file-name="$asan")
		[ ! -f "$asan" ] || break
	done
	[ -f "$asan" ] || skip_all "$cc has no library of its sanitizer"
	mkdir sanitized-bin
	cat >sanitized-bin/python3 <<-END
		#!/bin/sh
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$asan exec $(command -v python3) "\$@"
	END
	chmod +x sanitized-bin/python3
	PATH=$PWD/sanitized-bin:$PATH
fi
grep -qs '^COVERAGE_CFLAGS = .' "$builddir/Makefile" && skip_all 'this build counts lines'
PYTHONPATH=$module
PYTHONDONTWRITEBYTECODE=yes
export PYTHONPATH PYTHONDONTWRITEBYTECODE

# py FILE [ARGUMENT...]: runs a file of tests/python with all warnings as errors
py() {
	py_file=$srcdir/tests/python/$1
	shift
	python3 -X dev -W error "$py_file" "$@"
}

# tap COMMAND...: its lines of TAP become results of this test
tap() {
	"$@" >tap.out 2>tap.err </dev/null
	tap_status=$?
	while read -r tap_line; do
		case $tap_line in
		'ok '*'# SKIP'*) skip "${tap_line#ok * - }" "${tap_line##*# SKIP }" ;;
		'ok '*) ok "${tap_line#ok * - }" ;;
		'not ok '*) not_ok "${tap_line#not ok * - }" ;;
		*) printf '%s\n' "$tap_line" ;;
		esac
	done <tap.out
	[ "$tap_status" -eq 0 ] || not_ok "$* ends well" "status $tap_status: $(tail -n 20 tap.err)"
	holds "$1 $2 says nothing on standard error" test ! -s tap.err || comment <tap.err
}

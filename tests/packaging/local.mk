# SPDX-License-Identifier: MIT
# Tests of what packaging/ builds. They take minutes, and programs that few machines have.
packaging_tests = tests/packaging/deb.test tests/packaging/portable.test
TESTS += $(packaging_tests)
EXTRA_DIST += $(packaging_tests)

# SPDX-License-Identifier: MIT
# Tests of the Python module. They are skipped if it was not built.
python_tests = \
	tests/python/here.test \
	tests/python/module.test \
	tests/python/pick.test \
	tests/python/plan.test \
	tests/python/resolve.test
TESTS += $(python_tests)
$(python_tests:.test=.log): $(command_built) $(python_built)
tests/python/here.log: tests/unit/fake-driver/libcuda.so.1
tests/python/module.log: tests/python/libfail.la
EXTRA_DIST += $(python_tests) tests/python/differ.py tests/python/here.py tests/python/lib.sh tests/python/load.py \
	tests/python/nomem.py tests/python/pick.py tests/python/plan.py tests/python/resolve.py tests/python/resolve.tsv tests/python/tap.py \
	tests/python/typed.py

# Allocations that fail, for LD_PRELOAD: the tests call it.
check_LTLIBRARIES += tests/python/libfail.la
tests_python_libfail_la_SOURCES = tests/unit/failing_malloc.c tests/unit/failing_malloc.h
tests_python_libfail_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_python_libfail_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere

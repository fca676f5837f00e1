# SPDX-License-Identifier: MIT
# What must agree: the source with the house's limits, the symbols with the header, the
# options and rules with the manual.
AM_TESTS_ENVIRONMENT += GPUMAP_TEST_CC='$(CC)'; GPUMAP_TEST_CXX='$(CXX)'; \
	GPUMAP_TEST_CPPFLAGS='-D_GNU_SOURCE $(INIH_CFLAGS) $(EXPAT_CFLAGS) $(JANSSON_CFLAGS) $(DNNL_CPPFLAGS) $(CUDA_CPPFLAGS)'; \
	export GPUMAP_TEST_CC GPUMAP_TEST_CXX GPUMAP_TEST_CPPFLAGS;

sync_tests = \
	tests/sync/built.test \
	tests/sync/debian.test \
	tests/sync/dist.test \
	tests/sync/findings.test \
	tests/sync/format.test \
	tests/sync/globals.test \
	tests/sync/headers.test \
	tests/sync/layers.test \
	tests/sync/limits.test \
	tests/sync/manual.test \
	tests/sync/named.test \
	tests/sync/options.test \
	tests/sync/order.test \
	tests/sync/rules.test \
	tests/sync/shell.test \
	tests/sync/symbols.test \
	tests/sync/words.test
TESTS += $(sync_tests)
# globals.test, order.test and symbols.test read object files.
tests/sync/globals.log tests/sync/order.log tests/sync/symbols.log: $(trainer_built) $(noinst_LTLIBRARIES) \
	$(lib_LTLIBRARIES)
tests/sync/manual.log tests/sync/options.log tests/sync/rules.log: $(command_built)
tests/sync/manual.log: man/tables
if !HAVE_CHECK
TESTS += tests/sync/no-libcheck.test
endif
EXTRA_DIST += $(sync_tests) tests/sync/no-libcheck.test tests/sync/code.awk \
	tests/sync/lib.sh tests/sync/order.py tests/sync/order.table

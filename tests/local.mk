# SPDX-License-Identifier: MIT
# Every test prints TAP: the programs of libcheck, and NAME.test, which is a POSIX shell script.
TEST_EXTENSIONS = .test
TEST_LOG_DRIVER = $(LOG_DRIVER)
TEST_LOG_COMPILER = /bin/sh

LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = CK_TAP_LOG_FILE_NAME=-; CK_VERBOSITY=silent; \
	GPUMAP_TEST_SRCDIR='$(abs_top_srcdir)'; \
	export CK_TAP_LOG_FILE_NAME CK_VERBOSITY GPUMAP_TEST_SRCDIR;

# Tests begin in this order: those that take longest first, so that no core waits for one at the end.
include tests/trainer/kernels/local.mk
include tests/trainer/unit/local.mk
include tests/trainer/fake/local.mk
include tests/trainer/cli/local.mk
include tests/launch/local.mk
include tests/lease/local.mk
include tests/servers/local.mk
include tests/packaging/local.mk
include tests/cli/local.mk
include tests/python/local.mk
include tests/rehearse/local.mk
include tests/sync/local.mk
include tests/unit/local.mk
include tests/fuzz/local.mk
include tests/gpu/local.mk

# A log depends on what its test starts, and ./dev test NAME builds nothing else. Here are the groups; the local.mk of a
# folder has what single tests need besides. tests/sync/built.test compares these rules with the tests.
command_built = gpumap $(pretend_LTLIBRARIES) $(pkglibexec_PROGRAMS)
trainer_built = $(command_built) $(bin_PROGRAMS) $(pkglib_LTLIBRARIES)
$(bundle_tests:.test=.log) $(train_tests:.test=.log) $(train_alone_tests:.test=.log): $(trainer_built)
$(cli_tests:.test=.log) $(lease_tests:.test=.log) $(launch_tests:.test=.log) $(server_tests:.test=.log): $(command_built)

# What ./dev test runs.
quick_tests = $(cli_tests) $(python_tests) $(rehearse_tests) $(sync_tests) $(unit_programs) $(launch_programs) $(train_programs)
# What a build with sanitizers runs in ./dev check. In the other tests sanitizers see nothing, or nothing more:
# those read the source, compile or start programs of their own, or are train_alone_tests.
sanitized_tests = $(train_tests) $(train_programs) $(launch_tests) $(launch_programs) $(lease_tests) $(cli_tests) \
	$(unit_programs) tests/python/here.test tests/python/pick.test tests/python/plan.test tests/python/resolve.test
# What ./dev check runs from the tarball: what reads many files of it, and what is installed. Only
# packed_programs are built, and cleaned.
packed_units = tests/unit/t-fixtures tests/unit/t-vectors
packed_programs = $(packed_units) man/tables tests/trainer/unit/settings-main
packed_tests = $(packed_units) tests/cli/explain.test tests/cli/install.test tests/cli/lint.test \
	tests/cli/readme.test tests/sync/manual.test tests/sync/options.test

# ./dev check --full runs it, where there is a PyTorch.
EXTRA_DIST += tests/systems tests/torch tests/README.md

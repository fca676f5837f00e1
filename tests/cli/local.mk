# SPDX-License-Identifier: MIT
# Tests of the real binary. 'make check GPUMAP=FILE' runs them on another one.
GPUMAP = $(abs_builddir)/gpumap$(EXEEXT)
# OpenMP's threads would spin while others compute.
AM_TESTS_ENVIRONMENT += GPUMAP='$(GPUMAP)'; GPUMAP_TEST_BUILDDIR='$(abs_builddir)'; \
	OMP_WAIT_POLICY=passive; export GPUMAP GPUMAP_TEST_BUILDDIR OMP_WAIT_POLICY;

cli_tests = \
	tests/cli/color.test \
	tests/cli/completion.test \
	tests/cli/config.test \
	tests/cli/doctor.test \
	tests/cli/dry-run.test \
	tests/cli/dev.test \
	tests/cli/emit.test \
	tests/cli/exec.test \
	tests/cli/explain.test \
	tests/cli/findings.test \
	tests/cli/gpu.test \
	tests/cli/habits.test \
	tests/cli/hostlist.test \
	tests/cli/install.test \
	tests/cli/keys.test \
	tests/cli/launchers.test \
	tests/cli/lib.test \
	tests/cli/lint-job.test \
	tests/cli/lint-shell.test \
	tests/cli/lint.test \
	tests/cli/machine.test \
	tests/cli/manners.test \
	tests/cli/mistakes.test \
	tests/cli/nested.test \
	tests/cli/nomem.test \
	tests/cli/override.test \
	tests/cli/plan-files.test \
	tests/cli/plan.test \
	tests/cli/pretend.test \
	tests/cli/ps.test \
	tests/cli/ps-others.test \
	tests/cli/ranks.test \
	tests/cli/readme.test \
	tests/cli/remedies.test \
	tests/cli/rules.test \
	tests/cli/run-faults.test \
	tests/cli/run.test \
	tests/cli/schemas.test \
	tests/cli/snapshot.test \
	tests/cli/torchrun.test \
	tests/cli/tutorial.test \
	tests/cli/usage.test \
	tests/cli/value.test \
	tests/cli/verify.test \
	tests/cli/word-hints.test
# Tests of the bundle for a machine with a GPU, and of the stages that run there. They use the programs of the build.
bundle_tests = \
	tests/cli/gpu-all.test \
	tests/cli/gpu-bundle.test \
	tests/cli/gpu-faults.test \
	tests/cli/gpu-stages.test
TESTS += $(bundle_tests) $(cli_tests)
tests/cli/findings.log: rehearse/tree
tests/cli/gpu-stages.log: $(fake_drivers)
tests/cli/hostlist.log: tests/unit/hostlist-main
tests/cli/install.log: $(trainer_built) $(lib_LTLIBRARIES)
tests/cli/lint-shell.log: tests/unit/lint-shell-main
tests/cli/nomem.log: tests/cli/gpumap-failing
tests/cli/run.log: tests/servers/report
EXTRA_DIST += $(cli_tests) $(bundle_tests) tests/cli/word-hints.tsv tests/cli/doctor.tsv tests/cli/emit-accelerate.py tests/cli/emit.py tests/cli/emit.tsv tests/cli/exec.tsv \
	tests/cli/explain.py tests/cli/explain.tsv tests/cli/gpu-lib.sh tests/cli/lib.sh tests/cli/keys.sh tests/cli/keys.table tests/cli/launchers.py tests/cli/lint.tsv tests/cli/lint-job.tsv tests/cli/machine.tsv tests/cli/nomem.py tests/cli/nvitop-lists.py tests/cli/valgrind.py \
	tests/cli/plan.py tests/cli/plan.tsv tests/cli/schemas.py

# The command, with allocations that can fail.
check_PROGRAMS += tests/cli/gpumap-failing
tests_cli_gpumap_failing_SOURCES = tests/cli/failing-command.c $(gpumap_SOURCES)
tests_cli_gpumap_failing_CPPFLAGS = $(gpumap_CPPFLAGS)
tests_cli_gpumap_failing_LDFLAGS = $(gpumap_LDFLAGS) -Wl,--wrap=main
tests_cli_gpumap_failing_LDADD = $(failing_malloc) $(gpumap_LDADD)

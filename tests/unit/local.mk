# SPDX-License-Identifier: MIT
# libcheck programs; each prints TAP, a line for every test.
unit_ldadd = tests/unit/libunit.la libgpumap-core.la $(CHECK_LIBS)
unit_cflags = $(AM_CFLAGS) $(CHECK_CFLAGS)
# What several of them use: machines, statements and terms as text, for tables of answers; hosts, settings and plans as
# text; profiles and hosts as text, to plans that can be started; a made-up /proc and /sys.
if HAVE_CHECK
check_LTLIBRARIES += tests/unit/libunit.la
endif
tests_unit_libunit_la_SOURCES = \
	tests/unit/jobs.c tests/unit/jobs.h tests/unit/profiles.h \
	tests/unit/machines.c tests/unit/machines.h \
	tests/unit/picture.c tests/unit/picture.h \
	tests/unit/plans.c tests/unit/plans.h \
	tests/unit/terms.c \
	tests/unit/tree.c tests/unit/tree.h \
	tests/unit/tsv.c tests/unit/tsv.h \
	tests/unit/unit.h
tests_unit_libunit_la_CFLAGS = $(unit_cflags)
# A program that links it can make allocations fail; see failing_malloc.h.
failing_malloc = tests/unit/libfailing-malloc.la
check_LTLIBRARIES += $(failing_malloc)
tests_unit_libfailing_malloc_la_SOURCES = tests/unit/failing_malloc.c tests/unit/failing_malloc.h \
	tests/unit/sanitized.h
if HAVE_CHECK
unit_programs = \
	tests/unit/t-attempt \
	tests/unit/t-base \
	tests/unit/t-cpus \
	tests/unit/t-doctor \
	tests/unit/t-doctor-program \
	tests/unit/t-driver \
	tests/unit/t-emit-nomem \
	tests/unit/t-failing-malloc \
	tests/unit/t-findings \
	tests/unit/t-format \
	tests/unit/t-fixtures \
	tests/unit/t-hostlist \
	tests/unit/t-inifile \
	tests/unit/t-inivalue \
	tests/unit/t-lint-environment \
	tests/unit/t-lint-growth \
	tests/unit/t-lint-notebook \
	tests/unit/t-lint-python \
	tests/unit/t-python-device \
	tests/unit/t-lint-shell \
	tests/unit/t-nomem \
	tests/unit/t-nvml \
	tests/unit/t-nvml-usage \
	tests/unit/t-open \
	tests/unit/t-plan-alike \
	tests/unit/t-plan-bad \
	tests/unit/t-plan-cells \
	tests/unit/t-plan-cores \
	tests/unit/t-plan-diff \
	tests/unit/t-plan-drawn \
	tests/unit/t-plan-job \
	tests/unit/t-plan-job-nomem \
	tests/unit/t-plan-nomem \
	tests/unit/t-plan-select \
	tests/unit/t-plan-svg \
	tests/unit/t-pretend \
	tests/unit/t-pretend-use \
	tests/unit/t-proc \
	tests/unit/t-process-path \
	tests/unit/t-profile \
	tests/unit/t-profile-bad \
	tests/unit/t-profile-nomem \
	tests/unit/t-profile-set \
	tests/unit/t-properties \
	tests/unit/t-rank-identity \
	tests/unit/t-recorded \
	tests/unit/t-recorded-bad \
	tests/unit/t-request \
	tests/unit/t-resolve \
	tests/unit/t-rootfile \
	tests/unit/t-run-live \
	tests/unit/t-save \
	tests/unit/t-slurm-grant \
	tests/unit/t-snapshot \
	tests/unit/t-snapshot-nomem \
	tests/unit/t-snapshot-recorded \
	tests/unit/t-snapshot-trip \
	tests/unit/t-speech \
	tests/unit/t-svg \
	tests/unit/t-vectors \
	tests/unit/t-verify \
	tests/unit/t-visible \
	tests/unit/t-words
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)
endif

tests_unit_t_attempt_SOURCES = tests/unit/t-attempt.c tests/unit/unit.h
tests_unit_t_attempt_CFLAGS = $(unit_cflags)
tests_unit_t_attempt_LDADD = libdoctor.la $(unit_ldadd)
tests_unit_t_base_SOURCES = tests/unit/t-base.c tests/unit/unit.h
tests_unit_t_base_CFLAGS = $(unit_cflags)
tests_unit_t_base_LDADD = $(unit_ldadd)

tests_unit_t_speech_SOURCES = tests/unit/t-speech.c tests/unit/unit.h
tests_unit_t_speech_CFLAGS = $(unit_cflags)
tests_unit_t_speech_LDADD = $(unit_ldadd)

tests_unit_t_hostlist_SOURCES = tests/unit/t-hostlist.c tests/unit/unit.h
tests_unit_t_hostlist_CFLAGS = $(unit_cflags)
tests_unit_t_hostlist_LDADD = $(unit_ldadd)

# Needs no libcheck: tests/cli/hostlist.test runs it beside Slurm.
check_PROGRAMS += tests/unit/hostlist-main
tests_unit_hostlist_main_SOURCES = tests/unit/hostlist-main.c
tests_unit_hostlist_main_LDADD = libgpumap-core.la

tests_unit_t_nvml_SOURCES = tests/unit/t-nvml.c tests/unit/unit.h \
	tests/unit/fake-nvml.c tests/unit/fake-nvml.h
tests_unit_t_nvml_CFLAGS = $(unit_cflags)
tests_unit_t_nvml_LDADD = $(unit_ldadd)

tests_unit_t_nvml_usage_SOURCES = tests/unit/t-nvml-usage.c tests/unit/unit.h \
	tests/unit/fake-nvml.c tests/unit/fake-nvml.h
tests_unit_t_nvml_usage_CFLAGS = $(unit_cflags)
tests_unit_t_nvml_usage_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_open_SOURCES = tests/unit/t-open.c tests/unit/unit.h
tests_unit_t_open_CFLAGS = $(unit_cflags)
tests_unit_t_open_LDADD = $(unit_ldadd)

pretend_cppflags = $(AM_CPPFLAGS) \
	-DPRETENDED='"$(abs_builddir)/pretend/.libs/libnvidia-ml.so.1"'
tests_unit_t_pretend_SOURCES = tests/unit/t-pretend.c tests/unit/pretended.h tests/unit/unit.h
tests_unit_t_pretend_CPPFLAGS = $(pretend_cppflags)
tests_unit_t_pretend_CFLAGS = $(unit_cflags)
tests_unit_t_pretend_LDADD = $(unit_ldadd)
EXTRA_tests_unit_t_pretend_DEPENDENCIES = $(pretend_LTLIBRARIES)
tests_unit_t_pretend_use_SOURCES = tests/unit/t-pretend-use.c tests/unit/pretended.h \
	tests/unit/unit.h
tests_unit_t_pretend_use_CPPFLAGS = $(pretend_cppflags)
tests_unit_t_pretend_use_CFLAGS = $(unit_cflags)
tests_unit_t_pretend_use_LDADD = $(unit_ldadd)
EXTRA_tests_unit_t_pretend_use_DEPENDENCIES = $(pretend_LTLIBRARIES)

tests_unit_t_proc_SOURCES = tests/unit/t-proc.c tests/unit/unit.h
tests_unit_t_proc_CFLAGS = $(unit_cflags)
tests_unit_t_proc_LDADD = $(unit_ldadd)

# Of the command, but knows nothing of it.
tests_unit_t_cpus_SOURCES = tests/unit/t-cpus.c tests/unit/unit.h
tests_unit_t_cpus_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tests_unit_t_cpus_CFLAGS = $(unit_cflags)
tests_unit_t_cpus_LDADD = $(failing_malloc) libcommand.la $(unit_ldadd)

# Of the command as well.

tests_unit_t_emit_nomem_SOURCES = tests/unit/t-emit-nomem.c tests/unit/unit.h
tests_unit_t_emit_nomem_CFLAGS = $(unit_cflags)
tests_unit_t_emit_nomem_LDADD = $(failing_malloc) $(unit_ldadd)
tests_unit_t_failing_malloc_SOURCES = tests/unit/t-failing-malloc.c tests/unit/unit.h
tests_unit_t_failing_malloc_CFLAGS = $(unit_cflags)
tests_unit_t_failing_malloc_LDADD = $(failing_malloc) $(unit_ldadd)

EXTRA_DIST += tests/vectors

tests_unit_t_nomem_SOURCES = tests/unit/t-nomem.c tests/unit/unit.h
tests_unit_t_nomem_CFLAGS = $(unit_cflags)
tests_unit_t_nomem_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_properties_SOURCES = tests/unit/t-properties.c tests/unit/draws.h tests/unit/unit.h
tests_unit_t_properties_CFLAGS = $(unit_cflags)
tests_unit_t_properties_LDADD = $(unit_ldadd)

tests_unit_t_rank_identity_SOURCES = tests/unit/t-rank-identity.c tests/unit/unit.h
tests_unit_t_rank_identity_CFLAGS = $(unit_cflags)
tests_unit_t_rank_identity_LDADD = $(unit_ldadd)

tests_unit_t_request_SOURCES = tests/unit/t-request.c tests/unit/unit.h
tests_unit_t_request_CFLAGS = $(unit_cflags)
tests_unit_t_request_LDADD = $(unit_ldadd)

tests_unit_t_resolve_SOURCES = tests/unit/t-resolve.c tests/unit/unit.h
tests_unit_t_resolve_CFLAGS = $(unit_cflags)
tests_unit_t_resolve_LDADD = $(unit_ldadd)
tests_unit_t_process_path_SOURCES = tests/unit/t-process-path.c tests/unit/unit.h
tests_unit_t_process_path_CFLAGS = $(unit_cflags)
tests_unit_t_process_path_LDADD = $(unit_ldadd)
tests_unit_t_rootfile_SOURCES = tests/unit/t-rootfile.c tests/unit/unit.h
tests_unit_t_rootfile_CFLAGS = $(unit_cflags)
tests_unit_t_rootfile_LDADD = $(unit_ldadd)

# Of the command: how a run shows itself.
tests_unit_t_run_live_SOURCES = tests/unit/t-run-live.c tests/unit/unit.h
tests_unit_t_run_live_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tests_unit_t_run_live_CFLAGS = $(unit_cflags)
tests_unit_t_run_live_LDADD = libcommand.la $(unit_ldadd)

tests_unit_t_svg_SOURCES = tests/unit/t-svg.c tests/unit/unit.h
tests_unit_t_svg_CFLAGS = $(unit_cflags)
tests_unit_t_svg_LDADD = $(failing_malloc) $(unit_ldadd)
tests_unit_t_vectors_SOURCES = tests/unit/t-vectors.c tests/unit/unit.h
tests_unit_t_vectors_CFLAGS = $(unit_cflags)
tests_unit_t_vectors_LDADD = $(unit_ldadd)

# Of the command: what it compares, and its answers.
tests_unit_t_verify_SOURCES = tests/unit/t-verify.c tests/unit/unit.h
tests_unit_t_verify_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tests_unit_t_verify_CFLAGS = $(unit_cflags)
tests_unit_t_verify_LDADD = libcommand.la $(unit_ldadd)

tests_unit_t_visible_SOURCES = tests/unit/t-visible.c tests/unit/unit.h
tests_unit_t_visible_CFLAGS = $(unit_cflags)
tests_unit_t_visible_LDADD = $(unit_ldadd)
tests_unit_t_findings_SOURCES = tests/unit/t-findings.c tests/unit/unit.h
tests_unit_t_findings_CFLAGS = $(unit_cflags)
tests_unit_t_findings_LDADD = $(unit_ldadd)
tests_unit_t_format_SOURCES = tests/unit/t-format.c tests/unit/unit.h
tests_unit_t_format_CFLAGS = $(unit_cflags)
tests_unit_t_format_LDADD = $(unit_ldadd)
tests_unit_t_fixtures_SOURCES = tests/unit/t-fixtures.c tests/unit/unit.h
tests_unit_t_fixtures_CFLAGS = $(unit_cflags)
tests_unit_t_fixtures_LDADD = $(unit_ldadd) $(JANSSON_LIBS)

tests_unit_t_recorded_SOURCES = tests/unit/t-recorded.c tests/unit/recorded.h tests/unit/unit.h
tests_unit_t_recorded_CFLAGS = $(unit_cflags)
tests_unit_t_recorded_LDADD = $(unit_ldadd)

tests_unit_t_driver_SOURCES = tests/unit/t-driver.c tests/unit/unit.h
tests_unit_t_driver_CPPFLAGS = $(AM_CPPFLAGS) \
	-DASK_DRIVER='"$(abs_builddir)/tools/gpumap-ask-driver"' \
	-DFAKE_DRIVER='"$(abs_builddir)/tests/unit/fake-driver"'
EXTRA_tests_unit_t_driver_DEPENDENCIES = tests/unit/fake-driver/libcuda.so.1 $(pkglibexec_PROGRAMS)
tests_unit_t_driver_CFLAGS = $(unit_cflags)
tests_unit_t_driver_LDADD = $(unit_ldadd)

tests_unit_t_inifile_SOURCES = tests/unit/t-inifile.c tests/unit/unit.h
tests_unit_t_inifile_CFLAGS = $(unit_cflags)
tests_unit_t_inifile_LDADD = $(unit_ldadd)

tests_unit_t_inivalue_SOURCES = tests/unit/t-inivalue.c tests/unit/unit.h
tests_unit_t_inivalue_CFLAGS = $(unit_cflags)
tests_unit_t_inivalue_LDADD = $(unit_ldadd)

tests_unit_t_save_SOURCES = tests/unit/t-save.c tests/unit/unit.h tests/unit/snapshots.h
tests_unit_t_save_CFLAGS = $(unit_cflags)
tests_unit_t_save_LDADD = $(unit_ldadd)

tests_unit_t_slurm_grant_SOURCES = tests/unit/t-slurm-grant.c tests/unit/unit.h
tests_unit_t_slurm_grant_CFLAGS = $(unit_cflags)
tests_unit_t_slurm_grant_LDADD = $(unit_ldadd)

tests_unit_t_snapshot_SOURCES = tests/unit/t-snapshot.c tests/unit/unit.h tests/unit/snapshots.h
tests_unit_t_snapshot_CFLAGS = $(unit_cflags)
tests_unit_t_snapshot_LDADD = $(unit_ldadd)

tests_unit_t_snapshot_nomem_SOURCES = tests/unit/t-snapshot-nomem.c tests/unit/unit.h
tests_unit_t_snapshot_nomem_CFLAGS = $(unit_cflags)
tests_unit_t_snapshot_nomem_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_snapshot_recorded_SOURCES = tests/unit/t-snapshot-recorded.c tests/unit/unit.h \
	tests/unit/snapshots.h
tests_unit_t_snapshot_recorded_CFLAGS = $(unit_cflags)
tests_unit_t_snapshot_recorded_LDADD = $(unit_ldadd)

tests_unit_t_snapshot_trip_SOURCES = tests/unit/t-snapshot-trip.c tests/unit/unit.h tests/unit/snapshots.h
tests_unit_t_snapshot_trip_CFLAGS = $(unit_cflags)
tests_unit_t_snapshot_trip_LDADD = $(unit_ldadd)

# A libcuda.so.1 in a folder of its own, for LD_LIBRARY_PATH.
tests/unit/fake-driver/libcuda.so.1: tests/gpu/fake-libcuda.c
	$(AM_V_CC)$(MKDIR_P) tests/unit/fake-driver && \
	$(CC) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ \
		$(top_srcdir)/tests/gpu/fake-libcuda.c
CLEANFILES += tests/unit/fake-driver/libcuda.so.1
tests_unit_t_recorded_bad_SOURCES = tests/unit/t-recorded-bad.c tests/unit/recorded.h tests/unit/unit.h
tests_unit_t_recorded_bad_CFLAGS = $(unit_cflags)
tests_unit_t_recorded_bad_LDADD = $(unit_ldadd)

tests_unit_t_plan_alike_SOURCES = tests/unit/t-plan-alike.c tests/unit/unit.h
tests_unit_t_plan_alike_CFLAGS = $(unit_cflags)
tests_unit_t_plan_alike_LDADD = $(failing_malloc) $(unit_ldadd)
tests_unit_t_plan_drawn_SOURCES = tests/unit/t-plan-drawn.c tests/unit/draws.h tests/unit/unit.h
tests_unit_t_plan_drawn_CFLAGS = $(unit_cflags)
tests_unit_t_plan_drawn_LDADD = $(unit_ldadd)

tests_unit_t_plan_cells_SOURCES = tests/unit/t-plan-cells.c tests/unit/unit.h
tests_unit_t_plan_cells_CFLAGS = $(unit_cflags)
tests_unit_t_plan_cells_LDADD = $(unit_ldadd)

tests_unit_t_plan_cores_SOURCES = tests/unit/t-plan-cores.c tests/unit/unit.h
tests_unit_t_plan_cores_CFLAGS = $(unit_cflags)
tests_unit_t_plan_cores_LDADD = $(unit_ldadd)

tests_unit_t_plan_bad_SOURCES = tests/unit/t-plan-bad.c tests/unit/unit.h
tests_unit_t_plan_bad_CFLAGS = $(unit_cflags)
tests_unit_t_plan_bad_LDADD = $(unit_ldadd)

tests_unit_t_plan_diff_SOURCES = tests/unit/t-plan-diff.c tests/unit/unit.h
tests_unit_t_plan_diff_CFLAGS = $(unit_cflags)
tests_unit_t_plan_diff_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_plan_job_SOURCES = tests/unit/t-plan-job.c tests/unit/unit.h
tests_unit_t_plan_job_CFLAGS = $(unit_cflags)
tests_unit_t_plan_job_LDADD = $(unit_ldadd)

tests_unit_t_plan_job_nomem_SOURCES = tests/unit/t-plan-job-nomem.c tests/unit/unit.h
tests_unit_t_plan_job_nomem_CFLAGS = $(unit_cflags)
tests_unit_t_plan_job_nomem_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_plan_svg_SOURCES = tests/unit/t-plan-svg.c tests/unit/unit.h
tests_unit_t_plan_svg_CFLAGS = $(unit_cflags)
tests_unit_t_plan_svg_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_plan_nomem_SOURCES = tests/unit/t-plan-nomem.c tests/unit/unit.h
tests_unit_t_plan_nomem_CFLAGS = $(unit_cflags)
tests_unit_t_plan_nomem_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_plan_select_SOURCES = tests/unit/t-plan-select.c tests/unit/unit.h
tests_unit_t_plan_select_CFLAGS = $(unit_cflags)
tests_unit_t_plan_select_LDADD = $(unit_ldadd)
tests_unit_t_profile_SOURCES = tests/unit/t-profile.c tests/unit/unit.h tests/unit/profiles.h
tests_unit_t_profile_CFLAGS = $(unit_cflags)
tests_unit_t_profile_LDADD = $(unit_ldadd)

tests_unit_t_profile_bad_SOURCES = tests/unit/t-profile-bad.c tests/unit/unit.h tests/unit/profiles.h
tests_unit_t_profile_bad_CFLAGS = $(unit_cflags)
tests_unit_t_profile_bad_LDADD = $(unit_ldadd)

tests_unit_t_profile_nomem_SOURCES = tests/unit/t-profile-nomem.c tests/unit/unit.h tests/unit/profiles.h
tests_unit_t_profile_nomem_CFLAGS = $(unit_cflags)
tests_unit_t_profile_nomem_LDADD = $(failing_malloc) $(unit_ldadd)

tests_unit_t_words_SOURCES = tests/unit/t-words.c tests/unit/unit.h
tests_unit_t_words_CFLAGS = $(unit_cflags)
tests_unit_t_words_LDADD = $(unit_ldadd)

tests_unit_t_profile_set_SOURCES = tests/unit/t-profile-set.c tests/unit/unit.h tests/unit/profiles.h
tests_unit_t_profile_set_CFLAGS = $(unit_cflags)
tests_unit_t_profile_set_LDADD = $(unit_ldadd)

tests_unit_t_lint_shell_SOURCES = tests/unit/t-lint-shell.c tests/unit/unit.h
tests_unit_t_lint_shell_CFLAGS = $(unit_cflags)
tests_unit_t_lint_shell_LDADD = liblint.la $(unit_ldadd)

# Needs no libcheck: tests/cli/lint-shell.test runs it on scripts that are in use.
check_PROGRAMS += tests/unit/lint-shell-main
tests_unit_lint_shell_main_SOURCES = tests/unit/lint-shell-main.c
tests_unit_lint_shell_main_LDADD = liblint.la libgpumap-core.la
tests_unit_t_doctor_program_SOURCES = tests/unit/t-doctor-program.c tests/unit/unit.h
tests_unit_t_doctor_program_CFLAGS = $(unit_cflags)
tests_unit_t_doctor_program_LDADD = libdoctor.la liblint.la $(unit_ldadd)
tests_unit_t_doctor_SOURCES = tests/unit/t-doctor.c tests/unit/unit.h
tests_unit_t_doctor_CFLAGS = $(unit_cflags)
tests_unit_t_doctor_LDADD = libdoctor.la liblint.la $(unit_ldadd)
tests_unit_t_lint_environment_SOURCES = tests/unit/t-lint-environment.c tests/unit/unit.h
tests_unit_t_lint_environment_CFLAGS = $(unit_cflags)
tests_unit_t_lint_environment_LDADD = liblint.la $(unit_ldadd)

tests_unit_t_lint_growth_SOURCES = tests/unit/t-lint-growth.c tests/unit/unit.h
tests_unit_t_lint_growth_CFLAGS = $(unit_cflags)
tests_unit_t_lint_growth_LDADD = liblint.la $(unit_ldadd)

tests_unit_t_lint_notebook_SOURCES = tests/unit/t-lint-notebook.c tests/unit/unit.h
tests_unit_t_lint_notebook_CFLAGS = $(unit_cflags)
tests_unit_t_lint_notebook_LDADD = liblint.la $(unit_ldadd)

tests_unit_t_lint_python_SOURCES = tests/unit/t-lint-python.c tests/unit/unit.h
tests_unit_t_lint_python_CFLAGS = $(unit_cflags)
tests_unit_t_lint_python_LDADD = liblint.la $(unit_ldadd)
tests_unit_t_python_device_SOURCES = tests/unit/t-python-device.c tests/unit/unit.h
tests_unit_t_python_device_CFLAGS = $(unit_cflags)
tests_unit_t_python_device_LDADD = liblint.la $(unit_ldadd)

# SPDX-License-Identifier: MIT
# The launcher with real processes, through a program that starts ranks without a plan.
check_PROGRAMS += tests/launch/driver tests/launch/writer
tests_launch_driver_SOURCES = tests/launch/driver.c
tests_launch_driver_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch
tests_launch_driver_LDADD = libcommand.la libgpumap-core.la

# Lines that show whether they arrived whole.
tests_launch_writer_SOURCES = tests/launch/writer.c

if HAVE_CHECK
launch_programs = tests/launch/t-exit-status tests/launch/t-guard-events tests/launch/t-launch-nomem \
	tests/launch/t-held-port tests/launch/t-cgroup-folder
check_PROGRAMS += $(launch_programs)
endif
tests_launch_t_exit_status_SOURCES = tests/launch/t-exit-status.c
tests_launch_t_exit_status_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch \
	-I$(top_srcdir)/tests/unit
tests_launch_t_exit_status_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_launch_t_exit_status_LDADD = libcommand.la libgpumap-core.la $(CHECK_LIBS)

tests_launch_t_guard_events_SOURCES = tests/launch/t-guard-events.c
tests_launch_t_guard_events_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch \
	-I$(top_srcdir)/tests/unit
tests_launch_t_guard_events_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_launch_t_guard_events_LDADD = libcommand.la libgpumap-core.la $(CHECK_LIBS)

tests_launch_t_launch_nomem_SOURCES = tests/launch/t-launch-nomem.c
tests_launch_t_launch_nomem_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch \
	-I$(top_srcdir)/tests/unit
tests_launch_t_launch_nomem_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_launch_t_launch_nomem_LDADD = $(failing_malloc) libcommand.la libgpumap-core.la $(CHECK_LIBS)

tests_launch_t_held_port_SOURCES = tests/launch/t-held-port.c
tests_launch_t_held_port_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch -I$(top_srcdir)/tests/unit
tests_launch_t_held_port_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_launch_t_held_port_LDADD = libcommand.la libgpumap-core.la $(CHECK_LIBS)

tests_launch_t_cgroup_folder_SOURCES = tests/launch/t-cgroup-folder.c
tests_launch_t_cgroup_folder_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch \
	-I$(top_srcdir)/tests/unit
tests_launch_t_cgroup_folder_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_launch_t_cgroup_folder_LDADD = libcommand.la libgpumap-core.la $(CHECK_LIBS)

launch_tests = \
	tests/launch/signals.test \
	tests/launch/busy.test \
	tests/launch/cgroup.test \
	tests/launch/command.test \
	tests/launch/console.test \
	tests/launch/end.test \
	tests/launch/free.test \
	tests/launch/start.test
TESTS += $(launch_tests) $(launch_programs)
$(launch_tests:.test=.log): tests/launch/driver tests/launch/writer
EXTRA_DIST += $(launch_tests) tests/launch/lib.sh

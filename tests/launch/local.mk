# SPDX-License-Identifier: MIT
# The launcher with real processes, through a program that starts ranks without a plan.
check_PROGRAMS += tests/launch/driver tests/launch/writer
tests_launch_driver_SOURCES = tests/launch/driver.c $(launch_sources)
tests_launch_driver_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/launch
tests_launch_driver_LDADD = libgpumap-core.la

# Lines that tell whether they arrived whole.
tests_launch_writer_SOURCES = tests/launch/writer.c

launch_tests =
TESTS += $(launch_tests)
EXTRA_DIST += $(launch_tests)

# SPDX-License-Identifier: MIT
# The command line links the library's objects: one file to start, nothing to find.
include tools/launch/local.mk
bin_PROGRAMS += gpumap
gpumap_SOURCES = $(launch_sources) \
	tools/cmd_config.c \
	tools/cmd_explain.c \
	tools/cmd_inventory.c \
	tools/cmd_lint.c \
	tools/cmd_plan.c \
	tools/cmd_pretend.c \
	tools/cmd_rules.c \
	tools/cmd_run.c \
	tools/command.h \
	tools/lint.h \
	tools/lint_file.c \
	tools/lint_print.c \
	tools/lint_profile.c \
	tools/lint_relay.c \
	tools/lint_script.c \
	tools/main.c \
	tools/options.c \
	tools/output.c \
	tools/sweep.h \
	tools/sweep_report.c
gpumap_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools \
	-DPRETENDDIR='"$(pretenddir)"'
gpumap_LDADD = libgpumap-core.la

# Asks libcuda in a process of its own (rule N6).
pkglibexec_PROGRAMS += tools/gpumap-ask-driver
tools_gpumap_ask_driver_SOURCES = tools/ask-driver.c tools/cuda-driver.h

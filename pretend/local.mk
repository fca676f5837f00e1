# SPDX-License-Identifier: MIT
# The library of `gpumap pretend`. Never in the linker's path: only a program that
# is started with LD_LIBRARY_PATH pointing at this folder finds it. Its number is
# NVIDIA's (libnvidia-ml.so.1), not this one.
pretenddir = $(pkglibdir)/pretend
pretend_LTLIBRARIES = pretend/libnvidia-ml.la
pretend_libnvidia_ml_la_SOURCES = \
	pretend/device.c \
	pretend/health.c \
	pretend/link.c \
	pretend/machine.c \
	pretend/mig.c \
	pretend/not_supported.c \
	pretend/pretend.h \
	pretend/system.c \
	pretend/unit.c \
	pretend/usage.c \
	pretend/use.c
pretend_libnvidia_ml_la_LIBADD = libgpumap-core.la
pretend_libnvidia_ml_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/pretend/libnvidia-ml.map
EXTRA_pretend_libnvidia_ml_la_DEPENDENCIES = pretend/libnvidia-ml.map
EXTRA_DIST += pretend/libnvidia-ml.map

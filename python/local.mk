# SPDX-License-Identifier: MIT
# The Python module. In the build tree python/package has the package: PYTHONPATH=python/package. It is not installed: a wheel is made
# of these files, since every Python has a folder of its own.
python_package = \
	python/gpumap/__init__.py \
	python/gpumap/__init__.pyi \
	python/gpumap/__main__.py \
	python/gpumap/_here.py \
	python/gpumap/_paths.py \
	python/gpumap/_pick.py \
	python/gpumap/py.typed
EXTRA_DIST += $(python_package) python/README.md

if HAVE_PYTHON
noinst_LTLIBRARIES += python/_gpumap.la
python__gpumap_la_SOURCES = \
	python/cuda.c \
	python/errors.c \
	python/inventory.c \
	python/lease.c \
	python/mapping.c \
	python/module.c python/module.h \
	python/object.c \
	python/plan.c \
	python/plan_hosts.c python/plan_hosts.h \
	python/profile.c \
	python/records.c \
	python/values.c \
	tools/job/cpus.c tools/pick/gpu_load.c tools/pick/lease_end.c tools/pick/lease_here.c tools/pick/lease_limits.c \
	tools/cli/machine.c tools/cli/which_machine.c
python__gpumap_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/python -I$(top_srcdir)/tools $(PYTHON_CPPFLAGS)
# Python takes texts that it never changes as char *.
python__gpumap_la_CFLAGS = $(AM_CFLAGS) -Wno-write-strings
python__gpumap_la_LIBADD = libgpumap-core.la
# It exports PyInit alone, which Python.h marks; -rpath makes it a shared library.
python__gpumap_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shrext .abi3.so -rpath /nowhere \
	-export-symbols-regex '^PyInit__gpumap$$'

# The package, with what it has of the source tree.
python_built = python/package/gpumap/_gpumap.abi3.so
noinst_DATA += $(python_built)
python/package/gpumap/_gpumap.abi3.so: python/_gpumap.la $(python_package)
	$(AM_V_GEN)$(MKDIR_P) python/package/gpumap && \
	for file in $(python_package); do \
		cp '$(srcdir)'/$$file python/package/gpumap/ || exit 1; \
	done && \
	chmod u+w python/package/gpumap/* && cp python/.libs/_gpumap.abi3.so $@
endif

python-clean:
	rm -rf python/package

.PHONY: python-clean

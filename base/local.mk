# SPDX-License-Identifier: MIT
# What library, command and trainer share. It knows nothing of GPUs.
base_sources = \
	base/arena.c base/arena.h \
	base/atomic_file.c base/atomic_file.h \
	base/base.h \
	base/closing.h \
	base/container.c base/container.h \
	base/cpuset.c base/cpuset.h \
	base/dynlib.c base/dynlib.h \
	base/hash.c base/hash.h \
	base/installed_path.c base/installed_path.h \
	base/nvml_api.h \
	base/nvml_library.c base/nvml_library.h \
	base/nvml_processes.c base/nvml_processes.h \
	base/memory.c base/memory.h \
	base/process_handle.c base/process_handle.h \
	base/process_path.c base/process_path.h \
	base/process_stat.c base/process_stat.h \
	base/quantity.c base/quantity.h \
	base/readfile.c base/readfile.h \
	base/reap.c base/reap.h \
	base/remove_tree.c base/remove_tree.h \
	base/rootfile.c base/rootfile.h \
	base/signal_name.c base/signal_name.h \
	base/strbuf.c base/strbuf.h \
	base/style.c base/style.h \
	base/suggest.c base/suggest.h \
	base/text.c base/text.h \
	base/text_cells.c base/text_cells.h \
	base/text_width.c base/text_width.h \
	base/trust.c base/trust.h \
	base/write_all.c base/write_all.h \
	base/xml.c base/xml.h
noinst_LTLIBRARIES += libbase.la
AM_CPPFLAGS += -DPREFIX='"$(prefix)"'
libbase_la_SOURCES = $(base_sources)

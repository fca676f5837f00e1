# SPDX-License-Identifier: MIT
# gpumap-rules(7), gpumap-findings(7) and the tables in the others are made from the library's own tables:
# "make update-manual" after a change of those, and commit the result.
dist_man_MANS += man/gpumap.1 man/gpumap-run.1 man/gpumap-findings.7 man/gpumap-rules.7 \
	man/gpumap.ini.5 man/libgpumap.3
if HAVE_TRAINER
dist_man_MANS += man/gpumap-train.1
endif
EXTRA_DIST += man/gpumap-train.1 man/update

check_PROGRAMS += man/tables
man_tables_SOURCES = man/roff.c man/roff.h man/tables.c
man_tables_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/man -I$(top_srcdir)/trainer

update-manual: man/tables$(EXEEXT)
	$(SHELL) '$(srcdir)/man/update' ./man/tables$(EXEEXT) '$(srcdir)/man' '$(srcdir)/man'

.PHONY: update-manual

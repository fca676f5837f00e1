# SPDX-License-Identifier: MIT
# Built and run by "make bench" only.
EXTRA_PROGRAMS = bench/plan bench/resolve bench/usage
CLEANFILES += $(EXTRA_PROGRAMS)
bench_plan_SOURCES = bench/plan.c
bench_plan_LDADD = libgpumap-core.la
bench_resolve_SOURCES = bench/resolve.c
bench_resolve_LDADD = libgpumap-core.la
bench_usage_SOURCES = bench/usage.c
EXTRA_DIST += bench/README.md bench/cli.sh

bench: gpumap$(EXEEXT) $(EXTRA_PROGRAMS)
	$(SHELL) '$(srcdir)/bench/cli.sh' ./gpumap$(EXEEXT) bench/usage$(EXEEXT)
	bench/resolve$(EXEEXT)
	bench/plan$(EXEEXT)

.PHONY: bench

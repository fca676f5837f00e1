# SPDX-License-Identifier: MIT
# make fuzz FUZZ_SECONDS=10 FUZZ_TARGETS='text list': every fuzz-NAME.c here, or those named.
FUZZ_SECONDS = 10
FUZZ_TARGETS =

fuzz:
	@CLANG='$(CLANG)' FUZZ_SOURCES='$(base_sources) $(libgpumap_core_la_SOURCES) $(liblint_la_SOURCES) $(libdoctor_la_SOURCES) $(trainer_files) $(kernels_files)' \
	FUZZ_CPPFLAGS='$(INIH_CFLAGS) $(EXPAT_CFLAGS) $(JANSSON_CFLAGS)' \
	FUZZ_LIBS='$(INIH_LIBS) $(EXPAT_LIBS) $(JANSSON_LIBS) $(LIBS)' \
	FUZZ_SECONDS='$(FUZZ_SECONDS)' $(SHELL) '$(abs_top_srcdir)/tests/fuzz/run' $(FUZZ_TARGETS)

mostlyclean-local:
	-rm -rf fuzz

.PHONY: fuzz
EXTRA_DIST += tests/fuzz

# SPDX-License-Identifier: MIT
# make fuzz FUZZ_SECONDS=10 FUZZ_TARGETS='text list': every fuzz-NAME.c here, or those named.
FUZZ_SECONDS = 10
FUZZ_TARGETS =
# What the targets link of the trainer and its kernels.
fuzz_trainer = kernels/scaler.c \
	trainer/backend/names.c \
	trainer/checkpoint/contents.c trainer/checkpoint/crc32.c trainer/checkpoint/load.c \
	trainer/checkpoint/progress_texts.c trainer/checkpoint/safetensors.c trainer/checkpoint/safetensors_read.c \
	trainer/checkpoint/safetensors_write.c \
	trainer/data/batch.c trainer/data/cifar10.c trainer/data/dataset.c \
	trainer/base/error.c \
	trainer/model/layer_tables.c \
	trainer/optim/clip.c trainer/optim/optimizer.c trainer/optim/update.c \
	trainer/place/place_query.c trainer/place/place.c trainer/place/find_devices.c trainer/place/run_name.c \
	trainer/settings/arguments.c trainer/settings/print_findings.c trainer/settings/help.c trainer/settings/rows.c \
	trainer/settings/section.c trainer/settings/read_settings.c trainer/settings/settle.c trainer/settings/settle_burn.c \
	trainer/settings/output_files.c \
	trainer/base/simd.c

fuzz:
	@CLANG='$(CLANG)' FUZZ_SOURCES='$(base_sources) $(libgpumap_core_la_SOURCES) $(liblint_la_SOURCES) $(libdoctor_la_SOURCES) $(fuzz_trainer)' \
	FUZZ_CPPFLAGS='$(INIH_CFLAGS) $(EXPAT_CFLAGS) $(JANSSON_CFLAGS)' \
	FUZZ_LIBS='$(INIH_LIBS) $(EXPAT_LIBS) $(JANSSON_LIBS) $(LIBS)' \
	FUZZ_SECONDS='$(FUZZ_SECONDS)' $(SHELL) '$(abs_top_srcdir)/tests/fuzz/run' $(FUZZ_TARGETS)

mostlyclean-local:
	-rm -rf fuzz

.PHONY: fuzz
EXTRA_DIST += tests/fuzz

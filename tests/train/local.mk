# SPDX-License-Identifier: MIT
# libcheck programs of the trainer.
train_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/trainer -I$(top_srcdir)/tests/unit
train_cflags = $(AM_CFLAGS) -ffp-contract=off $(CHECK_CFLAGS)
train_ldadd = libtrainer.la $(CHECK_LIBS) -lm
if HAVE_CHECK
train_programs = \
	tests/train/t-error \
	tests/train/t-init \
	tests/train/t-random \
	tests/train/t-sampler
check_PROGRAMS += $(train_programs)
TESTS += $(train_programs)
endif

tests_train_t_error_SOURCES = tests/train/t-error.c tests/unit/unit.h
tests_train_t_error_CPPFLAGS = $(train_cppflags)
tests_train_t_error_CFLAGS = $(train_cflags)
tests_train_t_error_LDADD = $(train_ldadd)

tests_train_t_init_SOURCES = tests/train/t-init.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_init_CPPFLAGS = $(train_cppflags)
tests_train_t_init_CFLAGS = $(train_cflags)
tests_train_t_init_LDADD = $(train_ldadd)

tests_train_t_random_SOURCES = tests/train/t-random.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_random_CPPFLAGS = $(train_cppflags)
tests_train_t_random_CFLAGS = $(train_cflags)
tests_train_t_random_LDADD = $(train_ldadd)

tests_train_t_sampler_SOURCES = tests/train/t-sampler.c tests/train/vectors.h tests/unit/unit.h
tests_train_t_sampler_CPPFLAGS = $(train_cppflags)
tests_train_t_sampler_CFLAGS = $(train_cflags)
tests_train_t_sampler_LDADD = $(train_ldadd)

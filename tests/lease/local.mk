# SPDX-License-Identifier: MIT
# Leases: the protocol explored, and real jobs that race for pretended GPUs.
lease_tests = tests/lease/race.test tests/lease/pick.test tests/lease/container.test tests/lease/nested.test \
	tests/lease/shell.test tests/lease/leases.test tests/lease/limits.test tests/lease/adopt.test tests/lease/mig.test \
	tests/lease/backfill.test tests/lease/settings.test tests/lease/hostile.test tests/lease/hostile-queue.test
EXTRA_DIST += $(lease_tests)
TESTS += $(lease_tests)
$(lease_tests:.test=.log): tests/lease/holder tests/lease/without
check_PROGRAMS += tests/lease/holder tests/lease/without
tests_lease_holder_SOURCES = tests/lease/holder.c
tests_lease_holder_CPPFLAGS =
tests_lease_without_SOURCES = tests/lease/without.c
tests_lease_without_CPPFLAGS =
EXTRA_DIST += tests/lease/lib.sh tests/lease/model.py tests/lease/race.py tests/lease/records.py \
	tests/lease/witness.py tests/lease/hostile.py
if HAVE_CHECK
lease_programs = tests/lease/t-backfill tests/lease/t-choose tests/lease/t-in-use tests/lease/t-near tests/lease/t-per-user \
	tests/lease/t-queue tests/lease/t-revoke tests/lease/t-slots tests/lease/t-wishes
check_PROGRAMS += $(lease_programs)
TESTS += $(lease_programs)
endif
tests_lease_t_backfill_SOURCES = tests/lease/t-backfill.c tests/unit/unit.h
tests_lease_t_backfill_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_backfill_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_backfill_LDADD = libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_choose_SOURCES = tests/lease/t-choose.c tests/unit/unit.h
tests_lease_t_choose_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_choose_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_choose_LDADD = libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_in_use_SOURCES = tests/lease/t-in-use.c tests/unit/unit.h
tests_lease_t_in_use_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_in_use_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_in_use_LDADD = libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_near_SOURCES = tests/lease/t-near.c tests/unit/draws.h tests/unit/unit.h
tests_lease_t_near_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_near_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_near_LDADD = libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_per_user_SOURCES = tests/lease/t-per-user.c tests/unit/unit.h
tests_lease_t_per_user_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_per_user_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_per_user_LDADD = $(failing_malloc) libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_queue_SOURCES = tests/lease/t-queue.c tests/unit/unit.h
tests_lease_t_queue_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_queue_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_queue_LDADD = libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_revoke_SOURCES = tests/lease/t-revoke.c tests/unit/unit.h
tests_lease_t_revoke_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_revoke_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_revoke_LDADD = $(failing_malloc) libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_slots_SOURCES = tests/lease/t-slots.c tests/unit/unit.h
tests_lease_t_slots_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_slots_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_slots_LDADD = $(failing_malloc) libgpumap-core.la $(CHECK_LIBS)
tests_lease_t_wishes_SOURCES = tests/lease/t-wishes.c tests/unit/unit.h
tests_lease_t_wishes_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_lease_t_wishes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_lease_t_wishes_LDADD = $(failing_malloc) libgpumap-core.la $(CHECK_LIBS)

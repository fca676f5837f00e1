# SPDX-License-Identifier: MIT
# GPUMAP_TRAINER: whether gpumap-train is built, --with-trainer=yes|no. What it alone needs is not
# looked for without it.
#
# Sets with_trainer (yes|no), and for make: HAVE_TRAINER, TRAINER_OPTIONS (options that
# make distcheck must pass to configure, so that it works where this configure did).
AC_DEFUN([GPUMAP_TRAINER], [
  AC_ARG_WITH([trainer], [AS_HELP_STRING([--without-trainer], [leave out gpumap-train])],
    [], [with_trainer=yes])
  TRAINER_OPTIONS=
  AS_CASE([$with_trainer],
    [yes], [AS_IF([test "x$with_dnnl" = xno], [TRAINER_OPTIONS=--without-dnnl])],
    [no], [with_dnnl=no with_mpi=no TRAINER_OPTIONS=--without-trainer],
    [AC_MSG_ERROR([--with-trainer=$with_trainer: it is yes or no])])
  AC_SUBST([TRAINER_OPTIONS])
  AM_CONDITIONAL([HAVE_TRAINER], [test "x$with_trainer" = xyes])
])

# SPDX-License-Identifier: MIT
# GPUMAP_DNNL: oneDNN 2 or 3, for the trainer on the CPU, --with-dnnl=yes|no|DIR. It has no
# pkg-config file everywhere. Without it, which must be asked for, the trainer computes with plain
# loops, which are for tests.
#
# Sets have_dnnl (yes|no), dnnl_why_not, and for make: DNNL_CPPFLAGS, DNNL_LDFLAGS, DNNL_LIBS,
# HAVE_DNNL.
AC_DEFUN([GPUMAP_DNNL], [
  AC_ARG_WITH([dnnl], [AS_HELP_STRING([--with-dnnl=yes|no|DIR], [oneDNN @<:@yes@:>@])],
    [], [with_dnnl=yes])
  DNNL_CPPFLAGS= DNNL_LDFLAGS= DNNL_LIBS= dnnl_why_not=
  AS_CASE([$with_dnnl],
    [no], [dnnl_why_not='switched off'],
    [yes], [],
    [# Or else a wrong DIR would silently find a copy elsewhere.
     AS_IF([test ! -d "$with_dnnl/include"], [dnnl_why_not="$with_dnnl has no folder include"],
       [test ! -f "$with_dnnl/include/oneapi/dnnl/dnnl.h"],
         [dnnl_why_not="$with_dnnl/include has no oneapi/dnnl/dnnl.h"])
     DNNL_CPPFLAGS="-I$with_dnnl/include"
     for dir in lib64 lib; do
       AS_IF([test -z "$DNNL_LDFLAGS" && test -d "$with_dnnl/$dir"],
         [DNNL_LDFLAGS="-L$with_dnnl/$dir"])
     done])
  AS_IF([test "x$dnnl_why_not" = x],
    [DNNL_LIBS=-ldnnl
     GPUMAP_TRY_LINK([oneDNN], [oneapi/dnnl/dnnl.h], [dnnl_primitive_execute], [$DNNL_CPPFLAGS],
       [$DNNL_LDFLAGS], [$DNNL_LIBS], [],
       [dnnl_why_not="a program with oneapi/dnnl/dnnl.h and -ldnnl does not link; see config.log"])])
  AS_IF([test "x$dnnl_why_not" = x],
    [have_dnnl=yes
     AC_DEFINE([HAVE_DNNL], [1], [Define to 1 if oneDNN is used.])],
    [have_dnnl=no DNNL_CPPFLAGS= DNNL_LDFLAGS= DNNL_LIBS=
     AS_CASE([$with_dnnl], [no], [],
       [yes],
       [AC_MSG_ERROR([oneDNN is missing: install libdnnl-dev (Fedora: onednn-devel), or leave out gpumap-train with --without-trainer ($dnnl_why_not)])],
       [AC_MSG_ERROR([--with-dnnl=$with_dnnl: $dnnl_why_not])])])
  AC_SUBST([DNNL_CPPFLAGS])
  AC_SUBST([DNNL_LDFLAGS])
  AC_SUBST([DNNL_LIBS])
  AM_CONDITIONAL([HAVE_DNNL], [test "x$have_dnnl" = xyes])
])

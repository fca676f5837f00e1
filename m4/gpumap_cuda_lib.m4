# SPDX-License-Identifier: MIT
# GPUMAP_CUDA_LIB(NAME, HEADER, FUNCTION, [FILE=NAME]): a library on top of CUDA with a C interface,
# libFILE, --with-NAME=auto|yes|no|DIR, as GPUMAP_CUDA. Without DIR it is looked for in the toolkit,
# then where the compiler looks by itself.
#
# Sets have_NAME (yes|no), NAME_why_not, and for make: NAME_CPPFLAGS, NAME_LDFLAGS, NAME_LIBS,
# HAVE_NAME, with NAME in upper case.
AC_DEFUN([GPUMAP_CUDA_LIB], [
  AC_REQUIRE([GPUMAP_CUDA])
  m4_pushdef([UP], [m4_toupper([$1])])
  m4_pushdef([LIBFILE], [m4_default([$4], [$1])])
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=auto|yes|no|DIR], [lib]LIBFILE[ @<:@auto@:>@])],
    [], [with_$1=auto])
  UP[]_CPPFLAGS= UP[]_LDFLAGS= UP[]_LIBS= $1_why_not= gpumap_dir=$CUDA_ROOT
  AS_CASE([$with_$1],
    [no], [$1_why_not='switched off'],
    [auto|yes], [],
    [gpumap_dir=$with_$1
     # Or else a wrong DIR would silently find a copy elsewhere.
     AS_IF([test ! -d "$with_$1/include"], [$1_why_not="$with_$1 has no folder include"],
       [test ! -f "$with_$1/include/$2"], [$1_why_not="$with_$1/include has no $2"])])
  AS_IF([test "x$$1_why_not" = x && test "x$have_cuda" = xno], [$1_why_not='it needs CUDA'])
  AS_IF([test "x$$1_why_not" = x],
    [UP[]_CPPFLAGS=$CUDA_CPPFLAGS UP[]_LIBS=-l[]LIBFILE
     AS_IF([test "x$gpumap_dir" != "x$CUDA_ROOT"],
       [UP[]_CPPFLAGS="-I$gpumap_dir/include $CUDA_CPPFLAGS"])
     for dir in lib64 lib; do
       AS_IF([test -z "$UP[]_LDFLAGS" && test -d "$gpumap_dir/$dir"],
         [UP[]_LDFLAGS="-L$gpumap_dir/$dir"])
     done
     GPUMAP_TRY_LINK([lib]LIBFILE, [$2], [$3], [$UP[]_CPPFLAGS], [$UP[]_LDFLAGS $CUDA_LDFLAGS],
       [$UP[]_LIBS $CUDA_LIBS], [],
       [$1_why_not="a program with $2 and $3 does not link; see config.log"])])
  AS_IF([test "x$$1_why_not" = x],
    [have_$1=yes
     AC_DEFINE([HAVE_]UP, [1], [Define to 1 if lib]LIBFILE[ is used.])],
    [have_$1=no UP[]_CPPFLAGS= UP[]_LDFLAGS= UP[]_LIBS=
     AS_CASE([$with_$1], [auto|no], [],
       [AC_MSG_ERROR([--with-$1=$with_$1: $$1_why_not])])])
  AC_SUBST(UP[_CPPFLAGS])
  AC_SUBST(UP[_LDFLAGS])
  AC_SUBST(UP[_LIBS])
  AM_CONDITIONAL([HAVE_]UP, [test "x$have_$1" = xyes])
  m4_popdef([LIBFILE])
  m4_popdef([UP])
])

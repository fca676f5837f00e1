# SPDX-License-Identifier: MIT
# GPUMAP_CHECK: libcheck for the unit tests, --with-check=auto|yes|no|DIR. Without it
# 'make check' skips them, with that reason. Sets have_check, CHECK_CFLAGS, CHECK_LIBS, HAVE_CHECK.
AC_DEFUN([GPUMAP_CHECK], [
  AC_ARG_WITH([check],
    [AS_HELP_STRING([--with-check=auto|yes|no|DIR], [libcheck, for the unit tests @<:@auto@:>@])],
    [], [with_check=auto])
  have_check=no
  AS_CASE([$with_check],
    [no], [],
    [auto|yes], [PKG_CHECK_MODULES([CHECK], [check >= 0.15], [have_check=yes], [:])],
    [AS_IF([test ! -d "$with_check/include"],
       [AC_MSG_ERROR([--with-check=$with_check: there is no folder include])])
     gpumap_saved_path=$PKG_CONFIG_PATH
     PKG_CONFIG_PATH=$with_check/lib/pkgconfig:$with_check/lib64/pkgconfig
     export PKG_CONFIG_PATH
     PKG_CHECK_MODULES([CHECK], [check >= 0.15], [have_check=yes], [:])
     PKG_CONFIG_PATH=$gpumap_saved_path])
  AS_CASE([$with_check:$have_check], [auto:*|no:*|*:yes], [],
    [AC_MSG_ERROR([libcheck >= 0.15 is missing: install check (Fedora: check-devel)])])
  AM_CONDITIONAL([HAVE_CHECK], [test "x$have_check" = xyes])
])

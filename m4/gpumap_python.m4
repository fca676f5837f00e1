# SPDX-License-Identifier: MIT
# GPUMAP_PYTHON: the headers of Python >= 3.10, for the module gpumap, --with-python=auto|yes|no. PYTHON_CONFIG
# is asked for them, or pkg-config. libpython is never linked: the interpreter that loads a module has it.
#
# Sets have_python (yes|no), python_why_not, and for make: PYTHON_CPPFLAGS, HAVE_PYTHON.
AC_DEFUN([GPUMAP_PYTHON], [
  AC_ARG_WITH([python],
    [AS_HELP_STRING([--with-python=auto|yes|no], [the Python module @<:@auto@:>@])],
    [], [with_python=auto])
  AC_ARG_VAR([PYTHON_CONFIG], [python3-config of the Python whose headers are used])
  PYTHON_CPPFLAGS= python_why_not=
  AS_CASE([$with_python:$enable_shared],
    [no:*], [python_why_not='switched off'],
    [*:no], [python_why_not='it needs --enable-shared'],
    [AS_IF([test -z "$PYTHON_CONFIG" && $PKG_CONFIG --exists python3 2>&AS_MESSAGE_LOG_FD],
       [PYTHON_CPPFLAGS=`$PKG_CONFIG --cflags python3`],
       [AC_CHECK_PROGS([PYTHON_CONFIG], [python3-config], [])
        AS_IF([test -z "$PYTHON_CONFIG"], [python_why_not='python3-config is missing'],
          [PYTHON_CPPFLAGS=`$PYTHON_CONFIG --includes 2>&AS_MESSAGE_LOG_FD`])])])
  # The warnings of its headers are not ours.
  PYTHON_CPPFLAGS=`AS_ECHO(["$PYTHON_CPPFLAGS"]) | $SED 's/-I */-isystem /g'`
  AS_IF([test "x$python_why_not" = x],
    [AC_MSG_CHECKING([for Python.h of Python 3.10 or later])
     AC_LANG_PUSH([C])
     gpumap_saved_CPPFLAGS=$CPPFLAGS
     CPPFLAGS="$CPPFLAGS $PYTHON_CPPFLAGS"
     AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#define Py_LIMITED_API 0x030a0000
#include <Python.h>
#if PY_VERSION_HEX < 0x030a0000 || defined(Py_GIL_DISABLED)
#error it cannot make a module for all versions from 3.10 on
#endif
]])], [AC_MSG_RESULT([yes])],
       [AC_MSG_RESULT([no])
        python_why_not='no Python.h of Python 3.10 or later; see config.log'])
     CPPFLAGS=$gpumap_saved_CPPFLAGS
     AC_LANG_POP([C])])
  AS_IF([test "x$python_why_not" = x], [have_python=yes],
    [have_python=no PYTHON_CPPFLAGS=
     AS_CASE([$with_python], [auto|no], [],
       [AC_MSG_ERROR([--with-python=$with_python: $python_why_not (python3-dev)])])])
  AC_SUBST([PYTHON_CPPFLAGS])
  AM_CONDITIONAL([HAVE_PYTHON], [test "x$have_python" = xyes])
])

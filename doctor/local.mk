# SPDX-License-Identifier: MIT
# A private library over the library's objects: no public function needs it.
noinst_LTLIBRARIES += libdoctor.la
libdoctor_la_SOURCES = \
	doctor/try_in_child.c doctor/try_in_child.h \
	doctor/check.c doctor/check.h \
	doctor/check_device.c \
	doctor/check_driver.c \
	doctor/check_health.c \
	doctor/check_library.c \
	doctor/check_limit.c \
	doctor/check_link.c \
	doctor/check_log.c \
	doctor/program_fits.c \
	doctor/checks.c doctor/checks.def \
	doctor/redact.c doctor/redact.h \
	doctor/doctor.c doctor/doctor.h doctor/doctor_private.h \
	doctor/doctor_json.c \
	doctor/doctor_text.c \
	doctor/elf_file.c doctor/elf_file.h \
	doctor/facts.c doctor/facts.h \
	doctor/gather.c doctor/gather.h \
	doctor/gather_devices.c \
	doctor/gather_driver.c \
	doctor/gather_libraries.c \
	doctor/gather_log.c \
	doctor/gather_nvml.c \
	doctor/gather_pci.c \
	doctor/gather_system.c \
	doctor/find_library.c doctor/find_library.h \
	doctor/needed_libraries.c \
	doctor/packages.c \
	doctor/program.c doctor/program.h \
	doctor/which_python.c \
	doctor/python.c \
	doctor/fact_lines.c doctor/fact_lines.h \
	doctor/fact_lines_python.c
libdoctor_la_LIBADD = liblint.la
EXTRA_DIST += doctor/README.md

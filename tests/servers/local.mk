# SPDX-License-Identifier: MIT
# Under real launchers: those that this machine has. ./dev check --full installs them.
check_PROGRAMS += tests/servers/report
tests_servers_report_SOURCES = tests/servers/report.c
tests_servers_report_LDADD = libgpumap-core.la

server_tests = \
	tests/servers/emit.test \
	tests/servers/mpi.test \
	tests/servers/rehearse.test \
	tests/servers/slurm.test \
	tests/servers/torch.test
TESTS += $(server_tests)
$(server_tests:.test=.log): tests/servers/report
EXTRA_DIST += $(server_tests) tests/servers/ddp.py tests/servers/lib.sh \
	tests/servers/mpi.sh tests/servers/slurm.sh tests/servers/watchdog.sh

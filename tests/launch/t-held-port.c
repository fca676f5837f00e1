/* SPDX-License-Identifier: MIT */
#include "held_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/report.h"
#include "unit.h"

/* Binds as a program would; listens if asked. The descriptor, or -errno. */
static int take(int family, int number, bool reuse, bool listening)
{
	struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
	const int on = 1;
	int fd = socket(family, SOCK_STREAM, 0), error;

	if (fd < 0)
		return -errno;
	/* Both have the port in the same place. */
	((struct sockaddr_in *)&address)->sin_port = htons((uint16_t)number);
	if (reuse)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    (!listening || listen(fd, 1) == 0))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static void drop(int fd)
{
	if (fd >= 0)
		close(fd);
}

static const char *finding(const gpumap_report *report, enum gpumap_finding_str_attr attr)
{
	return gpumap_finding_str(gpumap_report_get(report, 0), attr);
}

START_TEST(who_gets_it)
{
	static const struct {
		const char *name;
		int family;
		bool reuse, listening, gets;
	} rows[] = {
		{"a listener with SO_REUSEADDR", AF_INET, true, true, true},
		{"one for both families", AF_INET6, true, true, true},
		{"a plain bind", AF_INET, false, false, false},
		{"a plain bind for both families", AF_INET6, false, false, false},
		{"a plain listener", AF_INET, false, true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct port port;
		int fd;

		ck_assert_int_eq(port_hold(&port, 0, NULL, NULL), GPUMAP_OK);
		ck_assert_int_gt(port.number, 0);
		fd = take(rows[i].family, port.number, rows[i].reuse, rows[i].listening);
		if (fd != -EAFNOSUPPORT)
			ROW_EQ_INT(rows[i].name, fd >= 0 ? 0 : fd, rows[i].gets ? 0 : -EADDRINUSE);
		drop(fd);
		port_release(&port);
		port_release(&port);
	}
}
END_TEST

START_TEST(only_one_listener)
{
	struct port port;
	int first, second;

	ck_assert_int_eq(port_hold(&port, 0, NULL, NULL), GPUMAP_OK);
	first = take(AF_INET, port.number, true, true);
	ck_assert_int_ge(first, 0);
	second = take(AF_INET, port.number, true, true);
	ck_assert_int_eq(second, -EADDRINUSE);
	drop(first);
	port_release(&port);
}
END_TEST

START_TEST(no_number_twice)
{
	enum { PORTS = 400 };
	static bool seen[65536];
	struct port ports[PORTS];

	for (size_t i = 0; i < PORTS; i++) {
		ck_assert_int_eq(port_hold(&ports[i], 0, NULL, NULL), GPUMAP_OK);
		ck_assert_msg(!seen[ports[i].number], "port %d twice", ports[i].number);
		seen[ports[i].number] = true;
	}
	/* A port that the system chooses is not one of them. */
	for (int i = 0; i < 20000; i++) {
		struct sockaddr_in address;
		socklen_t size = sizeof(address);
		int fd = take(AF_INET, 0, i % 2, false);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
		ck_assert_msg(!seen[ntohs(address.sin_port)], "%d was given away",
			      ntohs(address.sin_port));
		close(fd);
	}
	for (size_t i = 0; i < PORTS; i++)
		port_release(&ports[i]);
}
END_TEST

START_TEST(a_taken_one)
{
	static const bool listening[] = {true, false};

	for (size_t i = 0; i < ARRAY_SIZE(listening); i++) {
		struct port port = {-1, -1}, again = {-1, -1};
		gpumap_report *report;
		int fd;

		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		ck_assert_int_eq(port_hold(&port, 0, NULL, NULL), GPUMAP_OK);
		fd = listening[i] ? take(AF_INET, port.number, true, true) : -1;
		/* A listener has it, or another launcher holds it. */
		ck_assert_int_eq(port_hold(&again, port.number, NULL, report), GPUMAP_EFILE);
		ck_assert_int_eq(again.fd, -1);
		ck_assert_str_eq(finding(report, GPUMAP_FINDING_ID), "GM178");
		ck_assert_ptr_nonnull(strstr(finding(report, GPUMAP_FINDING_TEXT), "in use"));
		ck_assert_ptr_nonnull(strstr(finding(report, GPUMAP_FINDING_FIX), "auto"));
		drop(fd);
		port_release(&port);
		gpumap_report_free(report);
	}
}
END_TEST

START_TEST(no_port)
{
	static const int numbers[] = {-1, 65536, 1000000};
	struct port port = {-1, -1};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		ck_assert_int_eq(port_hold(&port, numbers[i], NULL, NULL), GPUMAP_EINPUT);
	ck_assert_int_eq(port.number, -1);
}
END_TEST

/* A connection that the server closed keeps its port in TIME_WAIT. */
START_TEST(a_port_of_a_moment_ago)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int client = socket(AF_INET, SOCK_STREAM, 0), listener, server, number;
	struct port port;
	char byte;

	ck_assert_int_eq(port_hold(&port, 0, NULL, NULL), GPUMAP_OK);
	number = port.number;
	port_release(&port);
	listener = take(AF_INET, number, true, true);
	ck_assert_int_ge(listener, 0);
	address.sin_port = htons((uint16_t)number);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	server = accept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	close(server);
	ck_assert_int_eq(read(client, &byte, 1), 0);
	close(client);
	close(listener);
	ck_assert_int_eq(take(AF_INET, number, false, false), -EADDRINUSE);
	ck_assert_int_eq(port_hold(&port, number, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(port.number, number);
	port_release(&port);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("port");
	TCase *tcase = tcase_create("port");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, who_gets_it);
	tcase_add_test(tcase, only_one_listener);
	tcase_add_test(tcase, no_number_twice);
	tcase_add_test(tcase, a_taken_one);
	tcase_add_test(tcase, no_port);
	tcase_add_test(tcase, a_port_of_a_moment_ago);
	return unit_run(suite);
}

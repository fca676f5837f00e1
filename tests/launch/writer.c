/* SPDX-License-Identifier: MIT */
/*
 * Lines that show whether they arrive whole:
 *
 *	writer BYTES [PIECE]	writes about BYTES in lines of random length, PIECE (65536) at a
 *time writer --check RANKS	reads them with the launcher's tags; prints how many lines and bytes
 *
 * A line is RANK, its number, and then its length in letters that both decide.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RANKS = 1024, MAX_LENGTH = 240 };

static uint32_t mixed(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

static size_t make_line(char *ret, unsigned rank, unsigned number)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint32_t x = mixed(rank * 1000003u + number);
	size_t length = x % 160, from = x / 160 % 60;
	size_t n = (size_t)sprintf(ret, "%u %u ", rank, number);

	memcpy(ret + n, letters + from, length);
	ret[n + length] = '\n';
	return n + length + 1;
}

static int write_all(const char *text, size_t length, size_t piece)
{
	while (length > 0) {
		ssize_t n = write(STDOUT_FILENO, text, length < piece ? length : piece);

		if (n <= 0)
			return 1;
		text += n;
		length -= (size_t)n;
	}
	return 0;
}

static int produce(size_t bytes, size_t piece)
{
	static char buffer[65536 + MAX_LENGTH];
	const char *variable = getenv("RANK");
	unsigned rank = variable ? (unsigned)strtoul(variable, NULL, 10) : 0;
	size_t length = 0, total = 0;

	for (unsigned number = 0; total < bytes; number++) {
		size_t n = make_line(buffer + length, rank, number);

		length += n;
		total += n;
		if (length < 65536 && total < bytes)
			continue;
		if (write_all(buffer, length, piece))
			return 1;
		length = 0;
	}
	return 0;
}

static int check(unsigned ranks)
{
	static unsigned next[MAX_RANKS];
	char line[1024], want[MAX_LENGTH + 1];
	unsigned long long lines = 0, bytes = 0, torn = 0;

	while (fgets(line, sizeof(line), stdin)) {
		unsigned tag, rank;
		int at = 0;
		size_t n;

		if (sscanf(line, "[%u] %n%u", &tag, &at, &rank) != 2 || tag != rank ||
		    rank >= ranks) {
			torn++;
			continue;
		}
		n = make_line(want, rank, next[rank]);
		want[n] = '\0';
		torn += strcmp(want, line + at) != 0;
		next[rank]++;
		lines++;
		bytes += n;
	}
	printf("%llu lines, %llu bytes, %llu torn\n", lines, bytes, torn);
	return torn != 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--check") == 0)
		return check((unsigned)strtoul(argv[2], NULL, 10));
	if (argc < 2)
		return 2;
	return produce(strtoul(argv[1], NULL, 10), argc > 2 ? strtoul(argv[2], NULL, 10) : 65536);
}

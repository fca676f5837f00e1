/* SPDX-License-Identifier: MIT */
#include "driver-values.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff"

/* %U the first GPU's UUID, %V its digits without GPU-, %1 and %8 that many of them, %C
 * the UUID in upper case, %L with a lower case prefix, %D without dashes, %2 the second
 * GPU's UUID: values with it are for machines that have one. */
static const char *const listed[] = {
	"",
	" ",
	",",
	"0",
	"0,0",
	"0,00",
	"0,9,0",
	"0,-1,0",
	"0,9",
	"9,0",
	",0",
	"0,,0",
	"0,",
	" 0",
	"0 ",
	"\t0",
	"\n0",
	"0 0",
	"0x0",
	"0x1",
	"00",
	"010",
	"+0",
	"-0",
	"--0",
	"+-0",
	"- 0",
	"+",
	"-",
	"0gpu",
	"gpu0",
	"0.5",
	"0;1",
	"0-3",
	"0:1",
	"1",
	"-1",
	"2147483647",
	"2147483648",
	"4294967295",
	"4294967296",
	"9223372036854775808",
	"18446744073709551615",
	"18446744073709551616",
	"-4294967296",
	"-18446744073709551616",
	"0,4294967296",
	"100000000000000000000000000000000000000000",
	"all",
	"none",
	"void",
	"NoDevFiles",
	"[0]",
	"'0'",
	"\"0\"",
	"cuda:0",
	"GPU-",
	"GPU-%1",
	"GPU-%8",
	"%U",
	"%Ux",
	"%U-",
	" %U",
	"%U ",
	"\t%U",
	"+%U",
	"%L",
	"%C",
	"%V",
	"%D",
	"%U,%U",
	"%U,GPU-%8",
	"GPU-%8,%U",
	"GPU-%1,GPU-%8",
	"%U," UNKNOWN,
	UNKNOWN ",%U",
	UNKNOWN,
	"0,%U",
	"%U,0",
	"%U,",
	",%U",
	"%U,,%U",
	"%U, %U",
	"%U,9",
	"%U,-1",
	"MIG-%V",
	"MIG-%U/0/0",
	"MIG-",
	"%U,MIG-%V",
	"0 ,0",
	"0, 0",
	"0 ,1",
	"0x0,0",
	"0,0x0",
	"00,0",
	"+0,0",
	"-0,0",
	"0,-0",
	"0.0,0",
	"0a,0b",
	"0,1",
	"1,0",
	"0,1,0",
	"0,1,1",
	"1,1,0",
	"%2",
	"%U,%2",
	"%2,%U",
	"%2,0",
	"1,%U",
	"0,%2",
	"GPU-%8,%2",
	"%U,%2,%U",
	"1,0,9",
};

static void *checked(void *p)
{
	if (!p) {
		perror("driver-visible");
		exit(99);
	}
	return p;
}

/* --- listed values ------------------------------------------------------------------- */

static void expand(char *to, char code, char *const *uuids)
{
	const char *uuid = uuids[0], *digits = uuid + 4;

	if (code == '2')
		uuid = uuids[1];
	if (code == 'V')
		uuid = digits;
	if (code == '1' || code == '8') {
		strncat(to, digits, (size_t)(code - '0'));
		return;
	}
	to += strlen(to);
	if (code != 'D') {
		strcpy(to, uuid);
	} else {
		strcpy(to, "GPU-");
		for (to += 4; *digits; digits++)
			if (*digits != '-')
				*to++ = *digits;
		*to = '\0';
		return;
	}
	if (code == 'L')
		memcpy(to, "gpu", 3);
	for (; code == 'C' && *to; to++)
		*to = (char)toupper((unsigned char)*to);
}

/* NULL: for another machine. */
static char *substitute(const char *form, char *const *uuids, int gpus)
{
	char *text = checked(calloc(1, 4096));

	for (const char *p = form; *p; p++) {
		if (*p != '%') {
			text[strlen(text)] = *p;
			continue;
		}
		if (*++p == '2' && gpus < 2) {
			free(text);
			return NULL;
		}
		expand(text, *p, uuids);
	}
	return text;
}

/* --- random values --------------------------------------------------------------------- */

struct random {
	unsigned long long state;
};

/* A splitmix generator: the same values on every machine from the same seed. */
static unsigned below(struct random *random, unsigned n)
{
	unsigned long long z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (unsigned)((z ^ (z >> 31)) % n);
}

static void add_junk(struct random *random, char *to)
{
	static const char alphabet[] = "0123456789+-, \t,,0000xXgGpPuUMI:;.#/abcdef";
	unsigned n = 1 + below(random, 6);

	to += strlen(to);
	while (n--)
		*to++ = alphabet[below(random, sizeof(alphabet) - 1)];
	*to = '\0';
}

static void add_number(struct random *random, char *to, int gpus)
{
	static const char *const before[] = {"", "", "", "", "+", "-", " ", "0", "00", "\t", "--"};
	static const char *const after[] = {"", "", "", "", "", " ", "x", "gpu", ".5", "-1", "\t"};
	static const char *const large[] = {"2147483648", "4294967296", "18446744073709551616"};
	size_t length = strlen(to);

	if (below(random, 40) == 0)
		strcat(to, large[below(random, 3)]);
	else
		sprintf(to + length, "%s%u%s", before[below(random, 11)],
			below(random, (unsigned)gpus + 2), after[below(random, 11)]);
}

static void add_uuid(struct random *random, char *to, char *const *uuids, int gpus)
{
	static const char *const prefixes[] = {"GPU-", "GPU-", "GPU-",  "GPU-", "GPU-",
					       "MIG-", "gpu-", " GPU-", "",     "GPU"};
	const char *uuid = uuids[below(random, (unsigned)gpus)] + 4;
	unsigned kind = below(random, 4);
	size_t length = kind < 2 ? strlen(uuid) : below(random, 37);

	strcat(to, prefixes[below(random, 10)]);
	strncat(to, uuid, length);
	if (below(random, 12) == 0)
		add_junk(random, to);
	if (below(random, 12) == 0)
		to[strlen(to) - 1] = 'f';
}

static char *random_value(struct random *random, char *const *uuids, int gpus)
{
	unsigned entries = 1 + below(random, 5), style = below(random, 4);
	char *text = checked(calloc(1, 4096));

	for (unsigned i = 0; i < entries; i++) {
		unsigned kind = style < 2 ? style : below(random, 3);

		if (i)
			strcat(text, ",");
		if (kind == 0)
			add_number(random, text, gpus);
		else if (kind == 1)
			add_uuid(random, text, uuids, gpus);
		else
			add_junk(random, text);
	}
	return text;
}

void make_values(struct values *ret, char *const *uuids, int gpus, const struct options *options)
{
	size_t count = sizeof(listed) / sizeof(*listed);
	struct random random = {options->seed};

	ret->texts = checked(calloc(options->values + count + 1, sizeof(*ret->texts)));
	ret->count = 1; /* unset */
	for (size_t i = 0; i < count; i++) {
		char *text = substitute(listed[i], uuids, gpus);

		if (text)
			ret->texts[ret->count++] = text;
	}
	ret->listed = ret->count;
	while (ret->count < options->values)
		ret->texts[ret->count++] = random_value(&random, uuids, gpus);
}

/* --- options ---------------------------------------------------------------------------- */

static int number(const char *text, unsigned long long least, unsigned long long max,
		  unsigned long long *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && *ret >= least && *ret <= max;
}

int read_options(struct options *options, int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned long long n;

	*options = (struct options){
		.values = 5000, .seed = 1, .seconds = 420, .record = "driver-visible.tsv"};
	options->jobs = processors < 1 ? 1 : processors > 16 ? 16 : (int)processors;
	for (int i = 1; i < argc; i += 2) {
		const char *value = argv[i + 1];
		int good = value != NULL;

		if (good && strcmp(argv[i], "--values") == 0) {
			good = number(value, 1, 10000000, &n);
			options->values = (size_t)n;
		} else if (good && strcmp(argv[i], "--seed") == 0) {
			good = number(value, 0, ~0ULL, &options->seed);
		} else if (good && strcmp(argv[i], "--jobs") == 0) {
			good = number(value, 1, 64, &n);
			options->jobs = (int)n;
		} else if (good && strcmp(argv[i], "--seconds") == 0) {
			good = number(value, 1, 1000000, &n);
			options->seconds = (int)n;
		} else if (good && strcmp(argv[i], "--record") == 0) {
			options->record = value;
		} else {
			good = 0;
		}
		if (!good) {
			fprintf(stderr,
				"driver-visible: '%s' is wrong; usage: driver-visible [--values N] "
				"[--seed S] [--jobs 1-64] [--seconds N] [--record FILE]\n",
				argv[i]);
			return 0;
		}
	}
	return 1;
}

/* SPDX-License-Identifier: MIT */
/* The best connected GPUs: by machines, and compared with all sets of drawn ones. */
#include "draws.h"
#include "inventory/inventory.h"
#include "lease/lease.h"
#include "strbuf.h"
#include "unit.h"

enum { MOST_GPUS = 40 };

/* A GPU is "BUS[/NODE][:LINKED...]", the linked ones as letters: a is GPU 0. "*" is all, "-" no
 * bus. */
#define PAIRS "01:b 02:a 41:d 42:c"
#define NODES "01/0 02/0 03/0 04/0 81/1 82/1 83/1 84/1"
#define BOARD "01:* 02:* 03:* 04:* 05:* 06:* 07:* 08:*"
/* DGX-1: two halves that are all linked, and one link from each GPU to the other half. */
#define CUBE "06/0:bcde 07/0:acdf 0a/0:abdg 0b/0:abch 85/1:fgha 86/1:eghb 89/1:efhc 8a/1:efgd"

static const struct {
	const char *name, *machine, *free_gpus; /* free: the preferred ones, "|", others */
	size_t count;
	const char *want;
} rows[] = {
	{"a pair", PAIRS, "abcd", 2, "ab"},
	{"the other pair", PAIRS, "bcd", 2, "cd"},
	{"no pair is left", PAIRS, "bd", 2, "bd"},
	{"a pair and one more", PAIRS, "bcd", 3, "bcd"},
	{"one leaves the pair", PAIRS, "bcd", 1, "b"},
	{"one of two pairs", PAIRS, "abcd", 1, "a"},
	{"none", PAIRS, "abcd", 0, ""},
	{"on one node", NODES, "defgh", 2, "ef"},
	{"on one node, as many as there are", NODES, "abefgh", 4, "efgh"},
	{"more than a node has", NODES, "bdefgh", 5, "defgh"},
	{"all", NODES, "abcdefgh", 8, "abcdefgh"},
	{"one leaves the node", NODES, "defgh", 1, "d"},
	{"all linked: by buses", BOARD, "acdh", 2, "cd"},
	{"half of a cube", CUBE, "abcdefgh", 4, "abcd"},
	{"the other half", CUBE, "bcdefgh", 4, "efgh"},
	{"two of two halves", CUBE, "acegfh", 2, "ef"},
	{"three of one half and one of the other", CUBE, "abefg", 4, "befg"},
	{"three of what is left", CUBE, "abceg", 3, "abc"},
	{"links before nodes", "01/0:c 02/0 81/1:a", "abc", 2, "ac"},
	{"nodes before buses", "01/0 02/1 81/0", "abc", 2, "ac"},
	{"buses below one switch", "1a 1b 3d 3e 88 89", "acdf", 2, "cd"},
	{"preferred ones, though they are not linked", PAIRS, "ac|bd", 2, "ac"},
	{"the best of the preferred ones", PAIRS, "acd|b", 2, "cd"},
	{"the best of the preferred ones and one more", PAIRS, "acd|b", 4, "acdb"},
	{"what is linked with the preferred one", PAIRS, "d|abc", 2, "dc"},
	{"nothing is known", "- - - -", "bcd", 2, "bc"},
	{"a node that is not known is not shared", "-/0 - - -/0", "abcd", 2, "ad"},
	{"a link that one side has", "01 02 03:a", "abc", 2, "ac"},
	{"twenty in fives, of which one is whole",
	 "01:bcde 02:acde 03:abde 04:abce 05:abcd 06:ghij 07:fhij 08:fgij 09:fghj 0a:fghi "
	 "0b:lmno 0c:kmno 0d:klno 0e:klmo 0f:klmn 10:qrst 11:prst 12:pqst 13:pqrt 14:pqrs",
	 "abcdfghiklmnopqrs", 5, "klmno"},
};

static gpumap_inventory *read_machine(const char *text)
{
	struct span rest = span_of(text), word, place, bus;
	struct strbuf snapshot = {0};
	gpumap_inventory *inventory = NULL;
	size_t gpus = 1;

	for (const char *c = text; *c; c++)
		gpus += *c == ' ';
	strbuf_puts(&snapshot, "[snapshot]\nschema = 1\n");
	for (int g = 0; span_split(&rest, ' ', &word); g++) {
		const char *begin = "";

		strbuf_printf(&snapshot, "[gpu %d]\n", g);
		span_split(&word, ':', &place);
		span_split(&place, '/', &bus);
		if (!span_is(bus, "-"))
			strbuf_printf(&snapshot, "pci = 0000:%.*s:00.0\n", (int)bus.length,
				      bus.text);
		if (place.text)
			strbuf_printf(&snapshot, "numa = %.*s\n", (int)place.length, place.text);
		if (!word.text)
			continue;
		strbuf_puts(&snapshot, "nvlink = ");
		for (int k = 0; k < (int)gpus; k++) {
			if (k == g ||
			    (!span_is(word, "*") && !memchr(word.text, 'a' + k, word.length)))
				continue;
			strbuf_printf(&snapshot, "%s%d", begin, k);
			begin = ",";
		}
		strbuf_puts(&snapshot, "\n");
	}
	ck_assert(snapshot.text);
	ck_assert_int_eq(
		gpumap_inventory_parse(&inventory, snapshot.text, snapshot.length, NULL, NULL),
		GPUMAP_OK);
	strbuf_free(&snapshot);
	return inventory;
}

START_TEST(machines)
{
	gpumap_inventory *inventory = read_machine(rows[_i].machine);
	size_t gpus[MOST_GPUS], n = 0, preferred = 0;
	char got[MOST_GPUS + 1] = "";

	for (const char *c = rows[_i].free_gpus; *c; c++)
		if (*c == '|')
			preferred = n;
		else
			gpus[n++] = (size_t)(*c - 'a');
	lease_near(gpus, rows[_i].count, n, preferred, inventory);
	for (size_t i = 0; i < rows[_i].count; i++)
		got[i] = (char)('a' + gpus[i]);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	gpumap_inventory_free(inventory);
}
END_TEST

/* --- drawn ------------------------------------------------------------------------------ */

static bool linked(const gpumap_inventory *inventory, size_t a, size_t b)
{
	const gpumap_device *x = gpumap_inventory_get(inventory, a);

	for (int i = 0; i < gpumap_device_nvlink_count(x); i++)
		if (gpumap_device_nvlink(x, (size_t)i) == (int)b)
			return true;
	return false;
}

/* The preferred GPUs, links and pairs on one node of a set of bits, and what its GPUs have with the
 * first `n`: as one number, the larger, the better. */
static long value(const gpumap_inventory *inventory, size_t n, size_t preferred, unsigned set)
{
	long links = 0, nodes = 0, lost_links = 0, lost_nodes = 0;

	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++) {
			const char *x = inventory->gpus[a].numa, *y = inventory->gpus[b].numa;
			bool link = linked(inventory, a, b), node = x && y && strcmp(x, y) == 0;

			if (a == b || !(set >> a & 1))
				continue;
			lost_links += link;
			lost_nodes += node;
			links += (set >> b & 1) && link;
			nodes += (set >> b & 1) && node;
		}
	links += 200 * __builtin_popcount(set & ((1u << preferred) - 1));
	return ((links * 200 + nodes) * 200 - lost_links) * 200 - lost_nodes;
}

static gpumap_inventory *draw_machine(struct draws *draws, size_t n)
{
	struct strbuf text = {0};
	bool links[MOST_GPUS][MOST_GPUS] = {{false}};
	gpumap_inventory *inventory;

	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < a; b++)
			links[a][b] = links[b][a] = draw(draws, 3) == 0;
	for (size_t a = 0; a < n; a++) {
		strbuf_printf(&text, "%s-/%d:", a ? " " : "", (int)draw(draws, 3));
		for (size_t b = 0; b < n; b++)
			if (links[a][b])
				strbuf_printf(&text, "%c", (char)('a' + b));
	}
	ck_assert(text.text);
	inventory = read_machine(text.text);
	strbuf_free(&text);
	return inventory;
}

/* Whether set x comes before y, which are different, in the order of preference. */
static bool comes_first(unsigned x, unsigned y)
{
	return (x ^ y) & -(x ^ y) & x;
}

static unsigned best_set(const gpumap_inventory *inventory, size_t n, size_t count,
			 size_t preferred)
{
	unsigned best = 0;
	long most = 0;

	for (unsigned set = 0; set < 1u << n; set++) {
		long v;

		if ((size_t)__builtin_popcount(set) != count)
			continue;
		v = value(inventory, n, preferred, set);
		if (!best || v > most || (v == most && comes_first(set, best))) {
			best = set;
			most = v;
		}
	}
	return best;
}

static unsigned near_set(const gpumap_inventory *inventory, size_t n, size_t count,
			 size_t preferred)
{
	size_t gpus[MOST_GPUS];
	unsigned set = 0;

	for (size_t i = 0; i < n; i++)
		gpus[i] = i;
	lease_near(gpus, count, n, preferred, inventory);
	for (size_t i = 0; i < count; i++)
		set |= 1u << gpus[i];
	return set;
}

START_TEST(drawn)
{
	struct draws draws = {.state = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)_i};

	for (int round = 0; round < 8; round++) {
		size_t n = 2 + draw(&draws, 7), count = 1 + draw(&draws, (unsigned)n),
		       preferred = draw(&draws, (unsigned)n);
		gpumap_inventory *inventory = draw_machine(&draws, n);

		ck_assert_msg(near_set(inventory, n, count, preferred) ==
				      best_set(inventory, n, count, preferred),
			      "%d, round %d: %zu of %zu GPUs, %zu preferred", _i, round, count, n,
			      preferred);
		gpumap_inventory_free(inventory);
	}
}
END_TEST

/* Of more than 16 GPUs the first 16 are compared. */
START_TEST(many)
{
	struct draws draws = {.state = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)_i};
	size_t n = 17 + draw(&draws, 10), count = 1 + draw(&draws, (unsigned)n);
	gpumap_inventory *inventory = draw_machine(&draws, n);
	unsigned set = near_set(inventory, n, count, 2);

	ck_assert_msg((size_t)__builtin_popcount(set) == count && set < 1u << n &&
			      (size_t)__builtin_popcount(set & 3) == (count < 2 ? count : 2),
		      "%d: %zu of %zu GPUs", _i, count, n);
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("near");
	TCase *tests = tcase_create("near");

	tcase_add_loop_test(tests, machines, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, drawn, 0, 20);
	tcase_add_loop_test(tests, many, 0, 20);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}

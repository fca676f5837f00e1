/* SPDX-License-Identifier: MIT */
/* The visible list in every dialect, on plain views: rules V1-V8 and H1. */
#include <stdio.h>
#include <string.h>

#include "gpumap.h"
#include "strbuf.h"
#include "unit.h"
#include "visible/visible.h"

static const char *uuids[] = {
	"GPU-a1b2c3d4-0000-4000-8000-000000000000",
	"GPU-a1b2ffff-0000-4000-8000-000000000001",
	"GPU-20e3d4c5-0000-4000-8000-000000000002",
	"GPU-7f000000-0000-4000-8000-000000000003",
	"GPU-BABABABABABABABA",
	"GPU-ABBAABBAABBAABBA",
	"GPU-0c0c0c0c-0000-4000-8000-000000000006",
	"GPU-e0000000-0000-4000-8000-000000000007",
};

static const struct visible_mig migs[] = {
	{"MIG-11111111-0000-5000-8000-000000000001", 6, 1, 0},
	{"MIG-22222222-0000-5000-8000-000000000002", 6, 2, 0},
	{"MIG-GPU-e0000000-0000-4000-8000-000000000007/3/0", 7, 3, 0},
};

static const struct visible_view eight = {8, uuids, 8, migs, 3};

/* `want`: ordinals, g0 for a GPU by UUID, m0 for a MIG instance, then /ENTRY:RULE
 * where the list ended. */
static const struct {
	enum dialect dialect;
	const char *value, *want;
} rows[] = {
	{DIALECT_DRIVER, "2,1", "2,1"},
	{DIALECT_DRIVER, "", ""},
	{DIALECT_DRIVER, " ", "/0:V2"},
	{DIALECT_DRIVER, "0,2,-1,1", "0,2/2:V4"},
	{DIALECT_DRIVER, "0, 1, 2", "0,1,2"},
	{DIALECT_DRIVER, "\t0", "0"},
	{DIALECT_DRIVER, "0 ", "0"},
	{DIALECT_DRIVER, "1gpu2,2ampere", "1,2"},
	{DIALECT_DRIVER, "2, +3, -0, 5", "2,3,0,5"},
	{DIALECT_DRIVER, "--0", "/0:V2"},
	{DIALECT_DRIVER, "+-1", "/0:V2"},
	{DIALECT_DRIVER, "+", "/0:V2"},
	{DIALECT_DRIVER, "one,two,3,4", "/0:V2"},
	{DIALECT_DRIVER, "4,3,two,one", "4,3/2:V2"},
	{DIALECT_DRIVER, "0,1,2,1", "/3:V5"},
	{DIALECT_DRIVER, "0,0", "/1:V5"},
	{DIALECT_DRIVER, "0,00", "/1:V5"},
	{DIALECT_DRIVER, "0,9,0", "0/1:V2"},
	{DIALECT_DRIVER, "0,-1,0", "0/1:V4"},
	{DIALECT_DRIVER, "0-2", "0"},
	{DIALECT_DRIVER, "0x1", "0"},
	{DIALECT_DRIVER, "010", "/0:V2"},
	{DIALECT_DRIVER, "007", "7"},
	{DIALECT_DRIVER, "0.5;1", "0"},
	{DIALECT_DRIVER, "0,,1", "0/1:V2"},
	{DIALECT_DRIVER, "0,", "0/1:V2"},
	{DIALECT_DRIVER, ",0", "/0:V2"},
	{DIALECT_DRIVER, "8", "/0:V2"},
	{DIALECT_DRIVER, "2147483648", "/0:V2"},
	{DIALECT_DRIVER, "4294967296", "/0:V2"},
	{DIALECT_DRIVER, "18446744073709551616", "/0:V2"},
	{DIALECT_DRIVER, "-4294967296", "/0:V4"},
	{DIALECT_DRIVER, "all", "/0:V2"},
	{DIALECT_DRIVER, "[0,1]", "/0:V2"},
	{DIALECT_DRIVER, "GPU-a1b2c3d4-0000-4000-8000-000000000000", "g0"},
	{DIALECT_DRIVER, "GPU-a1b2c3d4-0000-4000-8000-000000000000x", "/0:V6"},
	{DIALECT_DRIVER, "GPU-2,GPU-a1b2c", "g2,g0"},
	{DIALECT_DRIVER, "GPU-a1b2", "/0:V6"},
	{DIALECT_DRIVER, "GPU-", "/0:V6"},
	{DIALECT_DRIVER, "GPU-7,GPU-999,GPU-2", "g3/1:V6"},
	{DIALECT_DRIVER, "GPU-999,GPU-7", "/0:V6"},
	{DIALECT_DRIVER, "GPU-7,GPU-2,GPU-7f0", "/2:V5"},
	{DIALECT_DRIVER, "GPU-A1B2C", "/0:V6"},
	{DIALECT_DRIVER, "gpu-7", "/0:V2"},
	{DIALECT_DRIVER, " GPU-7", "/0:V2"},
	{DIALECT_DRIVER, "GPU-7 ", "/0:V6"},
	{DIALECT_DRIVER, "GPU-7,2", "g3/1:V7"},
	{DIALECT_DRIVER, "2,GPU-7", "2/1:V7"},
	{DIALECT_DRIVER, "20e3d4c5-0000-4000-8000-000000000002", "/0:V2"},
	{DIALECT_DRIVER, "7f000000-0000-4000-8000-000000000003", "7"},
	{DIALECT_DRIVER, "MIG-11111111-0000-5000-8000-000000000001", "m0"},
	{DIALECT_DRIVER, "MIG-2,MIG-1", "m1,m0"},
	{DIALECT_DRIVER, "MIG-GPU-0c0c0c0c-0000-4000-8000-000000000006/2/0", "m1"},
	{DIALECT_DRIVER, "MIG-GPU-0c0c0c0c/1/0", "m0"},
	{DIALECT_DRIVER, "MIG-GPU-e0000000-0000-4000-8000-000000000007/3/0", "m2"},
	{DIALECT_DRIVER, "MIG-GPU-e0/3/0", "m2"},
	{DIALECT_DRIVER, "MIG-GPU-0c0c0c0c/9/0", "/0:V6"},
	{DIALECT_DRIVER, "MIG-GPU-0c0c0c0c/1", "/0:V6"},
	{DIALECT_DRIVER, "MIG-", "/0:V6"},
	{DIALECT_DRIVER, "MIG-1,MIG-1111", "/1:V5"},
	{DIALECT_TORCH, "0,9,0", "/2:V5"},
	{DIALECT_TORCH, "0,-1,0", "0/1:V4"},
	{DIALECT_TORCH, "0,one,0", "0/1:V2"},
	{DIALECT_TORCH, "GPU-7,GPU-999,GPU-7", "/2:V5"},
	{DIALECT_TORCH, "GPU-7, GPU-2", "g3/1:V7"},
	{DIALECT_TORCH, "GPU-7,GPU-7f", "/1:V5"},
	{DIALECT_TORCH, "0,GPU-7", "0/1:V2"},
	{DIALECT_TORCH, "0,99999999999999999998,99999999999999999999", "0/1:V2"},
	{DIALECT_TORCH, "0,99999999999999999999,99999999999999999999", "/2:V5"},
	{DIALECT_TORCH, "+", "/0:V3"},
	{DIALECT_TORCH, "-", "/0:V3"},
	{DIALECT_TORCH, " + ", "/0:V3"},
	{DIALECT_TORCH, "+a", "/0:V3"},
	{DIALECT_TORCH, "--1", "/0:V3"},
	{DIALECT_TORCH, "+ 1", "/0:V3"},
	{DIALECT_TORCH, "a+", "/0:V2"},
	{DIALECT_TORCH, "1+", "1"},
	{DIALECT_TORCH, "1,+", "/1:V3"},
	{DIALECT_TORCH, "1,99,+", "/2:V3"},
	{DIALECT_TORCH, "1,+,1", "/1:V3"},
	{DIALECT_TORCH, "1,1,+", "/1:V5"},
	{DIALECT_TORCH, "1,-2,+", "1/1:V4"},
	{DIALECT_TORCH, "1,,+", "1/1:V2"},
	{DIALECT_TORCH, "\xc2\xb2", "/0:V3"}, /* superscript two: isdigit, no decimal */
	{DIALECT_TORCH, "1\xc2\xb2,1", "/0:V3"},
	{DIALECT_TORCH, "a\xc2\xb2", "/0:V2"},
	{DIALECT_TORCH, "1a\xc2\xb2", "1"},
	{DIALECT_TORCH, "\xe2\x91\xa0", "/0:V3"}, /* a circled one */
	{DIALECT_TORCH, "\xd9\xa3", "3"},         /* Arabic-Indic three */
	{DIALECT_TORCH,
	 "+\xd9\xa3,\xd9\xa1"
	 "2x",
	 "3/1:V2"},
	{DIALECT_TORCH, "3,\xd9\xa3", "/1:V5"},
	{DIALECT_TORCH,
	 "99999999999999999999,\xd9\xa9"
	 "9999999999999999999",
	 "/1:V5"},
	{DIALECT_TORCH, "\xf0\x9d\x9f\x9b", "3"}, /* a bold mathematical three, four bytes */
	{DIALECT_TORCH,
	 "\xc2\xa0"
	 "2\xe3\x80\x80,\xe2\x80\x83"
	 "1",
	 "2,1"},
	{DIALECT_TORCH,
	 "\x1c"
	 "2\x1f",
	 "2"},
	{DIALECT_TORCH, "\x01", "/0:V2"},
	{DIALECT_TORCH, "1\x01", "1"},
	{DIALECT_TORCH,
	 "\xa0"
	 "2",
	 "/0:V2"}, /* no UTF-8 */
	{DIALECT_TORCH, "\xc2", "/0:V2"},
	{DIALECT_TORCH,
	 "\xd9\xa3"
	 "\xd9",
	 "3"},
	{DIALECT_TORCH, "GPU-\xd9\xa3", "/0:V6"},
	{DIALECT_TORCH, "GPU-7,+", "g3/1:V7"},
	{DIALECT_DRIVER, "\xd9\xa3", "/0:V2"},
	{DIALECT_DRIVER,
	 "\xc2\xa0"
	 "2",
	 "/0:V2"},
	{DIALECT_NVITOP, "0,16,0", "0/1:V2"},
	{DIALECT_NVITOP, "0,00", "0,0"},
	{DIALECT_NVITOP, "+1", "/0:V2"},
	{DIALECT_NVITOP, " 0 , 1 ", "0,1"},
	{DIALECT_NVITOP, "1gpu2,2ampere", "1,2"},
	/* nvitop 1.7.2 */
	{DIALECT_NVITOP,
	 "GPU-7f000000-0000-4000-8000-000000000003, GPU-20e3d4c5-0000-4000-8000-000000000002",
	 "g3,g2"},
	{DIALECT_NVITOP, "GPU-7", "/0:V6"},
	{DIALECT_NVITOP, "0,GPU-7", "0/1:V7"},
	{DIALECT_NVITOP, "MIG-11111111-0000-5000-8000-000000000001", "m0"},
	{DIALECT_NVITOP, "MIG-1", "/0:V6"},
	{DIALECT_NVITOP, "MIG-GPU-0c0c0c0c-0000-4000-8000-000000000006/2/0", "m1"},
	{DIALECT_NVITOP, "MIG-GPU-0c0c0c0c/1/0", "/0:V6"},
	{DIALECT_NVITOP, "MIG-GPU-0c0c0c0c-0000-4000-8000-000000000006", "/0:V6"},
	{DIALECT_NVITOP, "4294967297,1", "1,1"},
	{DIALECT_NVITOP, "\xd9\xa3", "3"},
	{DIALECT_NVITOP, "1,\xc2\xb2", "1/1:V2"},
	{DIALECT_NVITOP, "1a,1b", "/1:V5"},
	{DIALECT_ROCR, "", ""},
	{DIALECT_ROCR, "-1", "/0:V4"},
	{DIALECT_ROCR, "3,GPU-BABABABABABABABA,8", "3,g4/2:V2"},
	{DIALECT_ROCR, "0,0,1", "0/1:V5"},
	{DIALECT_ROCR, "0x1", "1"},
	{DIALECT_ROCR, "010", "/0:V2"},
	{DIALECT_ROCR, "1gpu", "/0:H1"},
	{DIALECT_ROCR, "gpu-babab", "g4"},
	{DIALECT_ROCR, "gpu-a1b2", "/0:V6"},
	{DIALECT_ROCR, " 1 , 2 ", "1,2"},
	{DIALECT_HIP, "0,0,1", "0,1"},
	{DIALECT_HIP, "01", "/0:H1"},
	{DIALECT_HIP, "0, 1", "0/1:H1"},
	{DIALECT_HIP, "-1,0", "/0:V4"},
	{DIALECT_HIP, "GPU-7f,0", "g3,0"},
};

static char *describe(const struct visible_list *list)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < list->count; i++) {
		const struct visible_entry *e = &list->entries[i];

		strbuf_puts(&buf, i ? "," : "");
		if (e->ordinal >= 0)
			strbuf_printf(&buf, "%d", e->ordinal);
		else
			strbuf_printf(&buf, "%c%d", e->gpu >= 0 ? 'g' : 'm',
				      e->gpu >= 0 ? e->gpu : e->mig);
	}
	if (list->end != END_NOT)
		strbuf_printf(&buf, "/%zu:%s", list->end_entry, visible_end_rule(list->end));
	return strbuf_take(&buf);
}

START_TEST(lists)
{
	struct visible_list list;
	char *got, name[300];

	snprintf(name, sizeof(name), "%d '%s'", (int)rows[_i].dialect, rows[_i].value);
	ROW_EQ_INT(name, visible_parse(&list, rows[_i].dialect, span_of(rows[_i].value), &eight),
		   GPUMAP_OK);
	got = describe(&list);
	ROW_EQ_STR(name, got, rows[_i].want);
	free(got);
	visible_list_free(&list);
}
END_TEST

static const struct {
	const char *value;
	size_t garbage, range, blank, bare_uuid, word, kinds, unsure;
} note_rows[] = {
	{"0,1", 0, 0, 0, 0, 0, 0, 0},
	{"0,1a", 2, 0, 0, 0, 0, 0, 0},
	{"0-2", 1, 1, 0, 0, 0, 0, 0},
	{"0..2", 1, 1, 0, 0, 0, 0, 0},
	{"0x1", 1, 0, 0, 0, 0, 0, 1},
	{"0, GPU-7", 0, 0, 2, 0, 0, 0, 2},
	{"7f000000-0000-4000-8000-000000000003", 0, 0, 0, 1, 0, 0, 0},
	{"all", 0, 0, 0, 0, 1, 0, 0},
	{"\"0,1\"", 0, 0, 0, 0, 1, 0, 0},
	{"GPU-7,2", 0, 0, 0, 0, 0, 2, 0},
	{"0,9,0", 0, 0, 0, 0, 0, 0, 3},
	{"0,00", 0, 0, 0, 0, 0, 0, 2},
	{"0,0", 0, 0, 0, 0, 0, 0, 0},
	{"4294967296", 0, 0, 0, 0, 0, 0, 1},
};

START_TEST(notes)
{
	const char *name = note_rows[_i].value;
	struct visible_list list;

	ROW_EQ_INT(name, visible_parse(&list, DIALECT_DRIVER, span_of(name), &eight), GPUMAP_OK);
	ROW_EQ_INT(name, list.notes.garbage, note_rows[_i].garbage);
	ROW_EQ_INT(name, list.notes.range, note_rows[_i].range);
	ROW_EQ_INT(name, list.notes.blank, note_rows[_i].blank);
	ROW_EQ_INT(name, list.notes.bare_uuid, note_rows[_i].bare_uuid);
	ROW_EQ_INT(name, list.notes.word, note_rows[_i].word);
	ROW_EQ_INT(name, list.notes.kinds, note_rows[_i].kinds);
	ROW_EQ_INT(name, list.notes.unsure, note_rows[_i].unsure);
	visible_list_free(&list);
}
END_TEST

START_TEST(one_gpu_takes_the_bare_prefix)
{
	const struct visible_view one = {1, uuids, 1, NULL, 0};
	struct visible_list list;

	ck_assert_int_eq(visible_parse(&list, DIALECT_DRIVER, span_of("GPU-"), &one), GPUMAP_OK);
	ck_assert_uint_eq(list.count, 1);
	visible_list_free(&list);
}
END_TEST

/* A list as long as a machine's limit is read; a longer one is refused, not cut. */
START_TEST(long_lists)
{
	const struct visible_view view = {INT64_C(1) << 31, NULL, 0, NULL, 0};
	struct visible_list list;
	struct strbuf buf = {0};

	for (int i = 0; i < GPUMAP_MAX_DEVICES; i++)
		strbuf_printf(&buf, "%s%d", i ? "," : "", i);
	ck_assert_int_eq(visible_parse(&list, DIALECT_DRIVER, span_of(buf.text), &view), GPUMAP_OK);
	ck_assert_uint_eq(list.count, GPUMAP_MAX_DEVICES);
	visible_list_free(&list);
	strbuf_puts(&buf, ",7");
	ck_assert_int_eq(visible_parse(&list, DIALECT_DRIVER, span_of(buf.text), &view),
			 GPUMAP_ELIMIT);
	strbuf_free(&buf);
}
END_TEST

START_TEST(bytes_of_any_kind)
{
	const char value[] = "0\0,1,\xff,2";
	struct visible_list list;

	ck_assert_int_eq(visible_parse(&list, DIALECT_DRIVER,
				       (struct span){value, sizeof(value) - 1}, &eight),
			 GPUMAP_OK);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_int_eq(list.end, END_NO_NUMBER);
	visible_list_free(&list);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("visible");
	TCase *tests = tcase_create("visible");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, lists, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tests, notes, 0, sizeof(note_rows) / sizeof(*note_rows));
	tcase_add_test(tests, one_gpu_takes_the_bare_prefix);
	tcase_add_test(tests, long_lists);
	tcase_add_test(tests, bytes_of_any_kind);
	return unit_run(suite);
}

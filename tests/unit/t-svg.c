/* SPDX-License-Identifier: MIT */
/* The picture: well-formed, self-contained, complete, and nothing leaves its place. */
#include <stdio.h>
#include <string.h>

#include "explain/explain.h"
#include "explain/svg.h"
#include "failing_malloc.h"
#include "inventory/inventory.h"
#include "picture.h"
#include "text_width.h"
#include "unit.h"
#include "xml.h"

/* Whether every word, of those between bars, is there. */
static void has_words(const char *name, const char *text, const char *words)
{
	struct span rest = span_of(words), word;

	while (span_split(&rest, '|', &word))
		ck_assert_msg(!word.length || memmem(text, strlen(text), word.text, word.length),
			      "%s: no '%.*s' in\n%s", name, (int)word.length, word.text, text);
}

/* "key=value;key=value" */
static void ask(const char *name, const char *statements, const gpumap_inventory *inventory,
		gpumap_mapping **mapping, gpumap_report *report)
{
	struct span rest = span_of(statements), part;
	gpumap_request *request;

	ROW_EQ_INT(name, gpumap_request_new(&request), GPUMAP_OK);
	while (*statements && span_split(&rest, ';', &part)) {
		const char *equals = memchr(part.text, '=', part.length);
		char *key = strndup(part.text, (size_t)(equals - part.text));
		char *value = strndup(equals + 1, part.length - (size_t)(equals - part.text) - 1);

		ROW_EQ_INT(name, gpumap_request_set(request, key, value, key, report), GPUMAP_OK);
		free(key);
		free(value);
	}
	ROW_EQ_INT(name, gpumap_resolve(mapping, request, inventory, report), GPUMAP_OK);
	gpumap_request_free(request);
}

static gpumap_inventory *machine(const char *text)
{
	gpumap_inventory *inventory = NULL;

	if (starts_with(text, "GPU "))
		ROW_EQ_INT(text,
			   gpumap_inventory_parse(&inventory, text, strlen(text), "test", NULL),
			   GPUMAP_OK);
	else if (*text)
		ROW_EQ_INT(text, synthetic_parse(&inventory, span_of(text), NULL), GPUMAP_OK);
	return inventory;
}

#define UUID(n) "GPU-70726574-656e-6400-8000-00000000000" #n
#define MODEL "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
#define GPU(n) "GPU " #n ": " MODEL " (UUID: " UUID(n) ")\n"
#define RECORDED GPU(0) GPU(1) GPU(2) GPU(3)
#define LIKELY "Likely: it depends on the order of these GPUs, which is not documented.\n"

static const struct {
	const char *machine, *statements;
	const char *has; /* texts between bars */
} rows[] = {
	{RECORDED, "device=1", "likely\n|" LIKELY "|" MODEL "\n|" UUID(2) "\n|" UUID(3) "\n"},
	{RECORDED, "visible=0," UUID(0), "entry 1: '" UUID(0) "'\n|" LIKELY},
	{"", "visible=" UUID(0) "," UUID(1), UUID(0) " \xc2\xb7 assumed\n|" UUID(1) " "},
	{"2xA100+2xT4", "mode=dp;batch=100",
	 "GPU 0, GPU 1, GPU 2 or GPU 3 \xc2\xb7 undecidable \xc2\xb7 25 samples\n"},
	{"8", "visible=2,3,4,5;device=1",
	 "cuda:1 is physical GPU 3\n|assumed\n|mode single|Physical GPUs|Logical devices|cuda:3\n|"
	 "chosen\n|S1\n|V1\n|D1\n|CUDA_VISIBLE_DEVICES=2,3,4,5|8 unnamed"},
	{"1", "", "cuda:0 is physical GPU 0\n|chosen"},
	{"2xH100", "device=1", "H100\n|GPU 1"},
	{"8", "visible=2,1,3;mode=dp;batch=10",
	 "cuda:0 is physical GPU 2|master\n|replica 0\n|replica 2\n|4 samples|2 samples|G4\n"},
	{"8", "mode=mp;visible=7,0", "stage 0\n|stage 1\n|GPU 7"},
	{"2xA100+1xT1000", "device=0",
	 "undecidable\n|GPU 0, GPU 1 or GPU 2|Error GM019, rule N4|Remedy: |T1000"},
	{"8", "container=4,5,6,7;visible=1", "Container\n|keeps 4 GPUs|GPU 5|L1\n"},
	{"8", "container=4,5,6,7;cgroup=1,2;mps_server=1,0", "Device cgroup\n|MPS server\n|GPU 6"},
	{"2xA100+1xT1000", "mps_server=2,0", "MPS server\n|undecidable\n"},
	{"4", "prefix=0;script_export=1;script_inline=2;in_code=3",
	 "S2\n|over\n|--prefix 0\n|--script-export 1\n|--script-inline 2\n"},
	{"4", "launcher=ray:2;in_code=3", "over\n|the launcher's 2\n"},
	{"8", "visible=0,2,9,1", "entry 2: '9'\n|ends the list: no such device (V2)|Warning GM016"},
	{"8", "visible=2,3,4,5;device=5",
	 "No answer: cuda:5 |\nNo answer\nError GM009, rule D7, device\ncuda:5 does not exist "
	 "(invalid device ordinal), because 4 devices are visible (GPUs\n2,3,4,5)\n"
	 "Remedy: physical 5 is cuda:3 here\nmode single\n"},
	{"8", "visible=", "no device is visible\n|Error GM010"},
	{"0", "", "No answer: |no device is visible\n"},
	{"8", "device=cpu", "No GPU is used: the device is the CPU\n"},
	{"8", "container=9", "Error GM021"},
	{"", "visible=GPU-a1b2c3d4-0000-4000-8000-000000000000",
	 "GPU-a1b2c3d4-0000-4000-8000-000000000000\n|numbers not known"},
	{"16xH100", "visible=15,0;mode=dp", "15\n|GPU 15"},
	{"33", "device=20", "... 16 more\n|cuda:20\n|20\n"},
	{"100", "device=40", "cuda:39\n|cuda:40\n|cuda:41\n|99\n|... 36 more\n"},
	{"50xA100+50xT4", "device=99", "one of 100 GPUs"},
	{"1000", "container=all;mps_server=999,5;visible=1,0;mode=dp",
	 "999\n|GPU 999|... 992 more"},
	{"8", "dialect=hip;visible=ROCR_VISIBLE_DEVICES=3,1", "ROCR\n"},
};

START_TEST(pictures)
{
	gpumap_inventory *inventory = machine(rows[_i].machine);
	const char *name = rows[_i].statements;
	gpumap_mapping *mapping;
	gpumap_report *report;
	struct picture seen;
	char *svg, *text;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ask(name, name, inventory, &mapping, report);
	ROW_EQ_INT(name, gpumap_mapping_format(&svg, mapping, GPUMAP_FORMAT_SVG, 0, report),
		   GPUMAP_OK);
	text = picture_look(name, svg, &seen);
	has_words(name, text, rows[_i].has);
	ck_assert_msg(!strstr(text, ELLIPSIS), "%s: cut in\n%s", name, text);
	ck_assert_msg(seen.height < 2600 && seen.width < 2200, "%s: %ldx%ld", name, seen.width,
		      seen.height);
	free(text);
	free(svg);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

#define FFFD "\xef\xbf\xbd"

static const struct {
	const char *name, *text, *want; /* as a reader of XML sees it */
} escape_rows[] = {
	{"markup", "</title><script>&amp;\"'", "</title><script>&amp;\"'"},
	{"cdata", "]]>", "]]>"},
	{"control", "a\x01\x1b[31m\tb\x7f", "a" FFFD FFFD "[31m" FFFD "b" FFFD},
	{"invalid", "\xff\xc0\xaf\xe5\x8d", FFFD FFFD FFFD FFFD FFFD},
	{"surrogate", "\xed\xa0\x80", FFFD FFFD FFFD},
	{"no character", "\xef\xbf\xbe\xef\xbf\xbf", FFFD FFFD},
	{"c1", "\xc2\x85", FFFD},
	{"direction",
	 "\xe2\x80\xae"
	 "0\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c",
	 FFFD "0" FFFD FFFD FFFD},
	{"line separator", "\xe2\x80\xa8", FFFD},
	{"others", "\xe5\x8d\xa1 \xc3\xbc \xf0\x9f\x98\x80",
	 "\xe5\x8d\xa1 \xc3\xbc \xf0\x9f\x98\x80"},
};

START_TEST(escaping)
{
	const char *name = escape_rows[_i].name;
	struct strbuf buf = {0};
	struct picture seen;
	char *text;

	strbuf_puts(&buf, "<svg><title>");
	xml_escape(&buf, span_of(escape_rows[_i].text));
	strbuf_puts(&buf, "</title></svg>\n");
	text = picture_look(name, buf.text, &seen);
	ck_assert_msg(strncmp(text, escape_rows[_i].want, strlen(escape_rows[_i].want)) == 0 &&
			      streq(text + strlen(escape_rows[_i].want), "\n"),
		      "%s: '%s'", name, text);
	free(text);
	strbuf_free(&buf);
}
END_TEST

/* Sets the text as it is: member_set() would escape it. */
static void set(char **member, const char *text)
{
	*member = strdup(text);
	ck_assert_ptr_nonnull(*member);
}

/* A machine whose every name is an attack or endless. */
static gpumap_inventory *hostile_machine(void)
{
	static const char *const names[] = {"<script>alert('x')</script>&\"",
					    "\x1b[31m\xff\xe2\x80\xae", NULL};
	gpumap_inventory *inventory = inventory_new("test", "test");
	char endless[4096];

	memset(endless, 'W', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	for (int i = 0; i < 3; i++) {
		gpumap_device *gpu = inventory_add(inventory), *mig;

		ck_assert_ptr_nonnull(gpu);
		gpu->index = i;
		set(&gpu->name, names[i] ? names[i] : endless);
		if (i == 2) {
			endless[0] = 'G';
			set(&gpu->uuid, endless);
			endless[0] = 'P';
			set(&gpu->pci, endless);
		}
		gpu->mig_enabled = i == 2;
		mig = i == 2 ? device_add_mig(gpu) : NULL;
		if (mig) {
			set(&mig->profile, "1g.10gb<>&\x02");
			set(&mig->uuid, "MIG-\xc3<&>");
		}
	}
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	return inventory;
}

START_TEST(hostile_names)
{
	static const char *const statements[] = {
		"device=1", "visible=0,\x01<&>\xff;device=2", "visible=2,1;mode=dp",
		"prefix=<b>&\x02\xff;in_code=1;device_ids=0;mode=dp", "visible=GPU-<&>,\xc3"};
	const char *name = statements[_i];
	gpumap_inventory *inventory = hostile_machine();
	gpumap_mapping *mapping;
	gpumap_report *report;
	struct picture seen;
	char *svg, *text;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ask(name, name, inventory, &mapping, report);
	ROW_EQ_INT(name, gpumap_mapping_format(&svg, mapping, GPUMAP_FORMAT_SVG, 0, report),
		   GPUMAP_OK);
	text = picture_look(name, svg, &seen);
	has_words(name, text, "<script>alert('x')</script>&\"|1g.10gb<>&" FFFD "\n");
	ck_assert_msg(strlen(svg) < 65536, "%s: %zu bytes", name, strlen(svg));
	free(text);
	free(svg);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

static const char *const crowds[][2] = {
	{"10000", "device=5000"},
	{"10000", "container=all;cgroup=all;mode=dp;batch=100000"},
	{"5000xA100+5000xT4", "mode=dp;device_ids=9999,1"},
	{"65536", "device=65535"},
};

START_TEST(crowd)
{
	const char *name = crowds[_i][0];
	gpumap_inventory *inventory = machine(name);
	gpumap_mapping *mapping;
	gpumap_report *report;
	struct picture seen;
	char *svg, *text;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ask(name, crowds[_i][1], inventory, &mapping, report);
	ROW_EQ_INT(name, gpumap_mapping_format(&svg, mapping, GPUMAP_FORMAT_SVG, 0, report),
		   GPUMAP_OK);
	ck_assert_msg(strlen(svg) < 65536, "%s: %zu bytes", name, strlen(svg));
	text = picture_look(name, svg, &seen);
	ck_assert_msg(seen.height < 2600, "%s: %ld high", name, seen.height);
	has_words(name, text, " more\n");
	free(text);
	free(svg);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(no_mapping)
{
	gpumap_report *report;
	struct picture seen;
	char *svg, *text;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_mapping_format(&svg, NULL, GPUMAP_FORMAT_SVG, 0, NULL), GPUMAP_OK);
	text = picture_look("nothing at all", svg, &seen);
	has_words("nothing at all", text, "No answer: ");
	free(text);
	free(svg);
	for (int i = 0; i < 50; i++)
		report_add(report, FINDING_BAD_VALUE,
			   ABOUT(.rule = "V1", .origin = "a<b.ini", .line = 7, .fix = "remedy<"),
			   "finding %d & more", i);
	ck_assert_int_eq(gpumap_mapping_format(&svg, NULL, GPUMAP_FORMAT_SVG, 0, report),
			 GPUMAP_OK);
	text = picture_look("findings", svg, &seen);
	has_words("findings", text,
		  "No answer: finding 0 & more\n|Error GM002, rule V1, a<b.ini:7\n|Remedy: remedy<|"
		  "... 30 more findings\n");
	free(text);
	free(svg);
	gpumap_report_free(report);
}
END_TEST

static const struct {
	const char *text, *want; /* lines between bars */
	int width, lines;
} paragraph_rows[] = {
	{"short", "short", 200, 3},
	{"one two three four", "one two|three four", 90, 3},
	{"one two 3,4,5", "one two|3,4,5", 90, 3},
	{"1,2,3,4,5,6,7,8,9", "1,2,3,4,|5,6,7,8,|9", 70, 3},
	{"aaaaaaaaaaaaaaaaaaaa", "aaaaaaaa|aaaaaaa\xe2\x80\xa6", 66, 2},
	{"", "", 100, 3},
	{"nothing fits", "n|o\xe2\x80\xa6", 1, 2},
};

START_TEST(paragraphs)
{
	const struct ink *ink = INK(.size = 13, .fill = "#000", .mono = true);
	const char *name = paragraph_rows[_i].text;
	struct strbuf buf = {0};
	struct picture seen;
	char *text;
	int lines;

	strbuf_puts(&buf, "<svg width=\"500\" height=\"500\">");
	lines = svg_paragraph(&buf, 0, 20, ink, paragraph_rows[_i].width, paragraph_rows[_i].lines,
			      name);
	strbuf_puts(&buf, "</svg>\n");
	text = picture_look(name, buf.text, &seen);
	for (char *c = text; *c; c++)
		*c = *c == '\n' ? (c[1] ? '|' : '\0') : *c;
	if (paragraph_rows[_i].width > 1)
		ROW_EQ_STR(name, text, paragraph_rows[_i].want);
	ck_assert_msg(lines >= 1 && lines <= paragraph_rows[_i].lines, "%s: %d lines", name, lines);
	free(text);
	strbuf_free(&buf);
}
END_TEST

START_TEST(memory)
{
	gpumap_inventory *inventory = machine("2xA100+40xT4");
	gpumap_mapping *mapping;
	gpumap_report *report;
	size_t n, done = 0;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ask("memory", "prefix=9;in_code=1,99;container=all", inventory, &mapping, report);
	for (n = 1; !done; n++) {
		char *svg = NULL;
		int r;

		allocations_fail_at(n);
		r = gpumap_mapping_format(&svg, mapping, GPUMAP_FORMAT_SVG, 0, report);
		allocations_fail_at(0);
		done = !allocations_failed();
		ck_assert_msg(r == (done ? GPUMAP_OK : GPUMAP_ENOMEM), "allocation %zu: %d", n, r);
		ck_assert_msg(done == (svg != NULL), "allocation %zu", n);
		free(svg);
	}
	ck_assert(n > 10);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("svg");
	TCase *tests = tcase_create("svg");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, pictures, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tests, escaping, 0, ARRAY_SIZE(escape_rows));
	tcase_add_loop_test(tests, hostile_names, 0, 5);
	tcase_add_loop_test(tests, crowd, 0, ARRAY_SIZE(crowds));
	tcase_add_loop_test(tests, paragraphs, 0, ARRAY_SIZE(paragraph_rows));
	tcase_add_test(tests, no_mapping);
	if (allocations_can_fail())
		tcase_add_test(tests, memory);
	return unit_run(suite);
}

/* SPDX-License-Identifier: MIT */
/* Settings in messages: as keys, options or variables, by where they come from. */
#include "report/speech.h"

#include <string.h>

#include "request/profile_keys.h"
#include "strbuf.h"
#include "unit.h"

/* Where each key was set: pairs of a key and an origin. */
struct statements {
	const char *pairs[6];
};

static const char *origin_of(const void *data, struct span key)
{
	const struct statements *statements = data;

	for (size_t i = 0; i < 6 && statements->pairs[i]; i += 2)
		if (span_is(key, statements->pairs[i]))
			return statements->pairs[i + 1];
	return NULL;
}

#define RANKS SETTING("ranks = 5") ", but"
#define SHARE "write " SETTING("share = list") " or " SETTING("ranks_per_gpu")

static const struct {
	const char *name, *text;
	enum speech_part part;
	const char *origin;
	struct statements statements;
	bool options;
	const char *want;
} rows[] = {
	{"no setting", "as it is", SPEECH_TEXT, "--ranks", {{NULL}}, true, "as it is"},
	{"nothing", "", SPEECH_TEXT, NULL, {{NULL}}, true, ""},
	{"of a file",
	 SHARE,
	 SPEECH_FIX,
	 "x.ini",
	 {{NULL}},
	 false,
	 "write share = list or ranks_per_gpu"},
	{"of an option",
	 SHARE,
	 SPEECH_FIX,
	 "--ranks",
	 {{NULL}},
	 false,
	 "write --share list or --ranks-per-gpu"},
	{"of a variable",
	 SHARE,
	 SPEECH_FIX,
	 "GPUMAP_RANKS",
	 {{NULL}},
	 false,
	 "write GPUMAP_SHARE=list or GPUMAP_RANKS_PER_GPU"},
	{"of nothing, with a file",
	 SHARE,
	 SPEECH_FIX,
	 NULL,
	 {{NULL}},
	 false,
	 "write share = list or ranks_per_gpu"},
	{"of nothing, without",
	 SHARE,
	 SPEECH_FIX,
	 NULL,
	 {{NULL}},
	 true,
	 "write --share list or --ranks-per-gpu"},
	{"each by its own",
	 SHARE,
	 SPEECH_FIX,
	 "x.ini",
	 {{"share", "--share", "ranks_per_gpu", "x.ini:7"}},
	 false,
	 "write --share list or ranks_per_gpu"},
	{"an option wins over a file",
	 SHARE,
	 SPEECH_FIX,
	 "--device",
	 {{"share", "x.ini:3"}},
	 false,
	 "write --share list or --ranks-per-gpu"},
	{"a text names where it was",
	 "with " SETTING("share = list"),
	 SPEECH_TEXT,
	 "--device",
	 {{"share", "x.ini:3"}},
	 false,
	 "with share = list"},
	{"a variable wins over a file",
	 SHARE,
	 SPEECH_FIX,
	 "x.ini",
	 {{"share", "GPUMAP_SHARE"}},
	 false,
	 "write GPUMAP_SHARE=list or ranks_per_gpu"},
	{"named already", RANKS, SPEECH_TEXT, "--ranks", {{NULL}}, true, "5, but"},
	{"named by a variable", RANKS, SPEECH_TEXT, "GPUMAP_RANKS", {{NULL}}, true, "5, but"},
	{"another is named",
	 RANKS,
	 SPEECH_TEXT,
	 "--ranks-per-gpu",
	 {{NULL}},
	 true,
	 "--ranks 5, but"},
	{"the beginning of its name",
	 SETTING("ranks_per_gpu = 2"),
	 SPEECH_TEXT,
	 "--ranks",
	 {{NULL}},
	 true,
	 "--ranks-per-gpu 2"},
	{"a name and a colon",
	 SETTING("gpus") ": '8'",
	 SPEECH_TEXT,
	 "--gpus",
	 {{NULL}},
	 true,
	 "'8'"},
	{"a name",
	 SETTING("gpus") " cannot be",
	 SPEECH_TEXT,
	 "--gpus",
	 {{NULL}},
	 true,
	 "cannot be"},
	{"of a file, never left out",
	 RANKS,
	 SPEECH_TEXT,
	 "ranks",
	 {{NULL}},
	 false,
	 "ranks = 5, but"},
	{"a remedy names all",
	 SETTING("ranks = 2"),
	 SPEECH_FIX,
	 "--ranks",
	 {{NULL}},
	 true,
	 "--ranks 2"},
	{"an empty value", SETTING("hosts = "), SPEECH_FIX, "--ranks", {{NULL}}, true, "--hosts "},
	{"by another option",
	 SETTING("ranks = 5") ", but",
	 SPEECH_TEXT,
	 "--nproc-per-node",
	 {{"ranks", "--nproc-per-node"}},
	 true,
	 "5, but"},
	{"by another option, to write",
	 "write " SETTING("ranks = 2") " or " SETTING("share"),
	 SPEECH_FIX,
	 "--nproc-per-node",
	 {{"ranks", "--nproc-per-node"}},
	 true,
	 "write --nproc-per-node 2 or --share"},
	{"an open mark", "a\1b", SPEECH_TEXT, NULL, {{NULL}}, true, "a\1b"},
	{"an end alone", "a\2b", SPEECH_TEXT, NULL, {{NULL}}, true, "a\2b"},
};

START_TEST(spoken)
{
	const struct speech speech = {origin_of, &rows[_i].statements, rows[_i].options};
	struct strbuf buf = {0};
	char *got;

	speech_put(&buf, rows[_i].text, rows[_i].part, rows[_i].origin, &speech);
	got = strbuf_take(&buf);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
	free(got);
}
END_TEST

/* The names of options and variables are made of the key's, not looked up. */
START_TEST(every_key)
{
	const gpumap_key *key = &profile_key((enum profile_key_id)_i)->key;
	const char *const origins[] = {"--x", "GPUMAP_X"};
	const char *const names[] = {key->option, key->environment};

	for (size_t i = 0; i < 2; i++) {
		struct strbuf text = {0}, buf = {0};

		if (!names[i])
			continue;
		strbuf_printf(&text, SETTING("%s"), key->name);
		speech_put(&buf, text.text, SPEECH_FIX, origins[i], NULL);
		ROW_EQ_STR(key->name, buf.text, names[i]);
		strbuf_free(&text);
		strbuf_free(&buf);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("speech");
	TCase *tcase = tcase_create("speech");

	tcase_add_loop_test(tcase, spoken, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tcase, every_key, 0, PKEY_COUNT);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}

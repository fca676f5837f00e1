/* SPDX-License-Identifier: MIT */
/* The words of a device's index: %l, %r, %n, modulo and local-modulo. */
#include "request/profile_keys.h"
#include "request/request.h"
#include "strbuf.h"

struct device_use device_index(struct span text)
{
	static const struct {
		const char *word;
		enum device_use_kind kind;
	} words[] = {{"%l", USE_LOCAL_RANK},
		     {"%r", USE_RANK},
		     {"%n", USE_NODE},
		     {"modulo", USE_MODULO},
		     {"local-modulo", USE_LOCAL_MODULO}};
	int64_t number = span_number(text, INT32_MAX);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_is(text, words[i].word))
			return (struct device_use){.kind = words[i].kind};
	return (struct device_use){.kind = number >= 0 ? USE_NUMBER : USE_NOTHING,
				   .number = number};
}

void rank_words_expand(struct strbuf *buf, struct span text, const struct rank_words *words,
		       const char **missing)
{
	const struct {
		const char *word;
		int64_t value;
	} known[] = {{"local-modulo", words->local_modulo},
		     {"%l", words->local_rank},
		     {"%r", words->rank},
		     {"%n", words->node},
		     {"modulo", words->modulo}};

	while (text.length) {
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && !span_skip(&text, known[i].word))
			i++;
		if (i == ARRAY_SIZE(known)) {
			strbuf_add(buf, text.text++, 1);
			text.length--;
			continue;
		}
		if (known[i].value >= 0)
			strbuf_printf(buf, "%lld", (long long)known[i].value);
		else
			strbuf_puts(buf, known[i].word);
		if (known[i].value < 0 && missing)
			*missing = known[i].word;
	}
}

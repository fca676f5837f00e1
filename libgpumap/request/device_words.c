/* SPDX-License-Identifier: MIT */
/* The words of a device: PyTorch's strings; those of its index, %l, %r, %n, modulo and
 * local-modulo; and the entries of gpus. */
#include "request/profile_keys.h"
#include "request/request.h"
#include "strbuf.h"
#include "text/pci.h"

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

size_t rank_modulo(size_t rank, size_t visible)
{
	return visible ? rank % visible : 0;
}

/* An index as PyTorch takes it: digits without a leading zero. */
static bool index_parse(struct span *s, int64_t *index)
{
	struct span digits = {s->text, 0};

	while (digits.length < s->length && is_digit(s->text[digits.length]))
		digits.length++;
	if (!digits.length || (digits.length > 1 && *digits.text == '0'))
		return false;
	*index = span_number(digits, INT64_MAX);
	if (*index < 0)
		return false; /* too large for any machine */
	*s = span_behind(*s, digits.length);
	return true;
}

/* What may follow the first index in old PyTorch: ",1", ", cuda:1", " cuda:1" (rule D6). */
static bool more_devices(struct span s)
{
	int64_t index;

	while (s.length) {
		size_t separators = 0;

		while (separators < s.length &&
		       (s.text[separators] == ',' || is_space(s.text[separators])))
			separators++;
		if (!separators)
			return false;
		s = span_behind(s, separators);
		span_skip(&s, "cuda:");
		if (!index_parse(&s, &index))
			return false;
	}
	return true;
}

struct device_choice device_parse(struct span text)
{
	struct device_choice choice = {.kind = CHOICE_BAD};
	struct span s = text;

	if (span_is(s, "cuda"))
		return (struct device_choice){.kind = CHOICE_CURRENT};
	if (span_is(s, "cpu") || span_is(s, "cpu:0"))
		return (struct device_choice){.kind = CHOICE_CPU};
	if (!span_skip(&s, "cuda:") && s.length > 1)
		choice.negative = span_skip(&s, "-");
	if (!index_parse(&s, &choice.index))
		return choice;
	choice.several = s.length > 0;
	if (choice.several && (choice.negative || !more_devices(s)))
		return choice;
	choice.negative = choice.negative && choice.index > 0;
	choice.kind = CHOICE_INDEX;
	return choice;
}

static bool hex_and_dashes(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!is_hex(s.text[i]) && s.text[i] != '-')
			return false;
	return s.length;
}

/* Older drivers named an instance "MIG-GPU-uuid/gi/ci". */
static bool mig_name(struct span s)
{
	struct span part;

	span_skip(&s, "GPU-");
	if (!span_split(&s, '/', &part) || !hex_and_dashes(part))
		return false;
	while (span_split(&s, '/', &part))
		if (span_number(part, INT32_MAX) < 0)
			return false;
	return true;
}

bool gpu_entry_parse(struct gpu_entry *ret, struct span item)
{
	*ret = (struct gpu_entry){.kind = GPU_NUMBER, .text = item};
	if (span_starts(item, "GPU-") || span_starts(item, "MIG-")) {
		ret->kind = GPU_UUID;
		return span_skip(&item, "GPU-") ? hex_and_dashes(item)
						: span_skip(&item, "MIG-") && mig_name(item);
	}
	if (span_skip(&item, "pci:")) {
		ret->kind = GPU_PCI;
		return pci_normalise(item, ret->pci);
	}
	if (span_skip(&item, "name:")) {
		ret->kind = GPU_NAME;
		ret->text = item;
		return item.length && !span_is(item, "\"\"") && !span_is(item, "''");
	}
	ret->number = span_number(item, INT32_MAX);
	return ret->number >= 0;
}

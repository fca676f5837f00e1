/* SPDX-License-Identifier: MIT */
/* The readers of small texts: numbers, lists, PCI addresses, UTF-8, messages. */
#include "base.h"
#include "strbuf.h"
#include "suggest.h"
#include "text.h"
#include "text/pci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_escape(const char *text, size_t size)
{
	struct strbuf buf = {0};
	char *escaped;

	escape_to(&buf, text, size);
	escaped = strbuf_take(&buf);
	if (!escaped || strpbrk(escaped, "\n\r\t\x1b\x7f"))
		abort();
	free(escaped);
}

static void check_split(const char *text, size_t size)
{
	struct span rest = {text, size}, piece;
	size_t seen = 0, pieces = 0;

	while (span_split(&rest, ',', &piece)) {
		if (piece.length && (piece.text < text || piece.text + piece.length > text + size))
			abort();
		seen += piece.length;
		pieces++;
		if (span_number(span_trim(piece), 65535) > 65535)
			abort();
	}
	if (seen + pieces != size + 1)
		abort();
}

static void check_pci(const char *text, size_t size)
{
	char once[20], twice[20];

	if (!pci_normalise((struct span){text, size}, once))
		return;
	if (!pci_normalise(span_of(once), twice) || !streq(once, twice))
		abort();
}

static void check_utf8(const char *text, size_t size)
{
	size_t at, step;

	for (at = 0; at < size; at += step ? step : 1) {
		step = utf8_length(text + at, size - at);
		if (step > 4 || step > size - at)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"visible", "device", "device_ids", NULL};
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_escape(text, size);
	check_split(text, size);
	check_pci(text, size);
	check_utf8(text, size);
	suggest(span_of(text), names);
	free(text);
	return 0;
}

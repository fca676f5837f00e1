/* SPDX-License-Identifier: MIT */
/* Device strings: what is read, and that its own spelling is read the same. */
#include <stdio.h>

#include "request/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check(struct span text)
{
	struct device_choice c = device_parse(text), again;
	char plain[64];

	if (c.kind != CHOICE_INDEX)
		return;
	require(c.index >= 0 && !(c.several && c.negative));
	snprintf(plain, sizeof(plain), c.negative ? "-%lld" : "cuda:%lld", (long long)c.index);
	again = device_parse(span_of(plain));
	require(again.kind == CHOICE_INDEX && again.index == c.index &&
		again.negative == c.negative && !again.several);
}

/* resolve must be able to read every value that a key takes. */
static void check_keys(const char *text)
{
	static const char *const keys[] = {"device",     "set_device", "device_ids",
					   "local_rank", "batch",      "driver",
					   "launcher",   "mode",       "dialect"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		gpumap_mapping *mapping = NULL;
		gpumap_request *request;

		if (gpumap_request_new(&request) != GPUMAP_OK)
			return;
		if (gpumap_request_set(request, keys[i], text, NULL, NULL) == GPUMAP_OK)
			gpumap_resolve(&mapping, request, NULL, NULL);
		gpumap_mapping_free(mapping);
		gpumap_request_free(request);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check((struct span){text, size});
	check_keys(text);
	free(text);
	return 0;
}

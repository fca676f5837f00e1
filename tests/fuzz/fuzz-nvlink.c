/* SPDX-License-Identifier: MIT */
#include "one-reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* links stand below the lines of a list */
	const struct format *const formats[] = {&smi_list_format, &nvlink_format};

	return fuzz_readers(formats, ARRAY_SIZE(formats), data, size);
}

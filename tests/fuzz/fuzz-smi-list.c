/* SPDX-License-Identifier: MIT */
#include "one-reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&smi_list_format, data, size);
}

/* SPDX-License-Identifier: MIT */
/* See nvml_library.h. */
#include "nvml_library.h"

#include "dynlib.h"

const char *nvml_text(enum nvml_return code)
{
	switch (code) {
#define RETURN_TEXT(value, name, text) \
	case name: \
		return text;
		NVML_RETURNS(RETURN_TEXT)
#undef RETURN_TEXT
	default:
		return "unknown error";
	}
}

int nvml_cuda_of_driver(const char *driver)
{
	/* From the table in the release notes of NVIDIA's CUDA Toolkit. */
	static const struct {
		int branch, cuda;
	} rows[] = {
		{590, 13010}, {580, 13000}, {575, 12090}, {570, 12080}, {565, 12070}, {560, 12060},
		{555, 12050}, {550, 12040}, {545, 12030}, {535, 12020}, {530, 12010}, {525, 12000},
		{520, 11080}, {515, 11070}, {510, 11060}, {495, 11050}, {470, 11040}, {465, 11030},
		{460, 11020}, {455, 11010}, {450, 11000}, {440, 10020}, {418, 10010}, {410, 10000},
		{396, 9020},  {390, 9010},  {384, 9000},  {375, 8000},  {352, 7050},  {346, 7000},
	};
	long branch = driver ? strtol(driver, NULL, 10) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (branch >= rows[i].branch)
			return rows[i].cuda;
	return 0;
}

/* NVML is replacing the first function by the second. */
enum nvml_return nvml_celsius(const struct nvml *nvml, struct nvml_handle *gpu, int *celsius)
{
	struct nvml_temperature now = {.version = NVML_TEMPERATURE_V1, .sensor = NVML_SENSOR_GPU};
	unsigned int degrees;
	enum nvml_return code = NVML_ASK(nvml, temperature, gpu, NVML_SENSOR_GPU, &degrees);

	if (code == NVML_SUCCESS && degrees <= INT32_MAX) {
		*celsius = (int)degrees;
		return code;
	}
	if (code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_RESET_REQUIRED)
		return code;
	code = NVML_ASK(nvml, temperature_v, gpu, &now);
	if (code == NVML_SUCCESS && now.celsius < 0)
		return NVML_ERROR_NO_DATA;
	if (code == NVML_SUCCESS)
		*celsius = now.celsius;
	return code;
}

static const struct dynlib_function functions[] = {
#define FUNCTION(need, member, function) \
	{#function, offsetof(struct nvml, member), (need) == NVML_WANTED},
	NVML_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

enum nvml_return nvml_open(struct nvml *ret, const char **missing)
{
	/* NixOS has the driver where its loader does not search. */
	static const char *const files[] = {NVML_LIBRARY, "/run/opengl-driver/lib/" NVML_LIBRARY};

	ret->library = NULL;
	*missing = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !ret->library && !*missing; i++)
		ret->library =
			dynlib_open(files[i], functions, ARRAY_SIZE(functions), ret, missing);
	if (ret->library)
		return NVML_SUCCESS;
	return *missing ? NVML_ERROR_FUNCTION_NOT_FOUND : NVML_ERROR_LIBRARY_NOT_FOUND;
}

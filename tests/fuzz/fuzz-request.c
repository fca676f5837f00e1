/* SPDX-License-Identifier: MIT */
/*
 * A whole answer from bytes. The first byte chooses the machine. Then come lines: KEY=VALUE is a
 * statement if KEY begins with a small letter; any other line is a variable of the environment.
 */
#include <jansson.h>

#include "inventory/inventory.h"
#include "request/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void set(char **member, const char *text)
{
	require(member_set(member, span_of(text)));
}

/* Up to four GPUs. `kind` also chooses gaps in their numbers, unlike models, MIG instances of the
 * first GPU, and a measured order. */
static gpumap_inventory *machine(unsigned kind)
{
	static const char *const uuids[] = {"GPU-a1", "GPU-a2", "GPU-b3", "GPU-c4"};
	static const char *const migs[] = {"MIG-a", "MIG-b", "MIG-c"};
	gpumap_inventory *inventory = inventory_new("fuzz", "fuzz");

	for (size_t i = 0; i < kind % 5; i++) {
		gpumap_device *d = inventory_add(inventory);

		d->index = (int)(kind & 8 ? i * 2 : i);
		set(&d->uuid, uuids[i]);
		if (kind & 16)
			set(&d->name, i == 1 ? "Y" : "X");
		for (size_t m = 0; (kind & 32) && i == 0 && m < 3; m++) {
			gpumap_device *mig = device_add_mig(d);

			set(&mig->uuid, migs[m]);
			if (kind & 64) {
				mig->gi = (int)m / 2;
				mig->ci = (int)m % 2;
			}
		}
	}
	if (kind & 128) {
		inventory->order[GPUMAP_ORDER_FASTEST] = calloc(inventory->count + 1, sizeof(int));
		for (size_t i = 0; i < inventory->count; i++)
			inventory->order[GPUMAP_ORDER_FASTEST][i] = (int)(inventory->count - 1 - i);
	}
	require(inventory_finish(inventory, NULL) == GPUMAP_OK);
	return inventory;
}

static void set_statements(gpumap_request *request, char *text, gpumap_report *report)
{
	char *rest = text, *line;
	const char *envp[64] = {0};
	size_t variables = 0;

	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');
		bool key = value && *line >= 'a' && *line <= 'z';

		if (key) {
			*value++ = '\0';
			gpumap_request_set(request, line, value, line, report);
		} else if (variables < 63) {
			envp[variables++] = line;
		}
	}
	gpumap_request_set_environ(request, envp, report);
}

static void check_mapping(const gpumap_mapping *m)
{
	for (size_t i = 0; i < gpumap_mapping_visible_count(m); i++) {
		const gpumap_entry *e = gpumap_mapping_visible(m, i);
		int physical = (int)gpumap_entry_int(e, GPUMAP_ENTRY_PHYSICAL);

		require(gpumap_entry_int(e, GPUMAP_ENTRY_LOGICAL) == (int64_t)i);
		require(gpumap_entry_candidate_count(e) > 0);
		/* A lookup walks the list, so only the first ones are looked up. */
		require(physical < 0 || i > 64 || gpumap_mapping_logical(m, physical) <= (int)i);
		for (size_t k = 0; k < i && k < 8; k++)
			require(gpumap_mapping_visible(m, k) != e);
	}
	for (size_t i = 0; i < gpumap_mapping_replica_count(m); i++)
		require(gpumap_mapping_replica(m, i) != NULL);
}

static void check_texts(const gpumap_mapping *mapping, const gpumap_report *report)
{
	char *text;
	json_t *json;

	if (gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_TEXT, 0, report) == GPUMAP_OK) {
		for (const char *c = text; *c; c++)
			require(*c == '\n' || (unsigned char)*c >= 0x20);
		free(text);
	}
	if (gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_JSON, 0, report) != GPUMAP_OK)
		return;
	json = json_loads(text, 0, NULL);
	require(json != NULL);
	json_decref(json);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned kind = size ? *data : 0;
	gpumap_inventory *inventory = kind % 5 ? machine(kind) : NULL;
	gpumap_mapping *mapping = NULL;
	gpumap_request *request = NULL;
	gpumap_report *report = NULL;
	char *text = calloc(size + 1, 1);
	int r;

	require(text && gpumap_report_new(&report) == GPUMAP_OK &&
		gpumap_request_new(&request) == GPUMAP_OK);
	if (size)
		memcpy(text, data + 1, size - 1);
	set_statements(request, text, report);
	r = gpumap_resolve(&mapping, request, inventory, report);
	gpumap_inventory_free(inventory);
	gpumap_request_free(request);
	require((r == GPUMAP_OK) == (mapping != NULL));
	if (mapping)
		check_mapping(mapping);
	else
		require(gpumap_report_worst(report) >= GPUMAP_SEVERITY_WARNING);
	check_texts(mapping, report);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	free(text);
	return 0;
}

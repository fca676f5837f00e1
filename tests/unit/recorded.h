/* SPDX-License-Identifier: MIT */
/* What the tests of recorded text share: an inventory as short text. */
#ifndef GM_TEST_RECORDED_H
#define GM_TEST_RECORDED_H

#include <inttypes.h>
#include <string.h>

#include "inventory/recorded.h"
#include "strbuf.h"
#include "unit.h"

/* UUIDs that no real GPU has. */
#define U0 "1a2b3c4d-0000-4aaa-8bbb-000000000010"
#define U1 "1a2b3c4d-0000-4aaa-8bbb-000000000011"
#define U2 "1a2b3c4d-0000-4aaa-8bbb-000000000012"

static inline void put(struct strbuf *buf, const char *name, const char *text)
{
	if (text)
		strbuf_printf(buf, " %s=%s", name, text);
}

static inline void put_number(struct strbuf *buf, const char *name, int64_t number)
{
	if (number >= 0)
		strbuf_printf(buf, " %s=%" PRId64, name, number);
}

static inline void put_mig(struct strbuf *buf, const gpumap_device *mig)
{
	strbuf_puts(buf, " (");
	put(buf, "profile", gpumap_device_str(mig, GPUMAP_DEVICE_MIG_PROFILE));
	put(buf, "uuid", gpumap_device_str(mig, GPUMAP_DEVICE_UUID));
	put_number(buf, "gi", gpumap_device_int(mig, GPUMAP_DEVICE_MIG_GI));
	put_number(buf, "ci", gpumap_device_int(mig, GPUMAP_DEVICE_MIG_CI));
	if (mig->memory >= 0)
		put_number(buf, "mib", mig->memory / MIB);
	strbuf_puts(buf, " )");
}

/* " 0 uuid=GPU-... name=... links=1,2 ( profile=... );" for each GPU; free it. */
static inline char *describe(const gpumap_inventory *inventory)
{
	struct strbuf buf = {0};
	const gpumap_device *d;

	for (size_t i = 0; (d = gpumap_inventory_get(inventory, i)); i++) {
		int64_t memory = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY);

		strbuf_printf(&buf, "%" PRId64, gpumap_device_int(d, GPUMAP_DEVICE_INDEX));
		put(&buf, "uuid", gpumap_device_str(d, GPUMAP_DEVICE_UUID));
		put(&buf, "pci", gpumap_device_str(d, GPUMAP_DEVICE_PCI));
		put(&buf, "name", gpumap_device_str(d, GPUMAP_DEVICE_NAME));
		if (memory >= 0)
			put_number(&buf, "mib", memory / MIB);
		put(&buf, "numa", gpumap_device_str(d, GPUMAP_DEVICE_NUMA));
		put(&buf, "cpus", gpumap_device_str(d, GPUMAP_DEVICE_CPUS));
		put_number(&buf, "minor", gpumap_device_int(d, GPUMAP_DEVICE_MINOR));
		put_number(&buf, "mode", gpumap_device_int(d, GPUMAP_DEVICE_MIG_ENABLED));
		if (gpumap_device_nvlink_count(d) >= 0)
			strbuf_puts(&buf, " links=");
		for (int k = 0; k < gpumap_device_nvlink_count(d); k++)
			strbuf_printf(&buf, "%s%d", k ? "," : "",
				      gpumap_device_nvlink(d, (size_t)k));
		for (size_t k = 0; k < gpumap_device_mig_count(d); k++)
			put_mig(&buf, gpumap_device_mig(d, k));
		strbuf_puts(&buf, ";");
	}
	return strbuf_take(&buf);
}

#define UNNUMBERED "the numbers of the GPUs are not known, so neither is which one cuda:0 is"

struct recorded_row {
	const char *name, *text;
	int code;
	const char *want;    /* as describe writes it; NULL: none */
	const char *finding; /* the first one's text; NULL: none at all */
	int line;            /* its line */
};

static inline void check_recorded(const struct recorded_row *row, size_t size)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	const gpumap_finding *first;
	char *got, *copy = malloc(size ? size : 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, row->text, size); /* so that a sanitizer sees a read past the end */
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(row->name, recorded_parse(&inventory, (struct span){copy, size}, "t", report),
		   row->code);
	first = gpumap_report_get(report, 0);
	ROW_EQ_STR(row->name, gpumap_finding_str(first, GPUMAP_FINDING_TEXT), row->finding);
	if (row->line)
		ROW_EQ_INT(row->name, gpumap_finding_int(first, GPUMAP_FINDING_LINE), row->line);
	got = describe(inventory);
	ROW_EQ_STR(row->name, got, row->want ? row->want : "");
	if (row->code != GPUMAP_OK)
		ck_assert_ptr_null(inventory);
	free(got);
	free(copy);
	gpumap_inventory_free(inventory);
	gpumap_report_free(report);
}

#endif

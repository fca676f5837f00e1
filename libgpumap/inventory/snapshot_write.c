/* SPDX-License-Identifier: MIT */
/* Writes a snapshot. */
#include "inventory/snapshot.h"

#include <inttypes.h>

#include "strbuf.h"
#include "text/writefile.h"

struct writer {
	const gpumap_inventory *inventory;
	struct strbuf text;
	const char *too_long; /* the first member that does not fit into a value */
};

/* A list of positions, with runs as "0-7". Unknown positions at its end are left out. */
static void write_order(struct strbuf *buf, const int *order, size_t count)
{
	const char *comma = "";

	while (count && order[count - 1] < 0)
		count--;
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;

		while (order[i] >= 0 && end < count && order[end] == order[end - 1] + 1)
			end++;
		if (order[i] < 0)
			strbuf_printf(buf, "%s?", comma);
		else if (end == i + 1)
			strbuf_printf(buf, "%s%d", comma, order[i]);
		else
			strbuf_printf(buf, "%s%d-%d", comma, order[i], order[end - 1]);
		comma = ",";
		i = end;
	}
	if (!count)
		strbuf_puts(buf, "?");
}

static void write_nvlink(struct strbuf *buf, const gpumap_device *device)
{
	if (!device->nvlink_count)
		strbuf_puts(buf, "none");
	for (int i = 0; i < device->nvlink_count; i++)
		strbuf_printf(buf, "%s%d", i ? "," : "", device->nvlink[i]);
}

static void write_text(struct strbuf *buf, const char *text)
{
	if (text)
		inifile_encode(buf, span_of(text));
}

/* Without a value the reader takes a GPU with instances for enabled. */
static void write_enabled(struct writer *w, const struct snapshot_member *member,
			  const void *object)
{
	int enabled = *(const int *)((const char *)object + member->offset);

	if (enabled >= 0)
		strbuf_puts(&w->text, enabled ? "yes" : "no");
	else if (!member->usage && ((const gpumap_device *)object)->mig_count)
		strbuf_puts(&w->text, "unknown");
}

static void write_types(struct strbuf *buf, unsigned types)
{
	const char *word, *comma = "";
	unsigned type;

	for (size_t i = 0; (word = process_type_word(i, &type)); i++) {
		if (!(types & type))
			continue;
		strbuf_printf(buf, "%s%s", comma, word);
		comma = ",";
	}
}

/* A member of the usage, of the kinds that nothing else has. */
static void write_usage(struct strbuf *buf, const struct snapshot_member *member,
			const void *object)
{
	static const char *const listed[] = {"none", "some", "all"};
	const void *p = (const char *)object + member->offset;

	if (member->kind == SNAPSHOT_MODE && *(const int *)p >= 0)
		strbuf_puts(buf, compute_mode_word(*(const int *)p));
	else if (member->kind == SNAPSHOT_LISTED && *(const enum listed *)p >= 0)
		strbuf_puts(buf, listed[*(const enum listed *)p]);
	else if (member->kind == SNAPSHOT_TYPES)
		write_types(buf, *(const unsigned *)p);
	else if (member->kind == SNAPSHOT_START)
		strbuf_puts(buf, ((const gpumap_process *)object)->started);
	else if (member->kind == SNAPSHOT_ACTIVE && *(const int64_t *)p >= 0)
		strbuf_puts(buf, *(const int64_t *)p ? ((const gpumap_process *)object)->was_active
						     : "none");
}

/* Appends the member's value; nothing when it is not known. */
static void write_value(struct writer *w, const struct snapshot_member *member, const void *object)
{
	const void *p = (const char *)object + member->offset;
	struct strbuf *buf = &w->text;

	switch (member->kind) {
	case SNAPSHOT_VERSION:
		strbuf_printf(buf, "%d",
			      w->inventory->usage ? SNAPSHOT_USAGE_SCHEMA : SNAPSHOT_SCHEMA);
		break;
	case SNAPSHOT_FLAG:
		if (*(const bool *)p)
			strbuf_puts(buf, "yes");
		break;
	case SNAPSHOT_ORDER:
		if (*(int *const *)p && w->inventory->count)
			write_order(buf, *(int *const *)p, w->inventory->count);
		break;
	case SNAPSHOT_TEXT:
	case SNAPSHOT_GPU_UUID:
	case SNAPSHOT_MIG_UUID:
	case SNAPSHOT_PCI:
	case SNAPSHOT_LIST:
		write_text(buf, *(char *const *)p);
		break;
	case SNAPSHOT_BYTES:
	case SNAPSHOT_ID:
		if (*(const int64_t *)p >= 0)
			strbuf_printf(buf, "%" PRId64, *(const int64_t *)p);
		break;
	case SNAPSHOT_NUMBER:
		if (*(const int *)p >= 0)
			strbuf_printf(buf, "%d", *(const int *)p);
		break;
	case SNAPSHOT_INDEX:
		if (*(const int *)p < 0)
			strbuf_puts(buf, "unknown");
		break;
	case SNAPSHOT_ENABLED:
		write_enabled(w, member, object);
		break;
	case SNAPSHOT_NVLINK:
		if (((const gpumap_device *)object)->nvlink_count >= 0)
			write_nvlink(buf, object);
		break;
	default:
		write_usage(buf, member, object);
		break;
	}
}

/* Whether the line would be too long to be read back. */
static bool is_too_long(struct writer *w, size_t start)
{
	struct span written = {w->text.text + start, w->text.length - start};
	CLEANUP(strbuf_free) struct strbuf value = {0};
	bool is_long;

	if (written.length <= INIFILE_MAX_VALUE)
		return false;
	inifile_decode(&value, written);
	is_long = value.length > INIFILE_MAX_VALUE;
	if (value.failed)
		w->text.failed = true;
	return is_long;
}

static void write_members(struct writer *w, const struct snapshot_table *table, const void *object)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct snapshot_member *member = &table->members[i];
		size_t before = w->text.length, start;

		if (member->usage && !w->inventory->usage)
			continue;
		strbuf_printf(&w->text, "%s = ", member->name);
		start = w->text.length;
		write_value(w, member, object);
		if (w->text.failed)
			return;
		if (!w->too_long && is_too_long(w, start))
			w->too_long = member->name;
		if (w->text.length == start) {
			w->text.length = before;
			w->text.text[before] = '\0';
		} else {
			strbuf_puts(&w->text, "\n");
		}
	}
}

/* The number in the next [gpu N]: the index, or the least number that is not a GPU's. The GPUs are
 * sorted by index; those without one are last. */
struct labels {
	int free;
	size_t known;
};

static int next_label(struct labels *labels, const gpumap_inventory *inventory,
		      const gpumap_device *gpu)
{
	if (gpu->index >= 0)
		return gpu->index;
	while (labels->known < inventory->count &&
	       inventory->gpus[labels->known].index == labels->free) {
		labels->known++;
		labels->free++;
	}
	return labels->free++;
}

static void write_sections(struct writer *w)
{
	const gpumap_inventory *inventory = w->inventory;
	struct labels labels = {0};

	strbuf_puts(&w->text, "# gpumap snapshot: the GPUs of one machine. To read it: "
			      "gpumap inventory --inventory FILE\n[snapshot]\n");
	write_members(w, &snapshot_head, inventory);
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];
		int label = next_label(&labels, inventory, gpu);

		strbuf_printf(&w->text, "\n[gpu %d]\n", label);
		write_members(w, &snapshot_gpu, gpu);
		for (size_t k = 0; k < gpu->mig_count; k++) {
			strbuf_printf(&w->text, "\n[mig %d:%zu]\n", label, k);
			write_members(w, &snapshot_mig, &gpu->mig[k]);
		}
		for (size_t k = 0; inventory->usage && k < gpu->process_count; k++) {
			strbuf_printf(&w->text, "\n[process %d:%zu]\n", label, k);
			write_members(w, &snapshot_process, &gpu->processes[k]);
		}
	}
}

const char *snapshot_write(struct strbuf *buf, const gpumap_inventory *inventory, int *limit)
{
	struct writer w = {.inventory = inventory};

	write_sections(&w);
	*buf = w.text;
	*limit = w.too_long ? INIFILE_MAX_VALUE : (int)GPUMAP_MAX_FILE;
	if (buf->failed || w.too_long)
		return w.too_long;
	return buf->length > GPUMAP_MAX_FILE ? "the snapshot" : NULL;
}

EXPORT int gpumap_inventory_save(const gpumap_inventory *inventory, const char *path,
				 gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf text = {0};
	int limit;
	const char *too_long = snapshot_write(&text, inventory, &limit);

	if (text.failed)
		return report_nomem(report);
	if (too_long)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = path),
				   "cannot save the inventory: '%s' is longer than %d bytes",
				   too_long, limit);
	return write_file(path, (struct span){text.text, text.length}, "the inventory", report);
}

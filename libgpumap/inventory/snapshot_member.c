/* SPDX-License-Identifier: MIT */
/* The members of a snapshot, and how each is read. */
#include "inventory/snapshot.h"

#include <limits.h>
#include <time.h>

#include "memory.h"
#include "strbuf.h"
#include "text/pci.h"

/* The usage of a GPU or an instance. */
#define USAGE(U) \
	U("used", BYTES, used) \
	U("free", BYTES, free) \
	U("reserved", BYTES, reserved) \
	U("utilization", NUMBER, utilization) \
	U("processes", LISTED, listed)

/* U: a member of the usage. */
#define HEAD(X, U) \
	X("schema", VERSION, source) \
	X("source", TEXT, source) \
	X("host", TEXT, host) \
	X("date", TEXT, date) \
	X("driver", TEXT, driver) \
	X("assumed", FLAG, assumed) \
	X("partial", FLAG, partial) \
	X("no_gpu", TEXT, no_gpu) \
	X("cuda_unknown_from", NUMBER, doubt) \
	U("usage", FLAG, usage) \
	X("cuda_fastest", ORDER, order[GPUMAP_ORDER_FASTEST]) \
	X("cuda_pci", ORDER, order[GPUMAP_ORDER_PCI])

#define GPU(X, U) \
	X("index", INDEX, index) \
	X("uuid", GPU_UUID, uuid) \
	X("pci", PCI, pci) \
	X("name", TEXT, name) \
	X("memory", BYTES, memory) \
	X("numa", LIST, numa) \
	X("cpus", LIST, cpus) \
	X("minor", NUMBER, minor) \
	X("mig_enabled", ENABLED, mig_enabled) \
	X("nvlink", NVLINK, nvlink) \
	USAGE(U) \
	U("temperature", NUMBER, temperature) \
	U("compute_mode", MODE, compute_mode)

#define MIG(X, U) \
	X("uuid", MIG_UUID, uuid) \
	X("profile", TEXT, profile) \
	X("memory", BYTES, memory) \
	X("gi", NUMBER, gi) \
	X("ci", NUMBER, ci) \
	USAGE(U)

#define PROCESS(X, U) \
	U("pid", ID, pid) \
	U("memory", BYTES, memory) \
	U("mig", NUMBER, mig) \
	U("types", TYPES, types) \
	U("visible", ENABLED, visible) \
	U("uid", ID, uid) \
	U("user", TEXT, user) \
	U("start", START, start) \
	U("active", ACTIVE, active) \
	U("container", TEXT, container) \
	U("command", TEXT, command)

#define NAME(name, kind, member) name,
#define MEMBER(type, name, kind, member, usage) \
	{name, SNAPSHOT_##kind, offsetof(type, member), usage},
#define HEAD_MEMBER(...) MEMBER(gpumap_inventory, __VA_ARGS__, false)
#define HEAD_USAGE(...) MEMBER(gpumap_inventory, __VA_ARGS__, true)
#define DEVICE_MEMBER(...) MEMBER(gpumap_device, __VA_ARGS__, false)
#define DEVICE_USAGE(...) MEMBER(gpumap_device, __VA_ARGS__, true)
#define PROCESS_USAGE(...) MEMBER(gpumap_process, __VA_ARGS__, true)

static const char *const head_names[] = {HEAD(NAME, NAME) NULL};
static const char *const gpu_names[] = {GPU(NAME, NAME) NULL};
static const char *const mig_names[] = {MIG(NAME, NAME) NULL};
static const char *const process_names[] = {PROCESS(NAME, NAME) NULL};
static const struct snapshot_member head_members[] = {HEAD(HEAD_MEMBER, HEAD_USAGE)};
static const struct snapshot_member gpu_members[] = {GPU(DEVICE_MEMBER, DEVICE_USAGE)};
static const struct snapshot_member mig_members[] = {MIG(DEVICE_MEMBER, DEVICE_USAGE)};
static const struct snapshot_member process_members[] = {PROCESS(, PROCESS_USAGE)};

const struct snapshot_table snapshot_head = {head_names, head_members, ARRAY_SIZE(head_members)};
const struct snapshot_table snapshot_gpu = {gpu_names, gpu_members, ARRAY_SIZE(gpu_members)};
const struct snapshot_table snapshot_mig = {mig_names, mig_members, ARRAY_SIZE(mig_members)};
const struct snapshot_table snapshot_process = {process_names, process_members,
						ARRAY_SIZE(process_members)};

_Static_assert(ARRAY_SIZE(head_members) <= SNAPSHOT_MAX_MEMBERS, "head");
_Static_assert(ARRAY_SIZE(gpu_members) <= SNAPSHOT_MAX_MEMBERS, "gpu");
_Static_assert(ARRAY_SIZE(mig_members) <= SNAPSHOT_MAX_MEMBERS, "mig");
_Static_assert(ARRAY_SIZE(process_members) <= SNAPSHOT_MAX_MEMBERS, "process");

/* Takes "N" or "N-M" off a list's item. */
static bool read_range(struct span item, int64_t max, int64_t *first, int64_t *last)
{
	const char *dash = item.length ? memchr(item.text, '-', item.length) : NULL;
	struct span low = item, high = item;

	if (dash) {
		low.length = (size_t)(dash - item.text);
		high = span_behind(item, low.length + 1);
	}
	*first = span_number(low, max);
	*last = span_number(high, max);
	return *first >= 0 && *last >= *first;
}

static bool is_list(struct span text)
{
	struct span rest = text, item;
	int64_t first, last;

	while (span_split(&rest, ',', &item))
		if (!read_range(span_trim(item), INT_MAX, &first, &last))
			return false;
	return true;
}

static void set_text(char **member, struct span text, bool *nomem)
{
	*nomem = !member_set(member, text);
}

/* A hidden UUID is kept as recorded; Jetson's has no prefix. */
static bool set_uuid(char **member, struct span text, const char *prefix, bool *nomem)
{
	if (!is_full_uuid(text, "") &&
	    (!span_starts(text, prefix) || text.length == strlen(prefix)))
		return false;
	set_text(member, text, nomem);
	return true;
}

static bool set_pci(char **member, struct span text, bool *nomem)
{
	char pci[20];

	if (!pci_normalise(text, pci))
		return false;
	set_text(member, span_of(pci), nomem);
	return true;
}

static bool set_number(int *member, struct span value)
{
	int64_t n = span_number(value, INT_MAX);

	if (n < 0)
		return false;
	*member = (int)n;
	return true;
}

static bool set_index(int *member, struct span value)
{
	if (!span_is(value, "unknown"))
		return set_number(member, value);
	*member = -1;
	return true;
}

static bool set_large(int64_t *member, struct span value, int64_t max)
{
	int64_t n = span_number(value, max);

	if (n < 0)
		return false;
	*member = n;
	return true;
}

static bool set_flag(bool *member, struct span value)
{
	*member = span_is(value, "yes");
	return *member || span_is(value, "no");
}

static bool set_enabled(int *member, struct span value)
{
	if (!span_is(value, "yes") && !span_is(value, "no") && !span_is(value, "unknown"))
		return false;
	*member = span_is(value, "unknown") ? -1 : span_is(value, "yes");
	return true;
}

static bool set_nvlink(gpumap_device *device, struct span value, bool *nomem)
{
	bool none = span_is(value, "none"), good = true;
	struct span rest = value, item;
	CLEANUP_FREE int *indices = xmalloc((value.length / 2 + 1) * sizeof(*indices));
	size_t n = 0;

	*nomem = !indices;
	while (!*nomem && !none && good && span_split(&rest, ',', &item))
		good = set_number(&indices[n++], span_trim(item));
	if (!*nomem && good)
		*nomem = !device_set_nvlink(device, indices, n);
	return good;
}

static bool set_mode(int *member, struct span value)
{
	*member = compute_mode_number(value);
	return *member >= 0;
}

static bool set_listed(enum listed *member, struct span value)
{
	*member = span_is(value, "all")    ? LISTED_ALL
		  : span_is(value, "some") ? LISTED_SOME
		  : span_is(value, "none") ? LISTED_NONE
					   : LISTED_UNKNOWN;
	return *member != LISTED_UNKNOWN;
}

static bool set_types(unsigned *member, struct span value)
{
	unsigned types = 0;
	struct span rest = value, word;

	while (span_split(&rest, ',', &word)) {
		unsigned type = process_type(span_trim(word));

		if (!type)
			return false;
		types |= type;
	}
	*member = types;
	return true;
}

/* Takes a number of `digits` digits, and the character after it, off the text. */
static bool take_part(struct span *text, size_t digits, char after, int *ret)
{
	struct span part = {text->text, digits};

	if (text->length <= digits || text->text[digits] != after)
		return false;
	*ret = (int)span_number(part, INT_MAX);
	*text = span_behind(*text, digits + 1);
	return *ret >= 0;
}

/* Seconds since the epoch; -1: it is not a time. */
static int64_t read_time(struct span value)
{
	struct span rest = value;
	char text[TIME_TEXT];
	struct tm tm = {0};
	int64_t seconds;

	if (!take_part(&rest, 4, '-', &tm.tm_year) || !take_part(&rest, 2, '-', &tm.tm_mon) ||
	    !take_part(&rest, 2, 'T', &tm.tm_mday) || !take_part(&rest, 2, ':', &tm.tm_hour) ||
	    !take_part(&rest, 2, ':', &tm.tm_min) || !take_part(&rest, 2, 'Z', &tm.tm_sec) ||
	    rest.length)
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm);
	time_text(text, seconds);
	/* A date that does not exist, such as the 30th of February, would be another one. */
	return span_is(value, text) ? seconds : -1;
}

static bool set_start(gpumap_process *process, struct span value)
{
	int64_t seconds = read_time(value);

	if (seconds >= 0)
		process_set_start(process, seconds);
	return seconds >= 0;
}

static bool set_active(gpumap_process *process, struct span value)
{
	int64_t seconds = span_is(value, "none") ? 0 : read_time(value);

	if (seconds >= 0)
		process_set_active(process, seconds);
	return seconds >= 0;
}

/* As snapshot_set(). `text` is decoded. */
static const char *set(const struct snapshot_member *member, void *object, struct span value,
		       struct span text, bool *nomem)
{
	void *p = (char *)object + member->offset;

	switch (member->kind) {
	case SNAPSHOT_FLAG:
		return set_flag(p, value) ? NULL : "yes or no";
	case SNAPSHOT_TEXT:
		set_text(p, text, nomem);
		return NULL;
	case SNAPSHOT_GPU_UUID:
		return set_uuid(p, text, "GPU-", nomem) ? NULL : "a UUID that begins with GPU-";
	case SNAPSHOT_MIG_UUID:
		return set_uuid(p, text, "MIG-", nomem) ? NULL : "a UUID that begins with MIG-";
	case SNAPSHOT_PCI:
		return set_pci(p, value, nomem) ? NULL : "a PCI address such as 0000:07:00.0";
	case SNAPSHOT_LIST:
		if (!is_list(value))
			return "a list such as 0-31,64-95";
		set_text(p, value, nomem);
		return NULL;
	case SNAPSHOT_BYTES:
		return set_large(p, value, INT64_MAX) ? NULL : "a number of bytes, digits alone";
	case SNAPSHOT_ID:
		return set_large(p, value, UINT32_MAX) ? NULL : "a number from 0 to 4294967295";
	case SNAPSHOT_NUMBER:
		return set_number(p, value) ? NULL : "a number from 0 to 2147483647";
	case SNAPSHOT_INDEX:
		return set_index(p, value) ? NULL : "a number from 0 to 2147483647, or unknown";
	case SNAPSHOT_ENABLED:
		return set_enabled(p, value) ? NULL : "yes, no or unknown";
	case SNAPSHOT_NVLINK:
		return set_nvlink(object, value, nomem)
			       ? NULL
			       : "a list of GPU numbers such as 1,2,3, or none";
	case SNAPSHOT_MODE:
		return set_mode(p, value)
			       ? NULL
			       : "default, exclusive-thread, prohibited or exclusive-process";
	case SNAPSHOT_LISTED:
		return set_listed(p, value) ? NULL : "all, some or none";
	case SNAPSHOT_TYPES:
		return set_types(p, value) ? NULL : "a list of compute, graphics and mps";
	case SNAPSHOT_START:
		return set_start(object, value) ? NULL : "a time such as 2026-11-21T10:00:00Z";
	case SNAPSHOT_ACTIVE:
		return set_active(object, value) ? NULL
						 : "a time such as 2026-11-21T10:00:00Z, or none";
	default:
		return NULL;
	}
}

const char *snapshot_set(const struct snapshot_member *member, void *object, struct span value,
			 bool *nomem)
{
	CLEANUP(strbuf_free) struct strbuf decoded = {0};

	inifile_decode(&decoded, value);
	strbuf_add(&decoded, "", 0);
	*nomem = decoded.failed;
	if (decoded.failed)
		return NULL;
	_Static_assert(INIFILE_MAX_VALUE == 131072, "the text below has the number");
	if (decoded.length > INIFILE_MAX_VALUE)
		return "at most 131072 bytes";
	return set(member, object, value, (struct span){decoded.text, decoded.length}, nomem);
}

const char *snapshot_order(int **ret, size_t count, struct span value, bool *nomem)
{
	int *order = xmalloc((count + 1) * sizeof(*order));
	struct span rest = value, item;
	size_t n = 0;

	*nomem = !order;
	if (!order)
		return NULL;
	while (span_split(&rest, ',', &item)) {
		int64_t first = -1, last = -1;

		item = span_trim(item);
		if (!span_is(item, "?") && !read_range(item, (int64_t)count - 1, &first, &last))
			goto bad;
		for (; first <= last; first++) {
			if (n == count)
				goto bad;
			order[n++] = (int)first;
		}
	}
	while (n < count)
		order[n++] = -1;
	free(*ret);
	*ret = order;
	return NULL;
bad:
	free(order);
	return "at most one number for each GPU, counted from 0, such as 2,0-1,?";
}

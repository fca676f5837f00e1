/* SPDX-License-Identifier: MIT */
/* What all writers of JSON share. */
#include "explain/json.h"

/* Adding to NULL fails too. */
static void keep(json_t **whole, int failed)
{
	if (failed) {
		json_decref(*whole);
		*whole = NULL;
	}
}

static json_t *escaped(const char *s)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_length(s, left);
		if (n)
			strbuf_add(&buf, s, n);
		else
			strbuf_printf(&buf, "\\x%02x", (unsigned char)*s);
		n = n ? n : 1;
	}
	return buf.failed ? NULL : json_string(buf.text ? buf.text : "");
}

void json_put(json_t **object, const char *key, json_t *value)
{
	keep(object, json_object_set_new(*object, key, value));
}

void json_push(json_t **array, json_t *value)
{
	keep(array, json_array_append_new(*array, value));
}

void json_join(json_t **array, json_t *more)
{
	keep(array, json_array_extend(*array, more));
	json_decref(more);
}

json_t *json_make(const char *schema, const struct json_member *members)
{
	json_t *object = json_object();

	if (schema) {
		json_put(&object, "$schema", json_string(FORMAT("urn:gpumap:schema:%s:1", schema)));
		json_put(&object, "schema", json_integer(1));
	}
	for (; members->key; members++)
		json_put(&object, members->key, members->value);
	return object;
}

json_t *json_text(const char *s)
{
	json_t *value = s ? json_string(s) : json_null();

	return value ? value : escaped(s);
}

json_t *json_number(int64_t n)
{
	return n < 0 ? json_null() : json_integer(n);
}

json_t *json_flag(int64_t flag)
{
	return flag < 0 ? json_null() : json_boolean(flag);
}

json_t *json_texts(char *const *texts)
{
	json_t *array = json_array();

	for (; texts && *texts; texts++)
		json_push(&array, json_text(*texts));
	return array;
}

static json_t *finding_json(const gpumap_finding *f)
{
	static const char *const severities[] = {"remark", "warning", "error"};

	return JSON_OBJECT(
		{"id", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ID))},
		{"severity", json_text(severities[gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY)])},
		{"rule", json_text(gpumap_finding_str(f, GPUMAP_FINDING_RULE))},
		{"text", json_text(gpumap_finding_str(f, GPUMAP_FINDING_TEXT))},
		{"fix", json_text(gpumap_finding_str(f, GPUMAP_FINDING_FIX))},
		{"origin", json_text(gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN))},
		{"line", json_number(gpumap_finding_int(f, GPUMAP_FINDING_LINE))},
		{"column", json_number(gpumap_finding_int(f, GPUMAP_FINDING_COLUMN))});
}

json_t *json_findings(const gpumap_report *report)
{
	return JSON_LIST(i, gpumap_report_count(report),
			 finding_json(gpumap_report_get(report, i)));
}

static int append(const char *piece, size_t length, void *data)
{
	struct strbuf *buf = data;

	strbuf_add(buf, piece, length);
	return buf->failed ? -1 : 0;
}

/* Not json_dumps: with its own buffer it can lose a piece when memory runs out. */
static void dump(struct strbuf *buf, json_t *root, size_t flags)
{
	if (json_dump_callback(root, append, buf, flags) != 0)
		buf->failed = true;
	strbuf_puts(buf, "\n");
	json_decref(root);
}

void json_dump(struct strbuf *buf, json_t *root)
{
	dump(buf, root, JSON_COMPACT);
}

void json_dump_ascii(struct strbuf *buf, json_t *root)
{
	dump(buf, root, JSON_COMPACT | JSON_ENSURE_ASCII);
}

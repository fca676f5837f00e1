/* SPDX-License-Identifier: MIT */
/* What all writers of JSON share. */
#ifndef GM_JSON_H
#define GM_JSON_H

#include <jansson.h>

#include "report/report.h"
#include "strbuf.h"

/* A member of an object; a list of them ends with a key that is NULL. */
struct json_member {
	const char *key;
	json_t *value;
};

/* Adds `value`, which is taken over; *failed is set when memory runs out. NULL in what ends then.
 */
void json_put(json_t *object, const char *key, json_t *value, bool *failed);
void json_push(json_t *array, json_t *value, bool *failed);

/* A new object of members, whose values are taken over. */
json_t *json_make(bool *failed, const struct json_member *members);
#define JSON_OBJECT(failed, ...) \
	json_make(failed, (const struct json_member[]){__VA_ARGS__, {NULL, NULL}})

/* A new array of `count` values: that of the expression `value` for each `i` from 0 on. */
#define JSON_LIST(failed, i, count, value) \
	__extension__({ \
		json_t *list_ = json_array(); \
		for (size_t i = 0; i < (count); i++) \
			json_push(list_, (value), (failed)); \
		list_; \
	})

/* The first members of a document, which name its schema: schemas/NAME.json describes it. */
#define JSON_URN(name) "urn:gpumap:schema:" name ":1"
#define JSON_HEAD(name) \
	{"$schema", json_string(JSON_URN(name))}, \
	{ \
		"schema", json_integer(1) \
	}

/* A negative number, or flag, is not known: null. */
json_t *json_number(int64_t n);
json_t *json_flag(int64_t flag);

/* A text, or null for NULL. Text that is not UTF-8 (an environment may hold anything) is written
 * escaped. */
json_t *json_text(const char *s);

/* The report's findings; *failed is set when memory runs out. */
json_t *json_findings(const gpumap_report *report, bool *failed);

/* The usage of a device, and its processes: an array, or null if the list is not known. */
json_t *usage_json(const gpumap_device *device, bool *failed);
json_t *processes_json(const gpumap_device *device, bool *failed);
json_t *process_json(const gpumap_process *process, bool *failed);

/* Appends the value and a newline, and frees it. */
void json_dump(struct strbuf *buf, json_t *value, bool failed);
/* The same of a value from a file, whose texts can have any characters. */
void json_dump_ascii(struct strbuf *buf, json_t *value);

#endif

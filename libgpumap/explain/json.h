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

/* Without memory, or for a number that JSON does not have, a value is NULL, and so is what it is
 * added to. */

/* Adds `value`, which is taken over. The key is UTF-8. */
void json_put(json_t **object, const char *key, json_t *value);
void json_push(json_t **array, json_t *value);
/* Adds the values of `more`, an array that is taken over. */
void json_join(json_t **array, json_t *more);

/* A new object of members, whose values are taken over. A document begins with $schema and schema:
 * schemas/NAME.json describes it. `schema` NULL: it is none. */
json_t *json_make(const char *schema, const struct json_member *members);
#define JSON_DOCUMENT(schema, ...) \
	json_make(schema, (const struct json_member[]){__VA_ARGS__, {NULL, NULL}})
#define JSON_OBJECT(...) JSON_DOCUMENT(NULL, __VA_ARGS__)

/* A new array of `count` values: that of the expression `value` for each `i`, a new variable, from
 * 0 on. */
#define JSON_LIST(i, count, value) \
	__extension__({ \
		json_t *list_ = json_array(); \
		size_t count_ = (count); \
		for (size_t i = 0; list_ && i < count_; i++) \
			json_push(&list_, (value)); \
		list_; \
	})

/* A negative number, or flag, is not known: null. */
json_t *json_number(int64_t n);
json_t *json_flag(int64_t flag);

/* A text, or null for NULL. Text that is not UTF-8 (an environment may hold anything) is written
 * escaped. */
json_t *json_text(const char *s);

/* An array of texts, which end with NULL; `texts` NULL: there are none. */
json_t *json_texts(char *const *texts);

json_t *json_findings(const gpumap_report *report);

/* The usage of a device, and its processes: an array, or null if the list is not known. */
json_t *usage_json(const gpumap_device *device);
json_t *processes_json(const gpumap_device *device);
json_t *process_json(const gpumap_process *process);

/* Appends the value and a newline, and frees it. NULL: buf->failed. */
void json_dump(struct strbuf *buf, json_t *value);
/* The same of a value from a file, whose texts can have any characters. */
void json_dump_ascii(struct strbuf *buf, json_t *value);

#endif

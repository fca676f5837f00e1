/* SPDX-License-Identifier: MIT */
/* See read_files.h. */
#include "lint/read_files.h"

#include <sys/stat.h>

#include "report/report.h"
#include "strbuf.h"

/* --- files ------------------------------------------------------------------------------ */

static bool is_same(const struct seen_file *a, const struct seen_file *b)
{
	if (a->known && b->known)
		return a->device == b->device && a->inode == b->inode;
	return !a->known && !b->known && streq(a->path, b->path);
}

static uint64_t hash_file(const struct seen_file *file)
{
	if (!file->known)
		return hash_text(HASH_START, file->path);
	return hash_bytes(hash_bytes(HASH_START, &file->device, sizeof(file->device)), &file->inode,
			  sizeof(file->inode));
}

static struct seen_file *add_file(struct lint_seen *seen, const struct seen_file *file)
{
	struct seen_file *copy = arena_alloc(&seen->arena, 1, sizeof(*copy));

	*copy = *file;
	copy->path = arena_strdup(&seen->arena, file->path);
	hash_index_add(&seen->index, hash_file(file), seen->count);
	return *ARENA_NEXT(&seen->arena, seen->files, seen->count, seen->room) = copy;
}

struct seen_file *seen_file(struct lint_seen *seen, const char *path)
{
	struct seen_file file = {.path = path};
	struct stat status;

	if (!streq(path, "-") && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
		file.known = true;
		file.device = status.st_dev;
		file.inode = status.st_ino;
	}
	for (size_t walk = 0, i; hash_index_next(&seen->index, hash_file(&file), &walk, &i);)
		if (is_same(seen->files[i], &file))
			return seen->files[i];
	return add_file(seen, &file);
}

void seen_comments(struct seen_file *file, struct span text, enum lint_kind kind)
{
	if (file->commented)
		return;
	file->commented = true;
	file->kind = kind;
	ignores_read(&file->ignores, text, kind);
}

void seen_free(struct lint_seen *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		ignores_free(&seen->files[i]->ignores);
	hash_index_free(&seen->index);
	hash_index_free(&seen->findings);
	arena_free(&seen->arena);
}

/* --- findings --------------------------------------------------------------------------- */

static bool same_str(const gpumap_finding *a, const gpumap_finding *b,
		     enum gpumap_finding_str_attr attr)
{
	return text_same(gpumap_finding_str(a, attr), gpumap_finding_str(b, attr));
}

static bool same(const gpumap_finding *a, const gpumap_finding *b, bool again)
{
	return gpumap_finding_int(a, GPUMAP_FINDING_LINE) ==
		       gpumap_finding_int(b, GPUMAP_FINDING_LINE) &&
	       gpumap_finding_int(a, GPUMAP_FINDING_COLUMN) ==
		       gpumap_finding_int(b, GPUMAP_FINDING_COLUMN) &&
	       same_str(a, b, GPUMAP_FINDING_ID) && same_str(a, b, GPUMAP_FINDING_ORIGIN) &&
	       (again || same_str(a, b, GPUMAP_FINDING_TEXT));
}

static uint64_t hash_finding(const gpumap_finding *f)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	int64_t place[] = {gpumap_finding_int(f, GPUMAP_FINDING_LINE),
			   gpumap_finding_int(f, GPUMAP_FINDING_COLUMN)};
	uint64_t hash = hash_text(HASH_START, gpumap_finding_str(f, GPUMAP_FINDING_ID));

	return hash_bytes(hash_text(hash, origin ? origin : ""), place, sizeof(place));
}

static bool is_found(const struct lint *lint, const gpumap_finding *f, bool again)
{
	for (size_t walk = 0, i;
	     hash_index_next(&lint->seen->findings, hash_finding(f), &walk, &i);)
		if (same(gpumap_report_get(lint->found, i), f, again))
			return true;
	return false;
}

/* Whether the finding is about the file, which `own` names, and one of its comments hides it. */
static bool is_hidden(struct seen_file *file, const char *own, const gpumap_finding *f)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);

	return file->ignores.count && origin && streq(own, origin) &&
	       ignores_hide(&file->ignores, f);
}

void seen_relay(const struct lint *lint, struct seen_file *file, const gpumap_report *from,
		bool again)
{
	struct lint_seen *seen = lint->seen;
	CLEANUP(strbuf_free) struct strbuf own = {0};

	escape_all(&own, file->path);
	for (size_t i = 0; i < gpumap_report_count(from); i++) {
		const gpumap_finding *f = gpumap_report_get(from, i);
		int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
		int64_t column = gpumap_finding_int(f, GPUMAP_FINDING_COLUMN);

		if (is_hidden(file, own.text ? own.text : "", f) || is_found(lint, f, again))
			continue;
		report_relay(lint->found, f,
			     ABOUT(.origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN),
				   .line = line > 0 ? (int)line : 0,
				   .column = column > 0 ? (int)column : 0));
	}
	/* Those of one report are not compared with each other. */
	for (; seen->hashed < gpumap_report_count(lint->found); seen->hashed++)
		hash_index_add(&seen->findings,
			       hash_finding(gpumap_report_get(lint->found, seen->hashed)),
			       seen->hashed);
}

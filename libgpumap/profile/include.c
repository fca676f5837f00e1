/* SPDX-License-Identifier: MIT */
/* Reads the files that profile files include. */
#include "profile/read_sections.h"

static int include_cycle(struct file *f, const struct file *first)
{
	CLEANUP(strbuf_free) struct strbuf path = {0};
	int r;

	strbuf_printf(&path, "%s:%d", f->path, f->at.line);
	for (const struct file *at = f; at != first; at = at->outer)
		strbuf_printf(&path, ", %s:%d", at->outer->path, at->outer->at.line);
	r = FAIL(f, FINDING_CYCLE, "take one of these includes out",
		 "files include each other in a circle: %s", path.text ? path.text : "");
	if (path.failed)
		r = report_nomem(f->load->report);
	return r;
}

static int include_one(struct file *f, struct span name)
{
	struct load *load = f->load;
	gpumap_profile *p = load->profile, before = *p;
	bool optional = span_skip(&name, "?");
	char *path, *text = NULL;
	size_t size = 0;
	const char *kept;
	int r;

	path = profile_include_path(f->path, name);
	kept = arena_strdup(&p->arena, path);
	free(path);
	if (!path || !kept)
		return report_nomem(load->report);
	for (const struct file *at = f; at; at = at->outer)
		if (streq(at->path, kept))
			return include_cycle(f, at);
	for (size_t i = 0; i < load->read_count; i++)
		if (streq(load->read[i], kept))
			return GPUMAP_OK;
	if (load->read_count == MAX_FILES)
		return FAIL(f, FINDING_LIMIT, NULL, "more than %d files", MAX_FILES);
	r = load->source(load->data, kept, optional, &text, &size, load->report);
	if (r == GPUMAP_EFILE)
		return FAIL(f, FINDING_FILE_ACCESS,
			    optional ? NULL : "a ? before the name lets it be absent",
			    "cannot include '%s'", QUOTE(name));
	if (r == GPUMAP_OK && text)
		r = profile_read_text(load, kept, (struct span){text, size}, f);
	free(text);
	if (before.wanted_at.origin == f->path) { /* this file's own default is stronger */
		p->wanted = before.wanted;
		p->wanted_at = before.wanted_at;
	}
	return r;
}

int profile_include(struct file *f, const struct inifile_entry *entry)
{
	struct span rest = entry->value, item;
	int r = GPUMAP_OK;

	while (r == GPUMAP_OK && entry->value.length && inifile_item(&rest, &item)) {
		CLEANUP(strbuf_free) struct strbuf name = {0};

		inifile_decode(&name, item);
		r = name.failed ? report_nomem(f->load->report)
				: include_one(f, (struct span){name.text, name.length});
	}
	return r;
}

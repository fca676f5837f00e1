/* SPDX-License-Identifier: MIT */
/* Reads profile files: the sections. */
#include "profile/read_sections.h"

#include <stdio.h>

#include "memory.h"
#include "suggest.h"

static int add_section(struct file *f, enum profile_section kind, struct span name)
{
	gpumap_profile *p = f->load->profile;
	gpumap_section *section;

	if (p->section_count == MAX_SECTIONS)
		return report_fail(f->load->report, GPUMAP_ELIMIT, FINDING_LIMIT,
				   ABOUT(.origin = f->path, .line = f->at.line),
				   "more than %d sections", MAX_SECTIONS);
	if (!ARRAY_ROOM(p->sections, p->section_count, p->section_room))
		return report_nomem(f->load->report);
	section = &p->sections[p->section_count];
	*section = (gpumap_section){
		.kind = kind,
		.name = arena_strndup(&p->arena, name.text, name.length),
		.file = f->path,
		.origin = arena_printf(&p->arena, "%s:%d", f->path, f->at.line),
		.line = f->at.line,
		.first = p->setting_count,
		.profile = p,
		.parent = NONE,
	};
	if (p->arena.failed)
		return report_nomem(f->load->report);
	f->section = p->section_count++;
	return GPUMAP_OK;
}

static int unknown_section(struct file *f, struct span name, struct span word)
{
	const char *names[SECTION_COUNT + 1] = {0};
	const char *near, *fix = "sections of your own begin with x_";
	struct quoted room;
	struct span wrong;

	for (int i = 0; i < SECTION_COUNT; i++)
		names[i] = section_name((enum profile_section)i);
	near = suggest(word, names);
	if (near)
		fix = format_text(&room, "did you mean [%s%s]?", near,
				  section_has_name(section_find(span_of(near))) ? " NAME" : "");
	else if (name.length == word.length && name.length < 64 &&
		 form_check(form_find(span_of("NAME")), name, &wrong))
		fix = format_text(&room,
				  "did you mean [profile %.*s]? sections of your own begin with x_",
				  (int)name.length, name.text);
	return FAIL(f, FINDING_SYNTAX, fix, "unknown section [%s]", QUOTE(name));
}

/* [gpumap] and [leases], once in a file. What binds all users must not depend on a file of theirs.
 */
static int begin_unnamed(struct file *f, enum profile_section kind, struct span rest)
{
	bool *before = kind == SECTION_LEASES ? &f->has_leases : &f->has_head;
	const char *word = section_name(kind);

	if (rest.length)
		return FAIL(f, FINDING_SYNTAX, FORMAT("write [%s]", word), "[%s] has no name: '%s'",
			    word, QUOTE(rest));
	if (kind == SECTION_LEASES && !streq(f->path, SYSTEM_FILE))
		return FAIL(f, FINDING_SYNTAX, "write it there, as root",
			    "[leases] counts only in " SYSTEM_FILE);
	if (*before)
		return FAIL(f, FINDING_SYNTAX, "keep one of the two", "a second [%s]", word);
	*before = true;
	f->kind = kind;
	return GPUMAP_OK;
}

static int begin_named(struct file *f, enum profile_section kind, struct span name)
{
	const gpumap_profile *p = f->load->profile;
	const char *word = section_name(kind);
	struct span wrong;
	size_t same;

	if (!name.length)
		return FAIL(f, FINDING_SYNTAX, FORMAT("write [%s NAME]", word),
			    "[%s] without a name", word);
	if (!form_check(form_find(span_of("NAME")), name, &wrong))
		return FAIL(f, FINDING_SYNTAX, "a name has no blanks, commas and *",
			    "no name: '%s'", QUOTE(name));
	same = profile_find(p, kind, name);
	if (same != NONE)
		return FAIL(f, FINDING_SYNTAX, "keep one of the two, or give it another name",
			    "[%s %s] stands at %s already", word, QUOTE(name),
			    p->sections[same].origin);
	return add_section(f, kind, name);
}

static int begin_section(void *data, struct span name, int line)
{
	struct file *f = data;
	struct span word = name, rest;
	enum profile_section kind;
	int r = GPUMAP_OK;

	memset(f->lines, 0, sizeof(f->lines));
	f->at = (struct about){.origin = f->path, .line = line, .column = 1};
	f->section = NONE;
	f->kind = SECTION_COUNT;
	if (f->newer || span_starts(name, "x_"))
		return GPUMAP_OK;
	word.length = 0;
	while (word.length < name.length && !is_space(name.text[word.length]))
		word.length++;
	rest = span_trim(span_behind(name, word.length));
	kind = section_find(word);
	if (kind == SECTION_COUNT)
		r = unknown_section(f, name, word);
	else
		r = section_has_name(kind) ? begin_named(f, kind, rest)
					   : begin_unnamed(f, kind, rest);
	if (r != GPUMAP_OK)
		f->load->incomplete = true;
	return r;
}

static int read_any(void *data, const struct inifile_entry *entry)
{
	struct file *f = data;

	f->at.line = entry->line;
	f->at.column = entry->column;
	f->key_column = entry->key_column;
	if (f->newer)
		return GPUMAP_OK;
	if (f->kind == SECTION_GPUMAP)
		return profile_read_head(f, entry);
	if (f->kind == SECTION_LEASES)
		return lease_settings_entry(&f->leases, entry, f->path, f->load->report);
	return f->section == NONE ? GPUMAP_OK : profile_read_entry(f, entry);
}

int profile_read_text(struct load *load, const char *path, struct span text, struct file *outer)
{
	static const struct inifile_handler handler = {begin_section, read_any};
	struct file f = {
		.load = load, .outer = outer, .path = path, .section = NONE, .kind = SECTION_COUNT};
	int r;

	load->read[load->read_count++] = path;
	r = inifile_read(text, path, &handler, &f, load->report);
	lease_settings_free(&f.leases);
	if (r != GPUMAP_OK)
		load->incomplete = load->incomplete || r != GPUMAP_EINPUT || f.newer;
	return r;
}

static gpumap_profile *profile_empty(void)
{
	gpumap_profile *p = xcalloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->chosen = p->sweep = NONE;
	p->setting_room = IN_FILES * 2;
	p->setting_count = IN_FILES;
	p->settings = xcalloc(p->setting_room, sizeof(*p->settings));
	if (!p->settings) {
		free(p);
		return NULL;
	}
	return p;
}

EXPORT void gpumap_profile_free(gpumap_profile *profile)
{
	if (!profile)
		return;
	arena_free(&profile->arena);
	arena_free(&profile->settled.arena);
	free(profile->settings);
	free(profile->sections);
	free(profile);
}

EXPORT int gpumap_profile_new(gpumap_profile **ret)
{
	gpumap_profile *profile = profile_empty();
	int r = profile ? profile_settle(profile, NULL) : GPUMAP_ENOMEM;

	return give_profile(ret, profile, r);
}

int profile_load(gpumap_profile **ret, const char *path, struct span text, const char *name,
		 profile_source *source, void *data, gpumap_report *report)
{
	struct load load = {
		.profile = profile_empty(), .source = source, .data = data, .report = report};
	int r, linked;

	if (!load.profile)
		return report_nomem(report);
	load.profile->file = arena_strdup(&load.profile->arena, path);
	r = load.profile->file ? profile_read_text(&load, load.profile->file, text, NULL)
			       : report_nomem(report);
	if (r == GPUMAP_OK || r == GPUMAP_EINPUT) {
		linked = profile_link(load.profile, name, !load.incomplete, r == GPUMAP_OK, report);
		if (r == GPUMAP_OK || linked == GPUMAP_ENOMEM)
			r = linked;
	}
	if (r == GPUMAP_OK)
		r = profile_settle(load.profile, report);
	return give_profile(ret, load.profile, r);
}

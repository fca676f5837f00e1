/* SPDX-License-Identifier: MIT */
/*
 * The topology that NCCL reads and dumps (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE):
 *
 *	<system version="1">
 *	  <cpu numaid="0">
 *	    <pci busid="0000:07:00.0" class="0x030200">
 *	      <gpu dev="0"> <nvlink target="0000:0f:00.0" tclass="0x030200"/> </gpu>
 *
 * Other text may surround it; the end of the root element ends it.
 */
#include "inventory/recorded.h"

#include <expat.h>
#include <limits.h>

#include "memory.h"
#include "strbuf.h"
#include "text/pci.h"

enum { MAX_DEPTH = 64 };

enum root { ROOT_NONE, ROOT_SYSTEM, ROOT_FRAGMENT, ROOT_GRAPHS, ROOT_OTHER };

/* One document. */
struct xml_reader {
	struct recorded *r;
	XML_Parser parser;
	enum root root;
	int depth;
	bool closed;
	const char *bad; /* why the document is refused */
	char numa[24];
	char busid[MAX_DEPTH + 1][24]; /* of the pci element at each depth, or its parent's */
	size_t gpus;
};

/* --- elements -------------------------------------------------------------------------------- */

static const char *attribute(const XML_Char **attrs, const char *name)
{
	for (; *attrs; attrs += 2)
		if (streq(attrs[0], name))
			return attrs[1];
	return NULL;
}

static void stop(struct xml_reader *x)
{
	XML_StopParser(x->parser, XML_FALSE);
}

static void see_gpu(struct xml_reader *x, const char *busid, int64_t index)
{
	struct seen seen = seen_gpu(index);

	seen.pci = span_of(busid);
	if (x->numa[0])
		seen.numa = span_of(x->numa);
	if (recorded_gpu(x->r, &seen) < 0)
		stop(x);
	x->gpus++;
}

/* Display controllers are GPUs: NVIDIA's when a vendor is given, else by the class that
 * only accelerators have. */
static bool is_gpu(const XML_Char **attrs)
{
	const char *class = attribute(attrs, "class"), *vendor = attribute(attrs, "vendor");

	if (!class || !starts_with(class, "0x03"))
		return false;
	return vendor ? streq(vendor, "0x10de") : starts_with(class, "0x0302");
}

static void start_pci(struct xml_reader *x, const XML_Char **attrs)
{
	const char *busid = attribute(attrs, "busid");
	char address[20];

	x->busid[x->depth][0] = '\0';
	if (!busid || !pci_normalise(span_of(busid), address))
		return;
	memcpy(x->busid[x->depth], address, sizeof(address));
	if (is_gpu(attrs))
		see_gpu(x, address, -1);
}

static void start_gpu(struct xml_reader *x, const XML_Char **attrs)
{
	const char *dev = attribute(attrs, "dev");

	if (x->busid[x->depth][0])
		see_gpu(x, x->busid[x->depth], dev ? span_number(span_of(dev), INT32_MAX) : -1);
}

static void start_nvlink(struct xml_reader *x, const XML_Char **attrs)
{
	struct xml_state *s = &x->r->xml;
	const char *target = attribute(attrs, "target"), *class = attribute(attrs, "tclass");
	struct xml_link *link;

	if (!target || !x->busid[x->depth][0])
		return;
	if (!ARRAY_ROOM(s->links, s->count, s->room)) {
		recorded_nomem(x->r);
		stop(x);
		return;
	}
	link = &s->links[s->count++];
	memcpy(link->from, x->busid[x->depth], sizeof(link->from));
	link->is_switch =
		(class && !starts_with(class, "0x03")) || !pci_normalise(span_of(target), link->to);
}

static void start_root(struct xml_reader *x, const char *name)
{
	if (streq(name, "system")) {
		x->root = ROOT_SYSTEM;
	} else if (streq(name, "cpu") || streq(name, "pci")) {
		x->root = ROOT_FRAGMENT;
	} else if (streq(name, "graphs")) {
		x->root = ROOT_GRAPHS;
	} else {
		x->root = ROOT_OTHER;
		x->bad = "not an NCCL topology";
		stop(x);
	}
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attrs)
{
	struct xml_reader *x = data;

	if (x->depth == 0)
		start_root(x, name);
	if (x->root == ROOT_OTHER)
		return;
	if (++x->depth > MAX_DEPTH) {
		x->bad = "elements are nested too deeply";
		stop(x);
		return;
	}
	memcpy(x->busid[x->depth], x->busid[x->depth - 1], sizeof(x->busid[0]));
	if (x->root == ROOT_GRAPHS)
		return;
	if (streq(name, "cpu")) {
		const char *numa = attribute(attrs, "numaid");
		struct span s = span_of(numa ? numa : "");

		x->numa[0] = '\0';
		if (is_id_list(s) && s.length < sizeof(x->numa))
			memcpy(x->numa, s.text, s.length + 1);
	} else if (streq(name, "pci")) {
		start_pci(x, attrs);
	} else if (streq(name, "gpu")) {
		start_gpu(x, attrs);
	} else if (streq(name, "nvlink")) {
		start_nvlink(x, attrs);
	}
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
	struct xml_reader *x = data;

	if (streq(name, "cpu"))
		x->numa[0] = '\0';
	if (--x->depth == 0) {
		x->closed = true;
		stop(x);
	}
}

/* A topology has no DTD: no entities to expand, no files to fetch. */
static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system,
			       const XML_Char *public, int internal)
{
	struct xml_reader *x = data;

	(void)system, (void)public, (void)internal;
	x->root = ROOT_OTHER;
	x->bad = streq(name, "nvidia_smi_log")
			 ? "the output of nvidia-smi -q -x"
			 : "not an NCCL topology: it declares a document type";
	stop(x);
}

static void XMLCALL on_entity(void *data, const XML_Char *name, int parameter,
			      const XML_Char *value, int length, const XML_Char *base,
			      const XML_Char *system, const XML_Char *public,
			      const XML_Char *notation)
{
	struct xml_reader *x = data;

	(void)name, (void)parameter, (void)value, (void)length, (void)base;
	(void)system, (void)public, (void)notation;
	x->bad = "not an NCCL topology: it declares an entity";
	stop(x);
}

/* Sets the handlers of x->parser. */
static void nccl_xml_handlers(struct xml_reader *x)
{
	XML_SetUserData(x->parser, x);
	XML_SetElementHandler(x->parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(x->parser, on_doctype);
	XML_SetEntityDeclHandler(x->parser, on_entity);
}

/* The neighbours of links[0], whose GPU has `count` consecutive links. If a link leads to a switch
 * or to a GPU without an element, the other end is not known. A link to itself is ignored. */
static void connect_gpu(struct recorded *r, const struct xml_link *links, size_t count)
{
	CLEANUP_FREE int *neighbours = xmalloc(count * sizeof(*neighbours));
	int from = recorded_by_pci(r, links[0].from);
	bool known = from >= 0;
	size_t kept = 0;

	for (size_t i = 0; neighbours && known && i < count; i++) {
		int to = links[i].is_switch ? -1 : recorded_by_pci(r, links[i].to);

		if (to == from)
			continue;
		known = to >= 0 && r->inventory->gpus[to].index >= 0;
		if (known)
			neighbours[kept++] = r->inventory->gpus[to].index;
	}
	if (!neighbours ||
	    (known && !device_set_nvlink(&r->inventory->gpus[from], neighbours, kept)))
		recorded_nomem(r);
}

/* After the last line: NVLink neighbours from the addresses that were named. */
static void nccl_xml_connect(struct recorded *r)
{
	const struct xml_state *s = &r->xml;
	size_t first = 0;

	for (size_t i = 1; i <= s->count; i++) {
		if (i < s->count && streq(s->links[i].from, s->links[first].from))
			continue;
		connect_gpu(r, s->links + first, i - first);
		first = i;
	}
}

/* --- documents ------------------------------------------------------------------------------- */

/* Expat reads an unfinished token again with every chunk; the first two bounds keep that linear.
 * The last bound keeps text cheap that only begins like XML, again and again. */
enum { MAX_TOKEN = 1 << 18, MAX_CHUNK = 1 << 18, MAX_EMPTY = 1000 };

struct feed {
	struct xml_reader x;
	struct span prefix;   /* quoting before the first line, removed from all lines */
	struct strbuf chunk;  /* lines that the parser gets together */
	int64_t done;         /* bytes that the parser got before them */
	struct cursor second; /* the document's second line */
	int64_t first;        /* bytes of its first line */
	bool ended;           /* the text ended */
};

static void add_line(struct feed *f, const struct line *line)
{
	struct span s = line->text;

	if (f->prefix.length && s.length >= f->prefix.length &&
	    memcmp(s.text, f->prefix.text, f->prefix.length) == 0)
		s = span_behind(s, f->prefix.length);
	strbuf_add(&f->chunk, s.text, s.length);
	strbuf_add(&f->chunk, "\n", 1);
}

static void fill(struct feed *f, size_t least)
{
	struct lines *lines = &f->x.r->lines;
	struct line line;

	f->chunk.length = 0;
	while (f->chunk.length < least) {
		if (!lines_next(lines, &line)) {
			f->ended = true;
			return;
		}
		add_line(f, &line);
	}
}

/* Continues reading lines with the line that has byte `at` of the document, or after it. That may
 * be some chunks back: expat delays the text after an unfinished token. */
static void rewind_to(struct feed *f, int64_t at, bool after)
{
	struct lines *lines = &f->x.r->lines;
	int64_t passed = f->first;
	struct cursor before;
	struct line line;

	lines->at = f->second;
	while (passed <= at) {
		before = lines->at;
		f->chunk.length = 0;
		if (!lines_next(lines, &line))
			return;
		add_line(f, &line);
		passed += (int64_t)f->chunk.length;
		if (passed > at && !after)
			lines->at = before;
	}
}

/* Where the parser is. Expat 2.9 deprecates the name whose index may have 32 bits. */
static int64_t byte_index(const struct feed *f)
{
#if XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION < 9
	return XML_GetCurrentByteIndex(f->x.parser);
#else
	return XML_GetCurrentByteIndex64(f->x.parser);
#endif
}

/* Feeds the parser line by line. True when it accepted all or was stopped. */
static bool feed(struct feed *f)
{
	size_t least = 256;

	for (;;) {
		enum XML_Status status;
		int64_t at;

		if (f->chunk.failed || f->chunk.length > INT_MAX)
			return false;
		status = XML_Parse(f->x.parser, f->chunk.text ? f->chunk.text : "",
				   (int)f->chunk.length, f->ended);
		at = byte_index(f);
		if (f->x.closed || status != XML_STATUS_OK || f->ended)
			return status == XML_STATUS_OK;
		f->done += (int64_t)f->chunk.length;
		if (f->done - at > MAX_TOKEN) {
			f->x.bad = "a piece of XML is longer than 256 KiB";
			return false;
		}
		fill(f, least);
		least = least < MAX_CHUNK ? least * 2 : MAX_CHUNK;
	}
}

/* Finds where to continue when the parser rejected the text. */
static void recover(struct feed *f)
{
	enum XML_Error error = XML_GetErrorCode(f->x.parser);

	if (error == XML_ERROR_UNCLOSED_TOKEN || error == XML_ERROR_NO_ELEMENTS || f->x.bad)
		return;
	rewind_to(f, byte_index(f), false);
}

static void judge(struct feed *f, bool complete)
{
	struct xml_reader *x = &f->x;
	const char *why = x->bad ? x->bad : XML_ErrorString(XML_GetErrorCode(x->parser));

	if (x->root == ROOT_GRAPHS)
		recorded_foreign(x->r, "give the topology, NCCL_TOPO_DUMP_FILE writes it",
				 "this is an NCCL graph dump, not a topology");
	else if (x->root == ROOT_OTHER)
		recorded_foreign(x->r, NULL, "this XML is %s", x->bad);
	else if (x->root != ROOT_NONE && !complete)
		recorded_partial(x->r, "record it again, to the end",
				 "the NCCL topology ends early: %s", why);
	else if (x->root == ROOT_FRAGMENT)
		recorded_partial(x->r, "give the whole file",
				 "a fragment of an NCCL topology: there is no <system>");
	else if (x->root == ROOT_SYSTEM && !x->gpus)
		recorded_foreign(x->r, "dump the topology with NCCL_TOPO_DUMP_FILE",
				 "this NCCL topology names no GPU: it has neither <gpu> nor a PCI "
				 "class of one");
}

static int read_document(struct recorded *r, const struct line *line)
{
	struct feed f = {.x = {.r = r}};
	bool accepted;

	f.prefix = (struct span){line->text.text, (size_t)(line->body.text - line->text.text)};
	if (span_trim(f.prefix).length)
		f.prefix.text = arena_strndup(&r->arena, f.prefix.text, f.prefix.length);
	else
		f.prefix.length = 0;
	f.x.parser = XML_ParserCreate(NULL);
	if (!f.x.parser || r->arena.failed) {
		XML_ParserFree(f.x.parser);
		recorded_nomem(r);
		return 0;
	}
	nccl_xml_handlers(&f.x);
	f.second = r->lines.at;
	add_line(&f, line);
	f.first = (int64_t)f.chunk.length;
	accepted = feed(&f);
	if (f.chunk.failed || r->lines.failed ||
	    XML_GetErrorCode(f.x.parser) == XML_ERROR_NO_MEMORY)
		recorded_nomem(r);
	if (f.x.closed)
		rewind_to(&f, byte_index(&f), true);
	else if (!accepted)
		recover(&f);
	judge(&f, f.x.closed);
	r->xml.empty += !f.x.gpus;
	strbuf_free(&f.chunk);
	XML_ParserFree(f.x.parser);
	return f.x.gpus ? 1 : 2;
}

static int read_line(struct recorded *r, const struct line *line)
{
	static const char *const starts[] = {"<?xml",   "<!--",  "<!DOCTYPE", "<system",
					     "<graphs", "<cpu ", "<pci "};

	if (!line->body.length || *line->body.text != '<' || r->xml.empty > MAX_EMPTY)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (span_starts(line->body, starts[i]))
			return read_document(r, line);
	return 0;
}

const struct format nccl_xml_format = {
	.name = "NCCL topology", .line = read_line, .end = nccl_xml_connect};

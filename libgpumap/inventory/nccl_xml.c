/* SPDX-License-Identifier: MIT */
/*
 * The topology that NCCL reads and dumps (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE):
 *
 *	<system version="1">
 *	  <cpu numaid="0">
 *	    <pci busid="0000:07:00.0" class="0x030200">
 *	      <gpu dev="0"> <nvlink target="0000:0f:00.0" tclass="0x030200"/> </gpu>
 *
 * It may stand among other text: the root element's end ends it.
 */
#include "inventory/nccl_xml.h"

#include <limits.h>

#include "strbuf.h"

/* Expat reads an unfinished token again with every chunk: both bounds keep that linear.
 * The last one keeps text that only starts like XML, again and again, cheap. */
enum { MAX_TOKEN = 1 << 18, MAX_CHUNK = 1 << 18, MAX_EMPTY = 1000 };

struct feed {
	struct xml_reader x;
	struct span prefix;   /* quoting before the first line, taken off all */
	struct strbuf chunk;  /* lines given to the parser together */
	XML_Index done;       /* bytes given before them */
	struct cursor second; /* the document's second line */
	XML_Index first;      /* bytes of its first one */
	bool ended;           /* the text ended */
};

static void add_line(struct feed *f, const struct line *line)
{
	struct span s = line->text;

	if (f->prefix.length && s.length >= f->prefix.length &&
	    memcmp(s.text, f->prefix.text, f->prefix.length) == 0)
		s = span_from(s, s.text + f->prefix.length);
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

/* Continues reading lines after the one that holds byte `at` of the document, or with it.
 * That may be some chunks back: expat puts off what follows an unfinished token. */
static void rewind_to(struct feed *f, XML_Index at, bool after)
{
	struct lines *lines = &f->x.r->lines;
	XML_Index passed = f->first;
	struct cursor before;
	struct line line;

	lines->at = f->second;
	while (passed <= at) {
		before = lines->at;
		f->chunk.length = 0;
		if (!lines_next(lines, &line))
			return;
		add_line(f, &line);
		passed += (XML_Index)f->chunk.length;
		if (passed > at && !after)
			lines->at = before;
	}
}

/* Gives the parser line after line; true when it accepted all or was stopped. */
static bool feed(struct feed *f)
{
	size_t least = 256;

	for (;;) {
		enum XML_Status status;
		XML_Index at;

		if (f->chunk.failed || f->chunk.length > INT_MAX)
			return false;
		status = XML_Parse(f->x.parser, f->chunk.text ? f->chunk.text : "",
				   (int)f->chunk.length, f->ended);
		at = XML_GetCurrentByteIndex(f->x.parser);
		if (f->x.closed || status != XML_STATUS_OK || f->ended)
			return status == XML_STATUS_OK;
		f->done += (XML_Index)f->chunk.length;
		if (f->done - at > MAX_TOKEN) {
			f->x.bad = "a piece of XML is longer than 256 KiB";
			return false;
		}
		fill(f, least);
		least = least < MAX_CHUNK ? least * 2 : MAX_CHUNK;
	}
}

/* Where reading goes on when the parser did not like the text. */
static void recover(struct feed *f)
{
	enum XML_Error error = XML_GetErrorCode(f->x.parser);

	if (error == XML_ERROR_UNCLOSED_TOKEN || error == XML_ERROR_NO_ELEMENTS || f->x.bad)
		return;
	rewind_to(f, XML_GetCurrentByteIndex(f->x.parser), false);
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
	int code;

	f.prefix = (struct span){line->text.text, (size_t)(line->body.text - line->text.text)};
	if (span_trim(f.prefix).length)
		f.prefix.text = arena_strndup(&r->arena, f.prefix.text, f.prefix.length);
	else
		f.prefix.length = 0;
	f.x.parser = XML_ParserCreate(NULL);
	if (!f.x.parser || r->arena.failed) {
		XML_ParserFree(f.x.parser);
		return recorded_nomem(r);
	}
	nccl_xml_handlers(&f.x);
	f.second = r->lines.at;
	add_line(&f, line);
	f.first = (XML_Index)f.chunk.length;
	accepted = feed(&f);
	code = f.x.code;
	if (f.chunk.failed || r->lines.failed ||
	    XML_GetErrorCode(f.x.parser) == XML_ERROR_NO_MEMORY)
		code = recorded_nomem(r);
	if (f.x.closed)
		rewind_to(&f, XML_GetCurrentByteIndex(f.x.parser), true);
	else if (!accepted)
		recover(&f);
	judge(&f, f.x.closed);
	r->xml.empty += !f.x.gpus;
	strbuf_free(&f.chunk);
	XML_ParserFree(f.x.parser);
	return code != GPUMAP_OK ? code : f.x.gpus ? 1 : 2;
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

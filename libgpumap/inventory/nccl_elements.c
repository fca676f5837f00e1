/* SPDX-License-Identifier: MIT */
/* What the elements of an NCCL topology say of GPUs. */
#include "inventory/nccl_xml.h"

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
	int at;

	seen.pci = span_of(busid);
	if (x->numa[0])
		seen.numa = span_of(x->numa);
	at = recorded_gpu(x->r, &seen);
	if (at < 0) {
		x->code = at;
		stop(x);
	}
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
	struct xml_link *grown, *link;

	if (!target || !x->busid[x->depth][0])
		return;
	grown = array_room(s->links, s->count, &s->room, sizeof(*grown));
	if (!grown) {
		x->code = recorded_nomem(x->r);
		stop(x);
		return;
	}
	s->links = grown;
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

/* A topology declares nothing: no entities to expand, no files to fetch. */
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

void nccl_xml_handlers(struct xml_reader *x)
{
	XML_SetUserData(x->parser, x);
	XML_SetElementHandler(x->parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(x->parser, on_doctype);
	XML_SetEntityDeclHandler(x->parser, on_entity);
}

/* The neighbours of links[0], whose GPU has `count` links in a row; a switch or a GPU
 * without an element hides who is at the other end. A link to itself says nothing. */
static int connect_gpu(struct recorded *r, const struct xml_link *links, size_t count)
{
	int *neighbours = malloc(count * sizeof(*neighbours));
	int from = recorded_by_pci(r, links[0].from);
	bool known = from >= 0, set = true;
	size_t kept = 0;

	if (!neighbours)
		return recorded_nomem(r);
	for (size_t i = 0; known && i < count; i++) {
		int to = links[i].is_switch ? -1 : recorded_by_pci(r, links[i].to);

		if (to == from)
			continue;
		known = to >= 0 && r->inventory->gpus[to].index >= 0;
		if (known)
			neighbours[kept++] = r->inventory->gpus[to].index;
	}
	if (known)
		set = device_set_nvlink(&r->inventory->gpus[from], neighbours, kept);
	free(neighbours);
	return set ? GPUMAP_OK : recorded_nomem(r);
}

int nccl_xml_connect(struct recorded *r)
{
	const struct xml_state *s = &r->xml;
	size_t first = 0;
	int code = GPUMAP_OK;

	for (size_t i = 1; code == GPUMAP_OK && i <= s->count; i++) {
		if (i < s->count && streq(s->links[i].from, s->links[first].from))
			continue;
		code = connect_gpu(r, s->links + first, i - first);
		first = i;
	}
	return code;
}

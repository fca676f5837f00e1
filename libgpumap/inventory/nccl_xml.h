/* SPDX-License-Identifier: MIT */
/* Between the two files that read NCCL topologies. */
#ifndef GM_NCCL_XML_H
#define GM_NCCL_XML_H

#include <expat.h>

#include "inventory/recorded.h"

enum { MAX_DEPTH = 64 };

enum root { ROOT_NONE, ROOT_SYSTEM, ROOT_FRAGMENT, ROOT_GRAPHS, ROOT_OTHER };

/* One document. */
struct xml_reader {
	struct recorded *r;
	XML_Parser parser;
	enum root root;
	int depth, code;
	bool closed;
	const char *bad; /* why the document is refused */
	char numa[24];
	char busid[MAX_DEPTH + 1][24]; /* of the pci element at each depth, or its parent's */
	size_t gpus;
};

/* Sets the handlers of x->parser. */
void nccl_xml_handlers(struct xml_reader *x);

/* After the last line: NVLink neighbours from the addresses that were named. */
int nccl_xml_connect(struct recorded *r) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* See pci.h. */
#include "text/pci.h"

#include <stdio.h>

/* Reads up to `max` hexadecimal digits. Returns how many there were. */
static size_t hex(struct span *s, size_t max, unsigned long *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < max && n < s->length && is_hex(s->text[n])) {
		char c = s->text[n++];

		*ret = *ret * 16 + (unsigned long)(is_digit(c) ? c - '0' : (c | 32) - 'a' + 10);
	}
	s->text += n;
	s->length -= n;
	return n;
}

static bool skip(struct span *s, char c)
{
	if (!s->length || *s->text != c)
		return false;
	s->text++;
	s->length--;
	return true;
}

bool pci_normalise(struct span s, char ret[20])
{
	unsigned long domain, bus, device, function;

	s = span_trim(s);
	if (!hex(&s, 8, &domain) || !skip(&s, ':'))
		return false;
	if (!hex(&s, 2, &bus))
		return false;
	if (skip(&s, ':')) {
		if (hex(&s, 2, &device) != 2)
			return false;
	} else {
		device = bus;
		bus = domain;
		domain = 0;
	}
	if (!skip(&s, '.') || !hex(&s, 1, &function) || s.length || bus > 0xff || device > 0x1f ||
	    function > 7)
		return false;
	snprintf(ret, 20, "%04lx:%02lx:%02lx.%lx", domain, bus, device, function);
	return true;
}

bool pci_of_numbers(unsigned int domain, unsigned int bus, unsigned int device, char ret[20])
{
	return pci_normalise(span_of(FORMAT("%x:%02x:%02x.0", domain, bus, device)), ret);
}

int pci_compare(const char *a, const char *b)
{
	size_t i = strlen(a), j = strlen(b);

	/* A domain of five digits follows all domains of four. */
	return i != j ? (i > j) - (i < j) : strcmp(a, b);
}

int pci_bus(const char *address, int64_t *domain)
{
	struct span rest = span_of(address);
	unsigned long number, bus;

	hex(&rest, 8, &number);
	skip(&rest, ':');
	hex(&rest, 2, &bus);
	*domain = (int64_t)number;
	return (int)bus;
}

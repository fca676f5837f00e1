/* SPDX-License-Identifier: MIT */
/*
 * The visible list: rules V1-V8, V10 and H1, in five dialects. It does not use inventories, so that
 * tests/gpu can compare it with only a real driver.
 */
#ifndef GM_VISIBLE_H
#define GM_VISIBLE_H

#include "text.h"

/* In the order of the words in keys.def. */
enum dialect {
	DIALECT_DRIVER, /* the CUDA driver */
	DIALECT_TORCH,  /* PyTorch's own count through NVML */
	DIALECT_NVITOP, /* nvitop's parser, used if it cannot ask libcuda */
	DIALECT_ROCR,   /* ROCR_VISIBLE_DEVICES */
	DIALECT_HIP     /* HIP_VISIBLE_DEVICES */
};

struct visible_mig {
	const char *uuid; /* NULL: not known */
	int gpu;          /* position of its GPU's UUID */
	int gi, ci;       /* -1: not known */
};

/* The parent view, in which the entries of a list are looked up. */
struct visible_view {
	int64_t count;      /* the ordinals 0 .. count-1 exist */
	const char **uuids; /* of the GPUs; NULL: not known */
	size_t uuid_count;
	const struct visible_mig *migs; /* grouped by gpu, ascending */
	size_t mig_count;
};

/* One entry that names a device: exactly one of the three is not -1. */
struct visible_entry {
	int ordinal; /* CUDA's number in the parent view */
	int gpu;     /* position in uuids */
	int mig;     /* position in migs */
	struct span text;
};

/* Why a list ended before its last entry. The order is that of visible.c's table. */
enum visible_end {
	END_NOT,
	END_EMPTY,      /* nothing between two commas */
	END_NO_NUMBER,  /* neither digits nor a known prefix */
	END_NEGATIVE,   /* V4 */
	END_NO_DEVICE,  /* no such index */
	END_NO_UUID,    /* matches no device */
	END_AMBIGUOUS,  /* matches several */
	END_OTHER_KIND, /* V7 */
	END_DUPLICATE,  /* V5; visible/repeats.h has what follows */
	END_GARBAGE,    /* rocr, hip: text after the digits */
	END_RAISES      /* torch: PyTorch raises an exception, so there is no list at all */
};

/* Entries that deserve a remark: number + 1 of the first such entry; 0: none. */
struct visible_notes {
	size_t garbage;   /* digits followed by other text (V3) */
	size_t range;     /* of the form 0-2 */
	size_t blank;     /* a blank before GPU- or MIG- (V6) */
	size_t bare_uuid; /* a UUID without GPU- (V8) */
	size_t word;      /* all, none, void, NoDevFiles, brackets, quotes, cuda: (V10) */
	size_t kinds;     /* a second kind (V7) */
	size_t unsure;    /* the driver's treatment is not known (V3, V5, V6) */
	size_t uuid, mig; /* entries of this kind */
};

struct visible_list {
	struct visible_entry *entries; /* in logical order */
	size_t count;
	enum visible_end end;
	size_t end_entry; /* 0-based number of the entry that ended the list */
	struct span end_text;
	size_t end_earlier; /* END_DUPLICATE: number of the entry that it repeats */
	struct visible_notes notes;
};

/* Parses `value` (set, perhaps empty). Entries point into `value`.
 * GPUMAP_OK, GPUMAP_ENOMEM, or GPUMAP_ELIMIT past GPUMAP_MAX_DEVICES entries;
 * free the list with visible_list_free. O(n log n). */
int visible_parse(struct visible_list *ret, enum dialect dialect, struct span value,
		  const struct visible_view *view);
void visible_list_free(struct visible_list *list);

/* The reason as printed in text and JSON ("no such device"), and the rule. */
const char *visible_end_reason(enum visible_end end);
const char *visible_end_rule(enum visible_end end);

/* An entry read as by strtoul: blanks, one sign, digits, anything. */
struct visible_number {
	bool digits;              /* at least one digit */
	bool negative;            /* negative and not zero */
	int64_t value;            /* INT64_MAX when larger */
	struct span rest, number; /* what follows the digits; the digits without leading zeros */
};
struct visible_number visible_number(struct span token);

/* The index that a token means in this dialect; -1: none; INT64_MAX: it is larger. For torch the
 * token is text that python_plain wrote. */
int64_t visible_index(enum dialect dialect, struct span token);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads text that somebody recorded: pasted, quoted, cut, coloured. Each line goes to the readers
 * below until one takes it. The reader passes what it found of a GPU to recorded_gpu(), which
 * merges all parts into one inventory.
 */
#ifndef GM_RECORDED_H
#define GM_RECORDED_H

#include "arena.h"
#include "hash.h"
#include "inventory/inventory.h"
#include "inventory/lines.h"

enum { MIB = 1 << 20 };

/* What one line states of a GPU. A span without text and -1 mean that it states nothing. */
struct seen {
	int64_t index;
	struct span uuid, pci, name, numa, cpus;
	int64_t memory; /* bytes */
	int64_t minor;
	int mig_enabled;
};
static inline struct seen seen_gpu(int64_t index)
{
	return (struct seen){.index = index, .memory = -1, .minor = -1, .mig_enabled = -1};
}

/* The same of a MIG instance. `number` is the source's; two listings are merged by it. */
struct seen_mig {
	int64_t number;
	struct span uuid, profile;
	int64_t gi, ci;
	int64_t memory;
};

struct recorded;

/* A reader. `line` returns 1 if it took the line, 2 if it took it but the line is not about a GPU,
 * 0 if the line is not of its format. `end` may be NULL; it runs once, after the last line. */
struct format {
	const char *name; /* for the inventory's source; NULL: its lines name no GPU */
	int (*line)(struct recorded *r, const struct line *line);
	void (*end)(struct recorded *r);
};

extern const struct format nccl_xml_format, smi_list_format, nvlink_format, smi_table_format,
	topo_format, proc_info_format, query_csv_format, complaint_format;

struct list_state {
	int gpu;      /* position of the GPU that the next lines are about; -1: none */
	int64_t last; /* its index */
	bool running; /* the previous line belongs to this list too */
};

struct table_state {
	int gpu;       /* position of the GPU row that the next lines continue; -1: none */
	int64_t last;  /* index of the last GPU row */
	bool open;     /* there were GPU rows, and the end of their box has not come yet */
	bool mig;      /* inside the box of MIG devices */
	bool headless; /* there were lines of a GPU without its row */
};

struct topo_state {
	int *columns; /* GPU index of each GPU column of the header */
	size_t count, column_room, rows;
	size_t start[3]; /* columns where the headings of the affinity cells begin */
	bool has[3];     /* CPU affinity, NUMA affinity, GPU NUMA ID */
	bool known;      /* a header was read */
	int *neighbours; /* room for one row */
	size_t room;
};

struct proc_state {
	int64_t minor;
	char uuid[48], pci[24];
	char *name;
};

enum column {
	COLUMN_OTHER,
	COLUMN_INDEX,
	COLUMN_NUMBER, /* of a row without a header: perhaps the index */
	COLUMN_NAME,
	COLUMN_UUID,
	COLUMN_PCI,
	COLUMN_MEMORY,
	COLUMN_DRIVER,
	COLUMN_MIG,
	COLUMN_COUNT,
	COLUMN_TIME,
	COLUMN_PROCESS
};

/* A driver has at most 32 GPUs (NV_MAX_DEVICES of NVIDIA's open kernel modules). */
enum { MAX_COLUMNS = 1024, MAX_NUMBERS = 16, INDEXES = 32 };

/* A column without a name that can be the index: each GPU has one number, and each number one GPU.
 */
struct number_column {
	bool other; /* it is not the index */
	bool falls; /* nvidia-smi lists GPUs in the order of their index */
	int last;
	int gpus[INDEXES]; /* position of the GPU with this number, plus one; 0: there is none */
};

struct csv_state {
	unsigned char columns[MAX_COLUMNS];
	size_t count;  /* 0: no header yet */
	bool open;     /* rows of another form may follow */
	int64_t total; /* of the column "count"; -1: none */
	struct number_column numbers[MAX_NUMBERS];
	size_t number_count;
};

struct xml_link {
	char from[20], to[20];
	bool is_switch;
};

struct xml_state {
	struct xml_link *links;
	size_t count, room;
	size_t empty; /* documents without a GPU */
};

struct complaint_state {
	size_t hosts, others;
};

/* Why the text may be incomplete or is not an inventory. */
struct reason {
	int line;
	const char *text, *fix;
};

struct recorded {
	/* the readers, in the order in which they get a line */
	const struct format *const *formats;
	size_t format_count;
	gpumap_inventory *inventory;
	gpumap_report *report;
	const char *origin;
	int code; /* the first failure, which ends the reading */
	struct arena arena;
	struct lines lines;
	struct hash_index lookup;  /* of the inventory's GPUs */
	int line;                  /* number of the current line, for findings */
	const struct format *last; /* the reader that took the previous line; NULL: none did */
	struct reason partial[4], foreign;
	size_t partial_count;
	struct reason masked;
	bool disagreed;
	bool unclear; /* several columns can be the index */
	int lost;     /* GPUs that were read before one that did not answer; -1: all answered */
	struct list_state list;
	struct table_state table;
	struct topo_state topo;
	struct proc_state proc;
	struct csv_state csv;
	struct xml_state xml;
	struct complaint_state complaint;
};

/* recorded_parse() with only these readers. */
int recorded_parse_with(gpumap_inventory **ret, const struct format *const formats[], size_t count,
			struct span text, const char *origin, gpumap_report *report);

/* Merges `seen` into its GPU. Returns the GPU's position in the inventory, which is valid until the
 * last line; -1: it failed. */
int recorded_gpu(struct recorded *r, const struct seen *seen);
/* The same for a MIG instance of the GPU at `position`. */
void recorded_mig(struct recorded *r, int position, const struct seen_mig *seen);
/* Call it after the last line: joins GPUs that one part numbers and another does not. */
void recorded_link(struct recorded *r);
/* The position of the GPU at this address, -1. */
int recorded_by_pci(struct recorded *r, const char *pci);
void recorded_driver(struct recorded *r, struct span version);
/* Whether nothing contradicts that the GPU at this position has this index. */
bool recorded_fits(struct recorded *r, int position, int64_t index);
/* Gives it the index. */
void recorded_number(struct recorded *r, int position, int64_t index);
/* nvidia-smi says that a GPU does not answer. */
void recorded_lost(struct recorded *r);

/* Report what ends the reading, unless it has failed already. */
#define recorded_fail(r, why, id, remedy, ...) \
	((void)((r)->code == GPUMAP_OK && \
		((r)->code = report_fail( \
			 (r)->report, why, id, \
			 ABOUT(.origin = (r)->origin, .line = (r)->line, .fix = (remedy)), \
			 __VA_ARGS__))))
#define recorded_contradiction(r, ...) \
	recorded_fail(r, GPUMAP_EINPUT, FINDING_NOT_AN_INVENTORY, "record one machine at a time", \
		      __VA_ARGS__)
#define recorded_limit(r, ...) recorded_fail(r, GPUMAP_ELIMIT, FINDING_LIMIT, NULL, __VA_ARGS__)
/* Notes that the inventory may be incomplete; without any GPU the reason becomes the error. */
void recorded_partial(struct recorded *r, const char *fix, const char *format, ...) PRINTF(3, 4);
/* Notes a reason that is reported only if no GPU is read at all. */
void recorded_foreign(struct recorded *r, const char *fix, const char *format, ...) PRINTF(3, 4);
/* Ends reading with GPUMAP_ENOMEM. A reader may go on to the end of its line: a position that it
 * got is -1 or valid until then, and nothing more is reported. */
void recorded_nomem(struct recorded *r);

/* Functions on pieces of text, for several readers. */
/* Takes leading blanks and then a word (up to a blank) off *s; an empty one at the end. */
struct span take_word(struct span *s);
/* Takes digits off *s; -1 when it starts with none, or INT64_MAX when there are too many. */
int64_t take_number(struct span *s);
/* Digits, commas and dashes, such as "0-31,64-95". */
bool is_id_list(struct span s);
/* "N/A", "[Unknown Error]": nvidia-smi's words for "no value". */
bool is_no_value(struct span s);
/* The trimmed text before the line's end, "" to NO_SPAN. */
struct span or_nothing(struct span s);

#endif

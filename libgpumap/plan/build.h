/* SPDX-License-Identifier: MIT */
/*
 * Shared by the stages of plan_make, in their order. selection and on_conflict find the devices
 * of a class of equal hosts. rank_count divides the ranks among the hosts. layout gives devices to
 * the local ranks by share, and asks gpumap_resolve which device each rank uses. clash and
 * failing_device judge the result, clash_fix knows remedies, and bind_cores binds cores. A stage
 * sets `failed` if the plan cannot work; a negative code ends plan_make.
 */
#ifndef GM_PLAN_BUILD_H
#define GM_PLAN_BUILD_H

#include "cpuset.h"
#include "inventory/inventory.h"
#include "plan/plan.h"
#include "plan/table.h"
#include "resolve/mapping.h"
#include "strbuf.h"
#include "visible/uuid.h"

/* --- selections ---------------------------------------------------------------- */

struct entry {
	struct gpu_entry gpu;
	size_t column; /* from 0, in the whole text */
};

struct selection {
	enum plan_gpus kind;
	struct entry *entries;
	size_t count;
};

/* --- classes of equal hosts ---------------------------------------------------- */

/* Classes whose hosts differ only in what the answers to plain lists do not depend on: UUIDs,
 * addresses, and the name of their one model. */
struct host_kind {
	const struct host_class *first;
	const struct plan_device *gpus; /* of the first class that has copies; NULL: none yet */
};

struct host_class {
	const struct plan_host_input *host; /* the first of them */
	const struct plan_settings *settings;
	const struct selection *selection;
	size_t host_count;
	struct host_kind *kind;        /* NULL: nothing is known of the hosts */
	const gpumap_device **devices; /* chosen devices, in the order in which ranks take them */
	size_t count;
	struct plan_device *copies; /* the same devices, as parts of the plan */
	struct plan_device *gpus;   /* of the host, by number */
	const char **names;         /* the devices' entries in a visible list */
	bool by_number;             /* names are numbers */
	const char *device_order;   /* CUDA_DEVICE_ORDER, by which they are nvidia-smi's; or NULL */
	bool plain_names;           /* each UUID is whole, and names one device */
	bool bad;                   /* its devices are not known, which was reported */
	bool without;               /* runs without GPUs */
};

/* A local rank's part of class->devices. Its list starts at `first` and wraps around the end. */
struct placement {
	size_t own, own_count;
	size_t first, shown;
	size_t lands; /* NOWHERE: not known, or none */
};
#define NOWHERE SIZE_MAX

/* The ranks on each device, by position in class->devices. */
struct load {
	size_t *first,
		*count;       /* of each device: its first rank plus one, and its number of ranks */
	size_t device, other; /* the first device with too many ranks, and its second rank */
	size_t surplus;       /* ranks beyond what ranks_per_gpu allows */
};

struct layout {
	struct plan_layout *plan; /* kept in the plan */
	const struct host_class *class;
	const struct plan_host *host; /* the first host with this layout */
	size_t host_count;
	size_t phase;     /* layout_phase() */
	const char *list; /* of all devices; NULL: not made yet */
	struct placement *placements;
	struct load load;
	bool unknown_use;
	size_t failing; /* ranks whose statements end in an error */
	bool plain;     /* every rank has an answer, and lands on a device of the plan if its use
			 * is known */
};

struct builder {
	const struct plan_input *input;
	gpumap_report *report;
	gpumap_plan *plan;
	struct arena *arena;  /* the plan's */
	struct arena scratch; /* until the plan is made */
	struct arena temp;    /* until the current class or layout is done */
	bool failed;
	struct table classes, kinds, layouts, inventories, selections;
	struct table answered; /* the first plain layout of those with the same answers */
	struct host_class **host_classes;  /* of each host */
	size_t *local_sizes;               /* of each host */
	struct strbuf descriptions[2];     /* of the kinds that class_find_kind compares */
	const struct host_kind *described; /* by the second of them; NULL: none */
	size_t reported[FINDING_COUNT];
	size_t step_room;
};

int plan_nomem(struct builder *b);

/* Adds a finding; an error makes the plan fail. After some findings of one id the rest are only
 * counted, and plan_report_rest() reports the count. */
void plan_report(struct builder *b, enum finding_id id, const struct about *about,
		 const char *format, ...) PRINTF(4, 5);
void plan_report_rest(struct builder *b);
void plan_step(struct builder *b, const char *rule, const char *origin, const char *format, ...)
	PRINTF(4, 5);

/* " (and 7 more hosts)", "" for one host. */
const char *more_hosts(struct quoted *ret, size_t host_count);
#define MORE_HOSTS(count) more_hosts(&(struct quoted){{0}}, count)

/* "GPU 3", "MIG 1 of GPU 3", "GPU-9f1c..." */
const char *device_label(struct quoted *ret, const gpumap_device *device);
#define DEVICE_LABEL(device) device_label(&(struct quoted){{0}}, device)

/* --- finding a device by the name that a user gives ------------------------------------- */

struct device_name {
	const char *text;
	const gpumap_device *device;
};

struct device_index {
	struct device_name *names; /* whole UUIDs and PCI addresses, sorted */
	size_t name_count;
	const gpumap_device **numbers; /* by number, sorted */
	size_t number_count;
	const gpumap_device *gpus, **migs;
	struct visible_view view;
	struct uuid_names uuids;
};

/* `named`: devices will be looked up by UUID or address too, not by number alone. */
int device_index_make(struct builder *b, const gpumap_inventory *inventory, bool named,
		      struct device_index *index);
void device_index_free(struct device_index *index); /* also if it was not made */
const gpumap_device *device_by_number(const struct device_index *index, int64_t number);
/* The device whose UUID begins with the text, as in a visible list (rules V6 and V9); NULL: there
 * is none, or there are several. */
const gpumap_device *device_by_uuid(const struct device_index *index, struct span text,
				    bool *several);
const gpumap_device *device_by_name(const struct device_index *index, const char *text);
/* plan_no_gpu() is "no GPU on HOST", with the cause if that is known.
 * plan_no_gpu_fix() is the remedy for that cause, followed by `fix`; it is only `fix` if the ranks
 * start on other nodes. */
const char *plan_no_gpu(struct builder *b, const struct host_class *class);
const char *plan_no_gpu_fix(struct builder *b, const struct host_class *class, const char *fix);
extern const char plan_ask_fix[]; /* the remedy if a scheduler's job will start the ranks */

/* The inventory's device of which a mapping has the copy `device`; NULL: there is none. */
const gpumap_device *device_original(const struct device_index *index, const gpumap_device *device);

/* The number of GPUs and MIG instances. */
size_t device_total(const gpumap_inventory *inventory);
/* The end of the places of one inventory's devices, for sets of them: places are below
 * device_places(). */
size_t device_places(const gpumap_inventory *inventory);
size_t device_place(const gpumap_inventory *inventory, const gpumap_device *device);

/* The stages. */
int selection_parse(struct builder *b, const struct plan_settings *settings,
		    const struct selection **ret);
int selection_apply(struct builder *b, struct host_class *class);
/* Sets class->kind and plain_names. */
int class_find_kind(struct builder *b, struct host_class *class);
/* N for `--gpus N` if the user may have meant N GPUs and there are that many; else 0. */
size_t selection_count_meant(const struct builder *b, const struct host_class *class);
/* How to ask for `count` GPUs. */
const char *selection_count_fix(struct quoted *ret, const struct builder *b, size_t count);
#define COUNT_FIX(b, count) selection_count_fix(&(struct quoted){{0}}, b, count)
/* The list that "inherit" refers to; NULL: there is none. */
const struct plan_inherited *limits_list(const struct plan_host_input *host);
void limits_inherit(struct builder *b, struct host_class *class, const struct device_index *index);
int limit_apply(struct builder *b, struct host_class *class, const struct plan_inherited *limit,
		const struct device_index *index);
/* The devices of the i-th entry. A rank may use every compute instance that its own list names,
 * although CUDA shows only one of a GPU instance. */
const gpumap_device *const *limit_devices(const gpumap_mapping *mapping, size_t i, size_t *count);
/* Which of the class's devices are inside the limit, and how many; NULL: no memory. */
bool *inside_limit(struct builder *b, const struct host_class *class, const gpumap_mapping *mapping,
		   const struct device_index *index, size_t *kept);
/* "GPU 6, GPU 7 and 2 more" */
void label_outside(struct strbuf *buf, const struct host_class *class, const bool *inside);
void keep_inside(struct host_class *class, const bool *inside);
/* Leaves out the GPUs of other ranks if the selection is inherited; if it names them, that is an
 * error. For ranks of another launcher it is not known which rank has the named ones. Those of a
 * lease are free, and belong to no rank. */
int own_gpus_apply(struct builder *b, struct host_class *class, const struct plan_inherited *limit,
		   const struct device_index *index);
int order_rank_devices(struct builder *b, struct host_class *class,
		       const struct device_index *index);
int name_devices(struct builder *b, struct host_class *class);
int spread_ranks(struct builder *b);
/* What a host's layout depends on of the number of its first rank. */
size_t layout_phase(const struct builder *b, const struct host_class *class, size_t local_size,
		    size_t first_rank);
/* Which devices a local rank owns, and which it sees (rule R3). */
struct placement share_devices(const struct builder *b, const struct layout *layout,
			       size_t local_rank);
/* The list of those that it sees, in the arena; NULL without memory. */
const char *share_list(struct builder *b, const struct host_class *class,
		       const struct placement *placement);
/* The answer of gpumap_resolve() for a local rank's program in its environment. */
int layout_ask(gpumap_mapping **ret, const struct builder *b, const struct layout *layout,
	       size_t local_rank, gpumap_report *report);
/* Whether it is unknown which of several devices the program takes. */
bool layout_use_unknown(const struct builder *b, const struct host_class *class);
/* In mode mp a rank that picks its device by its rank is one stage, and uses only that device, as
 * in mode single. A rank that has device_ids or picks no device uses all devices that it sees. */
enum plan_mode plan_mode_of_rank(enum plan_mode mode, const struct plan_settings *settings);
/* Whether such a rank uses one device. */
bool plan_one_each(const struct builder *b, const struct plan_settings *settings);
/* Whether other settings than the environment decide the list of a rank. */
bool plan_has_statements(const struct plan_settings *settings);
/* Whether such a list depends on more than the local rank. */
bool plan_states_by_rank(const struct plan_settings *settings);
/* An earlier layout whose answers are those of this one; NULL: there is none. */
const struct layout *layout_like(const struct builder *b, const struct layout *layout);
/* Notes a layout with answers of its own, for later ones. */
int layout_remember(struct builder *b, const struct layout *layout);
int layout_fill(struct builder *b, struct layout *layout);
/* The position in class->devices of the device in a local rank's mapping; NOWHERE: there is none.
 */
size_t layout_position(const struct layout *layout, size_t local_rank, const gpumap_entry *entry);
/* The words of the settings that make a cell of rule R3's table. */
const char *clash_cell(struct quoted *ret, const struct plan_settings *settings);
#define CELL(settings) clash_cell(&(struct quoted){{0}}, settings)
/* The remedy: which other cell of the row or column works. */
const char *clash_fix(const struct builder *b, const struct host_class *class);
/* The same if the program may be a script of one process: no option gives the number of ranks, and
 * it does not use ranks. */
const char *clash_plain_fix(struct quoted *ret, const struct builder *b,
			    const struct host_class *class);

/* Whether the device was read from the program. A fault that depends on it is only a warning where
 * lint does not refuse it, and where the program may mean it: device_doubted() returns the remedy,
 * of which `fix` is a part. */
bool device_is_read(const struct plan_settings *settings);
const char *device_doubted(struct quoted *ret, enum finding_id *id, const char *fix);
/* Passes on the findings of gpumap_resolve() for a local rank. */
void layout_carry(struct builder *b, struct layout *layout, size_t local_rank,
		  const gpumap_mapping *mapping, const gpumap_report *report);
/* Notes the devices that a local rank uses, for layout_judge: the first one if `mapping` is that of
 * an equal rank of another layout, which is not known here any more (NULL). */
void layout_land(const struct builder *b, struct layout *layout, size_t local_rank,
		 const gpumap_mapping *mapping);
int layout_judge(struct builder *b, struct layout *layout);
int cores_bind(struct builder *b, struct layout *layout);

#endif

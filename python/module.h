/* SPDX-License-Identifier: MIT */
/* The parts of the Python module `gpumap`. It uses the limited API of Python 3.10, so one file
 * serves all later versions, and keeps no state but that of a module object: every interpreter has
 * its own. */
#ifndef GM_PYTHON_MODULE_H
#define GM_PYTHON_MODULE_H

#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "owned.h"

#include <stdbool.h>

/* An object that is released where its variable ends; NULL: there is none. */
static inline void release_variable(PyObject **object)
{
	Py_XDECREF(*object);
}
#define HELD CLEANUP(release_variable) PyObject

enum python_type { TYPE_INVENTORY, TYPE_MAPPING, TYPE_PROFILE, TYPE_PLAN, TYPE_LEASE, TYPE_COUNT };

/* Values, which outlive what they were read from: tuples with names. */
enum python_record {
	RECORD_FINDING,
	RECORD_GPU,
	RECORD_PROCESS,
	RECORD_DEVICE,
	RECORD_STEP,
	RECORD_RANK,
	RECORD_COUNT
};

enum python_error {
	ERROR_ANY,
	ERROR_INPUT,
	ERROR_KEY,
	ERROR_FILE,
	ERROR_DRIVER,
	ERROR_UNAVAILABLE,
	ERROR_BUSY,
	ERROR_LATE,
	ERROR_COUNT
};

struct module_state {
	PyObject *types[TYPE_COUNT], *records[RECORD_COUNT], *errors[ERROR_COUNT];
};

/* The start of each object. Its type keeps the module, and so the state. */
struct object {
	PyObject ob_base;
	const struct module_state *state;
	gpumap_report *report; /* what was found when it was made; may be NULL */
};

/* --- object.c ------------------------------------------------------------------------- */

/* The state of the module that a type, or one that it inherits from, belongs to. */
const struct module_state *state_of_type(PyTypeObject *type);
/* A new object of `type` that takes `report`, if the library's `code` and the report have no error;
 * what follows its head is zero. NULL with an exception, and the report is freed. */
void *object_new(PyTypeObject *type, int code, gpumap_report *report);
/* Frees an object and its report, the last thing that its tp_dealloc does. */
void object_free(void *object);
/* A getter: the report. */
PyObject *object_findings(PyObject *self, void *unused);
/* The struct of a type with an object of the library; its tp_dealloc; type_wrap(), which takes the
 * object and its report into a new one, or frees them; and a getter of texts. */
#define OBJECT(type) \
	struct type { \
		struct object head; \
		gpumap_##type *type; \
	}; \
	static void type##_dealloc(PyObject *self) \
	{ \
		gpumap_##type##_free(((struct type *)self)->type); \
		object_free(self); \
	} \
	static PyObject *type##_wrap(PyTypeObject *of, int code, gpumap_##type *taken, \
				     gpumap_report *report) \
	{ \
		struct type *o = object_new(of, code, report); \
\
		if (o) \
			o->type = taken; \
		else \
			gpumap_##type##_free(taken); \
		return (PyObject *)o; \
	} \
	static PyObject *type##_text(PyObject *self, void *attribute) \
	{ \
		return text_value( \
			gpumap_##type##_str(((struct type *)self)->type, \
					    (enum gpumap_##type##_str_attr)(intptr_t)attribute)); \
	}
#define ATTRIBUTE(attr) ((void *)(intptr_t)(attr))
/* The item of a sequence, or a tuple of a slice. */
PyObject *object_item(PyObject *self, PyObject *at);
/* The function type_name(): what gpumap_type_format() gives, as a method without arguments. */
#define FORMATTED(type, name, format) \
	static PyObject *type##_##name(PyObject *self, PyObject *unused) \
	{ \
		const struct type *o = (struct type *)self; \
		char *text = NULL; \
		int r = gpumap_##type##_format(&text, o->type, format, 0, o->head.report); \
\
		return text_taken(o->head.state, r, text, NULL); \
	}

/* --- errors.c ------------------------------------------------------------------------- */

/* Adds the exceptions to the module. False with an exception. */
bool errors_add(PyObject *module, struct module_state *state);
/* Sets the exception for the library's `code` and the findings of `report`, which may be NULL. */
void *raise_code(const struct module_state *state, int code, const gpumap_report *report);
/* The code of a call without the interpreter's lock, or RAISED with the exception of a signal. */
int unless_signalled(int code);
/* Whether all went well; false with an exception, also if a finding could not be kept. */
bool succeeded(const struct module_state *state, int code, const gpumap_report *report);

/* Takes a text of the library, of a call that returned `code`. */
PyObject *text_taken(const struct module_state *state, int code, char *text,
		     const gpumap_report *report);

/* --- records.c ------------------------------------------------------------------------ */

/* Adds the types of records to the module. */
bool records_add(PyObject *module, struct module_state *state);
/* A record of a gpumap_finding, gpumap_device, ... (RECORD_RANK: a struct rank_of). */
PyObject *record_new(const struct module_state *state, enum python_record kind, const void *object);
struct rank_of {
	const gpumap_plan *plan;
	int64_t rank;
};

/* A tuple of records; get(from, i) is the i-th. */
PyObject *record_tuple(const struct module_state *state, enum python_record kind, size_t count,
		       const void *(*get)(const void *from, size_t i), const void *from);
PyObject *findings_tuple(const struct module_state *state, const gpumap_report *report);

/* --- values.c: between Python and C --------------------------------------------------- */

/* A tuple of `count` values; item(from, i) is a new one. */
PyObject *tuple_of(size_t count, PyObject *(*item)(const void *from, size_t i), const void *from);
/* NULL becomes None. Bytes that are not UTF-8 become lone surrogates, as in os.environ. */
PyObject *text_value(const char *text);
/* A negative number becomes None. */
PyObject *number_value(int64_t number);
/* Takes a text that print() ends with a newline of its own; NULL stays NULL. */
PyObject *text_for_print(PyObject *text);

/* The text of a str, a number or a path, for the argument `name`. It lives as long as the list
 * `kept`. NULL with an exception. */
const char *argument_text(const char *name, PyObject *value, PyObject *kept);
/* The text of a name or a path. */
const char *plain_text(PyObject *value, PyObject *kept);
/* The environment that a mapping holds, ended by NULL, for PyMem_Free; the words live as long as
 * `kept`. NULL with an exception. */
const char **environ_words(PyObject *variables, PyObject *kept);

/* Calls set(data, key, value, origin) for each keyword that is not one of `others` (ended by NULL)
 * or None. `origins` (a dict; NULL: none) has the origin of keys; otherwise it is the option,
 * "--set-device". The members of a dict as a value are given one by one, "NAME=value", and so are
 * those of a list that has dicts. Returns the first code that is not GPUMAP_OK, or RAISED with an
 * exception. */
enum { RAISED = -100 };
int keywords_each(PyObject *keywords, const char *const *others, PyObject *origins,
		  int (*set)(void *data, const char *key, const char *value, const char *origin),
		  void *data);
/* The value of a keyword, borrowed; NULL: not given, or None. */
PyObject *keyword(PyObject *keywords, const char *name);
/* Makes *value, an argument or NULL, that of the keyword if there is one; None becomes NULL. False
 * with an exception: both were given. */
bool argument_of(PyObject **value, PyObject *keywords, const char *name);
/* Whether the first n letters are a word of Python's that is a key too: then '_' is behind it. */
bool is_reserved(const char *name, size_t n);

/* --- the types ------------------------------------------------------------------------ */

extern PyType_Spec inventory_spec, mapping_spec, profile_spec, plan_spec, lease_spec;

/* Opens the machine that `value` is or names. *owned is to be freed; NULL: `value` is an Inventory.
 * NULL with an exception. */
const gpumap_inventory *inventory_of(const struct module_state *state, PyObject *value,
				     gpumap_inventory **owned, gpumap_report *report);
/* gpumap_inventory_open() without the interpreter's lock. */
int inventory_open_named(gpumap_inventory **ret, const char *what, gpumap_report *report);
/* Reads this machine without the interpreter's lock. */
int probe_host(gpumap_inventory **ret, bool ask_driver, bool usage, gpumap_report *report);
/* NULL with an exception: `value` is no Profile. */
const gpumap_profile *profile_of(const struct module_state *state, PyObject *value);
/* A Profile of its settings. */
PyObject *profile_make(const struct module_state *state, PyObject *keywords,
		       const char *const *others);

/* lease.c */
PyObject *lease_take_now(PyObject *module, PyObject *arguments);
/* cuda.c */
PyObject *cuda_of_process(PyObject *module, PyObject *unused);

#endif

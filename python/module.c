/* SPDX-License-Identifier: MIT */
/* See module.h. */
#include "module.h"

#include <string.h>

static bool add_types(PyObject *module, struct module_state *state)
{
	PyType_Spec *const specs[] = {[TYPE_INVENTORY] = &inventory_spec,
				      [TYPE_MAPPING] = &mapping_spec,
				      [TYPE_PROFILE] = &profile_spec,
				      [TYPE_PLAN] = &plan_spec,
				      [TYPE_LEASE] = &lease_spec};

	for (int i = 0; i < TYPE_COUNT; i++) {
		state->types[i] = PyType_FromModuleAndSpec(module, specs[i], NULL);
		if (!state->types[i] ||
		    PyModule_AddObjectRef(module, strrchr(specs[i]->name, '.') + 1,
					  state->types[i]) < 0)
			return false;
	}
	return true;
}

static PyObject *resolve(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	const struct module_state *state = PyModule_GetState(module);

	return PyObject_Call(state->types[TYPE_MAPPING], arguments, keywords);
}

static int execute(PyObject *module)
{
	struct module_state *state = PyModule_GetState(module);

	if (!errors_add(module, state) || !records_add(module, state) ||
	    !add_types(module, state) ||
	    PyModule_AddStringConstant(module, "version", gpumap_version()) < 0)
		return -1;
	return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
	struct module_state *state = PyModule_GetState(module);

	for (int i = 0; state && i < TYPE_COUNT; i++)
		Py_VISIT(state->types[i]);
	for (int i = 0; state && i < RECORD_COUNT; i++)
		Py_VISIT(state->records[i]);
	for (int i = 0; state && i < ERROR_COUNT; i++)
		Py_VISIT(state->errors[i]);
	return 0;
}

static int clear(PyObject *module)
{
	struct module_state *state = PyModule_GetState(module);

	for (int i = 0; state && i < TYPE_COUNT; i++)
		Py_CLEAR(state->types[i]);
	for (int i = 0; state && i < RECORD_COUNT; i++)
		Py_CLEAR(state->records[i]);
	for (int i = 0; state && i < ERROR_COUNT; i++)
		Py_CLEAR(state->errors[i]);
	return 0;
}

static void release(void *module)
{
	clear(module);
}

static PyMethodDef functions[] = {
	{"resolve", (PyCFunction)(void (*)(void))resolve, METH_VARARGS | METH_KEYWORDS,
	 "resolve(*, inventory=None, environ=None, ask_driver=False, **statements)\n--\n\n"
	 "Which physical GPU a program will use, and why: a Mapping.\n\n"
	 "It does not read the environment: CUDA_VISIBLE_DEVICES of this process counts only\n"
	 "with environ=os.environ. here() answers for this process and its environment.\n\n"
	 "The statements are the options of the command: visible, prefix, script_export,\n"
	 "script_inline, launcher, in_code, after_init, set_device, device, device_ids, mode,\n"
	 "local_rank, batch, container, cgroup, mps_server, driver, dialect, strict. A list\n"
	 "[2, 3] stands for '2,3', and a dict for variables besides CUDA_VISIBLE_DEVICES.\n\n"
	 "inventory is an Inventory, or what --inventory takes: 'host', 8, '8xH100', a file.\n"
	 "Without it the devices of a list in the statements are assumed to exist; without\n"
	 "such a list the answer is about this host. environ is the environment of the\n"
	 "program, such as os.environ; None: nothing is known of it.\n\n"
	 ">>> import gpumap\n"
	 ">>> gpumap.resolve(visible='2,3,4,5', device=1).physical\n"
	 "3\n"
	 ">>> [d.physical for d in gpumap.resolve(visible=[6, 4]).visible]\n"
	 "[6, 4]\n"},
	{"_take", lease_take_now, METH_VARARGS, NULL},
	{"_cuda", cuda_of_process, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

/* Python 3.12 asks whether the module may be used by interpreters with locks of their own: slot 3,
 * value 2. Earlier versions refuse the slot. */
enum { SLOT_INTERPRETERS = 3 };
static PyModuleDef_Slot slots_of_312[] = {
	{Py_mod_exec, (void *)execute},
	{SLOT_INTERPRETERS, (void *)2},
	{0, NULL},
};
static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, (void *)execute},
	{0, NULL},
};

#define DEFINITION(slots_of) \
	{ \
		.m_base = PyModuleDef_HEAD_INIT, .m_name = "gpumap._gpumap", \
		.m_size = sizeof(struct module_state), .m_methods = functions, \
		.m_slots = slots_of, .m_traverse = traverse, .m_clear = clear, .m_free = release, \
	}
static PyModuleDef definition = DEFINITION(slots), definition_of_312 = DEFINITION(slots_of_312);

PyMODINIT_FUNC PyInit__gpumap(void);
PyMODINIT_FUNC PyInit__gpumap(void)
{
	/* "3.12.1 (main, ...)" */
	const char *version = Py_GetVersion();
	long minor = strncmp(version, "3.", 2) == 0 ? strtol(version + 2, NULL, 10) : 12;

	return PyModuleDef_Init(minor < 12 ? &definition : &definition_of_312);
}

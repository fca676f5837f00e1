/* SPDX-License-Identifier: MIT */
/* gpumap.Profile: what to launch. */
#include "module.h"

#include "report/report.h"

OBJECT(profile)

const gpumap_profile *profile_of(const struct module_state *state, PyObject *value)
{
	if (Py_TYPE(value) == (PyTypeObject *)state->types[TYPE_PROFILE])
		return ((struct profile *)value)->profile;
	PyErr_Format(PyExc_TypeError, "a gpumap.Profile is expected, not %R", value);
	return NULL;
}

/* --- making ----------------------------------------------------------------------------- */

struct making {
	PyObject *kept;
	const char *path, *name;
	const char **variables;
	gpumap_profile *profile;
	gpumap_report *report;
};

static int set_key(void *data, const char *key, const char *value, const char *origin)
{
	const struct making *m = data;

	return gpumap_profile_set(m->profile, key, value, origin, m->report);
}

static int make(struct making *m, PyObject *keywords, const char *const *others)
{
	int r = gpumap_report_new(&m->report);

	if (r == GPUMAP_OK)
		r = m->path ? gpumap_profile_read(&m->profile, m->path, m->name, m->report)
			    : gpumap_profile_new(&m->profile);
	if (r == GPUMAP_OK && m->variables)
		r = gpumap_profile_set_environ(m->profile, m->variables, m->report);
	return r == GPUMAP_OK ? keywords_each(keywords, others, NULL, set_key, m) : r;
}

static PyObject *wrap(PyTypeObject *type, int code, struct making *m)
{
	PyObject *ret = profile_wrap(type, code, m->profile, m->report);

	PyMem_Free((void *)m->variables);
	Py_XDECREF(m->kept);
	return ret;
}

/* False with an exception. */
static bool read_arguments(struct making *m, PyObject *path, PyObject *name, PyObject *variables)
{
	m->kept = PyList_New(0);
	return m->kept && (!path || (m->path = plain_text(path, m->kept))) &&
	       (!name || (m->name = plain_text(name, m->kept))) &&
	       (!variables || (m->variables = environ_words(variables, m->kept)));
}

PyObject *profile_make(const struct module_state *state, PyObject *keywords,
		       const char *const *others)
{
	struct making m = {NULL, NULL, NULL, NULL, NULL, NULL};
	int r = read_arguments(&m, NULL, NULL, keyword(keywords, "environ"))
			? make(&m, keywords, others)
			: RAISED;

	return wrap((PyTypeObject *)state->types[TYPE_PROFILE], r, &m);
}

static PyObject *profile_new_object(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static const char *const others[] = {"path", "name", "environ", NULL};
	struct making m = {NULL, NULL, NULL, NULL, NULL, NULL};
	PyObject *path = NULL, *name = NULL;
	int r = RAISED;

	if (!PyArg_ParseTuple(arguments, "|OO:Profile", &path, &name))
		return NULL;
	if (!argument_of(&path, keywords, "path") || !argument_of(&name, keywords, "name"))
		return NULL;
	if (name && !path)
		PyErr_SetString(PyExc_TypeError,
				"the name of a profile needs the path of its file");
	else if (read_arguments(&m, path, name, keyword(keywords, "environ")))
		r = make(&m, keywords, others);
	return wrap(type, r, &m);
}

static PyObject *profile_find(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "environ", NULL};
	struct making m = {NULL, NULL, NULL, NULL, NULL, NULL};
	PyObject *name = NULL, *variables = NULL;
	int r = RAISED;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:find", names, &name, &variables))
		return NULL;
	if (read_arguments(&m, NULL, name == Py_None ? NULL : name,
			   variables == Py_None ? NULL : variables)) {
		r = gpumap_report_new(&m.report);
		if (r == GPUMAP_OK)
			r = gpumap_profile_open(&m.profile, NULL, m.name, m.variables, 0, m.report);
		if (r == GPUMAP_OK && m.variables)
			r = gpumap_profile_set_environ(m.profile, m.variables, m.report);
	}
	return wrap((PyTypeObject *)type, r, &m);
}

/* --- reading ---------------------------------------------------------------------------- */

/* NULL: there is no such key, or with an exception. */
static const char *setting(PyObject *self, PyObject *key, enum gpumap_setting_attr attribute)
{
	HELD *kept = PyList_New(0);
	const char *name = kept && PyUnicode_Check(key) ? plain_text(key, kept) : NULL;

	return name ? gpumap_profile_setting(((struct profile *)self)->profile, name, attribute)
		    : NULL;
}

static PyObject *setting_value(PyObject *key, const char *value)
{
	if (!value && !PyErr_Occurred())
		PyErr_SetObject(PyExc_KeyError, key);
	return value ? text_value(value) : NULL;
}

static PyObject *profile_item(PyObject *self, PyObject *key)
{
	return setting_value(key, setting(self, key, GPUMAP_SETTING_VALUE));
}

static PyObject *profile_setting_origin(PyObject *self, PyObject *key)
{
	return setting_value(key, setting(self, key, GPUMAP_SETTING_ORIGIN));
}

static int profile_contains(PyObject *self, PyObject *key)
{
	return setting(self, key, GPUMAP_SETTING_VALUE) ? 1 : PyErr_Occurred() ? -1 : 0;
}

static PyObject *profile_get(PyObject *self, PyObject *arguments)
{
	PyObject *key, *other = Py_None;
	int there;

	if (!PyArg_ParseTuple(arguments, "O|O:get", &key, &other))
		return NULL;
	there = profile_contains(self, key);
	if (there < 0)
		return NULL;
	return there ? profile_item(self, key) : Py_NewRef(other);
}

struct listing {
	PyObject *list, *profile;
};

static int add_key(const gpumap_key *key, void *data)
{
	struct listing *l = data;
	const char *name = gpumap_key_str(key, GPUMAP_KEY_NAME);
	const char *section = gpumap_key_str(key, GPUMAP_KEY_SECTION);
	HELD *text = NULL;

	if (!section || (!streq(section, "profile") && !streq(section, "program")) ||
	    !gpumap_profile_setting(((struct profile *)l->profile)->profile, name,
				    GPUMAP_SETTING_VALUE))
		return 0;
	text = text_value(name);
	return !text || PyList_Append(l->list, text) < 0;
}

static PyObject *profile_keys(PyObject *self, PyObject *unused)
{
	struct listing listing = {PyList_New(0), self};

	if (listing.list && gpumap_profile_key_each(add_key, &listing))
		Py_CLEAR(listing.list);
	return listing.list;
}

static Py_ssize_t profile_length(PyObject *self)
{
	HELD *keys = profile_keys(self, NULL);

	return keys ? PyList_Size(keys) : -1;
}

static PyObject *part_of_dict(PyObject *self, PyObject *(*part)(PyObject *dict))
{
	HELD *dict = PyObject_CallFunctionObjArgs((PyObject *)&PyDict_Type, self, NULL);

	return dict ? part(dict) : NULL;
}

static PyObject *profile_pairs(PyObject *self, PyObject *unused)
{
	return part_of_dict(self, PyDict_Items);
}

static PyObject *profile_values(PyObject *self, PyObject *unused)
{
	return part_of_dict(self, PyDict_Values);
}

static PyObject *profile_iterator(PyObject *self)
{
	PyObject *keys = profile_keys(self, NULL), *ret = keys ? PyObject_GetIter(keys) : NULL;

	Py_XDECREF(keys);
	return ret;
}

static PyObject *argument(const void *profile, size_t i)
{
	return text_value(gpumap_profile_argument(profile, i));
}

static PyObject *profile_command(PyObject *self, void *unused)
{
	const gpumap_profile *p = ((struct profile *)self)->profile;

	return tuple_of(gpumap_profile_argument_count(p), argument, p);
}

static PyObject *section_name(const void *profile, size_t i)
{
	return text_value(gpumap_section_str(gpumap_profile_section(profile, "profile", i),
					     GPUMAP_SECTION_NAME));
}

static PyObject *profile_names(PyObject *self, void *unused)
{
	const gpumap_profile *p = ((struct profile *)self)->profile;
	size_t count = 0;

	while (gpumap_profile_section(p, "profile", count))
		count++;
	return tuple_of(count, section_name, p);
}

FORMATTED(profile, json, GPUMAP_FORMAT_JSON)
FORMATTED(profile, ini, GPUMAP_FORMAT_INI)

static PyObject *profile_check(PyObject *self, PyObject *unused)
{
	const struct profile *p = (struct profile *)self;
	OWNED(report) *report = NULL;
	int r = gpumap_report_new(&report);
	PyObject *ret = NULL;

	if (r == GPUMAP_OK)
		r = gpumap_profile_check(p->profile, report);
	if (r == GPUMAP_ENOMEM || report_lacks_memory(report))
		PyErr_NoMemory();
	else
		ret = findings_tuple(p->head.state, report);
	return ret;
}

static PyObject *profile_repr(PyObject *self)
{
	const gpumap_profile *p = ((struct profile *)self)->profile;
	const char *name = gpumap_profile_str(p, GPUMAP_PROFILE_NAME);
	const char *file = gpumap_profile_str(p, GPUMAP_PROFILE_FILE);

	return PyUnicode_FromFormat("<gpumap.Profile %s%s%s>", name ? name : "without a name",
				    file ? ", " : "", file ? file : "");
}

static PyGetSetDef members[] = {
	{"name", profile_text, NULL, "of the chosen profile, or None",
	 ATTRIBUTE(GPUMAP_PROFILE_NAME)},
	{"file", profile_text, NULL, "the file that was read, or None",
	 ATTRIBUTE(GPUMAP_PROFILE_FILE)},
	{"names", profile_names, NULL, "of all profiles of the file", NULL},
	{"command", profile_command, NULL, "the words of the program's command", NULL},
	{"findings", object_findings, NULL, "warnings and remarks about the file", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
	{"find", (PyCFunction)(void (*)(void))profile_find,
	 METH_VARARGS | METH_KEYWORDS | METH_CLASS,
	 "find($type, /, name=None, environ=None)\n--\n\n"
	 "The profile of the file that gpumap itself would use: that of GPUMAP_CONFIG in\n"
	 "environ, ./gpumap.ini, or that of the user or the system."},
	{"keys", profile_keys, METH_NOARGS, "keys($self, /)\n--\n\nThe names of all settings."},
	{"values", profile_values, METH_NOARGS,
	 "values($self, /)\n--\n\nThe texts of all settings."},
	{"items", profile_pairs, METH_NOARGS,
	 "items($self, /)\n--\n\nThe names of all settings with their texts."},
	{"get", profile_get, METH_VARARGS,
	 "get($self, key, default=None, /)\n--\n\nThe text of a setting, or default."},
	{"origin", profile_setting_origin, METH_O,
	 "origin($self, key, /)\n--\n\nWhere a setting has its value from: 'train.ini:7' or "
	 "'default'."},
	{"check", profile_check, METH_NOARGS,
	 "check($self, /)\n--\n\nWhy the profile cannot be launched: findings; (): it can."},
	{"json", profile_json, METH_NOARGS,
	 "json($self, /)\n--\n\nJSON, as gpumap config prints it."},
	{"ini", profile_ini, METH_NOARGS, "ini($self, /)\n--\n\nA file of this one profile."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
	 "Profile(path=None, name=None, *, environ=None, **settings)\n--\n\n"
	 "What to launch: a profile of a file, and settings that win over it. It reads as\n"
	 "a dict of texts.\n\n"
	 ">>> import gpumap\n"
	 ">>> profile = gpumap.Profile(ranks=2, command=['python3', 'train.py'])\n"
	 ">>> profile['ranks'], profile.command\n"
	 "('2', ('python3', 'train.py'))\n"},
	{Py_tp_new, (void *)profile_new_object},
	{Py_tp_dealloc, (void *)profile_dealloc},
	{Py_tp_repr, (void *)profile_repr},
	{Py_tp_iter, (void *)profile_iterator},
	{Py_tp_getset, members},
	{Py_tp_methods, methods},
	{Py_mp_length, (void *)profile_length},
	{Py_mp_subscript, (void *)profile_item},
	{Py_sq_contains, (void *)profile_contains},
	{0, NULL},
};

PyType_Spec profile_spec = {
	.name = "gpumap.Profile",
	.basicsize = sizeof(struct profile),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};

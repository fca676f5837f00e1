/* SPDX-License-Identifier: MIT */
/* Exceptions: the error of a report, with its id, rule and remedy. */
#include "module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "report/report.h"
#include "strbuf.h"

static const struct {
	const char *name, *base, *doc; /* base: a class of Python too, or NULL */
} classes[ERROR_COUNT] = {
	[ERROR_ANY] = {"gpumap.Error", NULL,
		       "An error of gpumap: id ('GM009'), rule ('V2' or None), fix (the remedy, or "
		       "None) and findings (all that was found)."},
	[ERROR_INPUT] = {"gpumap.InputError", "ValueError", "A value is malformed."},
	[ERROR_KEY] = {"gpumap.UnknownKey", "TypeError", "There is no such keyword or key."},
	[ERROR_FILE] = {"gpumap.FileError", "OSError", "A file cannot be read or written."},
	[ERROR_DRIVER] = {"gpumap.DriverError", "RuntimeError",
			  "The driver is missing or does not answer."},
	[ERROR_UNAVAILABLE] = {"gpumap.Unavailable", NULL,
			       "There are not as many GPUs as pick() is asked for."},
	[ERROR_BUSY] = {"gpumap.Busy", NULL, "Not enough GPUs are free, or not in time."},
	[ERROR_LATE] = {"gpumap.TooLate", "RuntimeError",
			"CUDA has started, so a new list would have no effect."},
};

/* Error, or the class that has this one; and the class of Python. */
static PyObject *bases_of(const struct module_state *state, enum python_error i)
{
	PyObject *own = i == ERROR_ANY    ? PyExc_Exception
			: i == ERROR_KEY  ? state->errors[ERROR_INPUT]
			: i == ERROR_BUSY ? state->errors[ERROR_UNAVAILABLE]
					  : state->errors[ERROR_ANY];
	HELD *builtins = PyImport_ImportModule("builtins"), *base = NULL;

	if (!classes[i].base)
		return PyTuple_Pack(1, own);
	base = builtins ? PyObject_GetAttrString(builtins, classes[i].base) : NULL;
	return base ? PyTuple_Pack(2, own, base) : NULL;
}

bool errors_add(PyObject *module, struct module_state *state)
{
	for (int i = 0; i < ERROR_COUNT; i++) {
		HELD *bases = bases_of(state, (enum python_error)i), *members = NULL;

		if (bases && i == ERROR_ANY)
			/* OSError's str() leaves out the message. */
			members = Py_BuildValue("{s:O,s:O,s:O,s:(),s:N}", "id", Py_None, "rule",
						Py_None, "fix", Py_None, "findings", "__str__",
						PyObject_GetAttrString(PyExc_Exception, "__str__"));
		if (bases && (members || i != ERROR_ANY))
			state->errors[i] = PyErr_NewExceptionWithDoc(
				classes[i].name, classes[i].doc, bases, members);
		if (!state->errors[i] ||
		    PyModule_AddObjectRef(module, strchr(classes[i].name, '.') + 1,
					  state->errors[i]) < 0)
			return false;
	}
	return true;
}

static enum python_error class_of(int code, const gpumap_finding *f)
{
	if (f && finding_is(f, FINDING_LEASE_TOO_MANY))
		return ERROR_UNAVAILABLE;
	switch (code) {
	case GPUMAP_EKEY:
		return ERROR_KEY;
	case GPUMAP_EFILE:
		return ERROR_FILE;
	case GPUMAP_ENODRIVER:
		return ERROR_DRIVER;
	case GPUMAP_EBUSY:
		return ERROR_BUSY;
	default:
		return ERROR_INPUT;
	}
}

/* The first error; without one the last finding. NULL: there is none. */
static const gpumap_finding *main_finding(const gpumap_report *report)
{
	size_t count = gpumap_report_count(report);

	for (size_t i = 0; i < count; i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_ERROR)
			return f;
	}
	return count ? gpumap_report_get(report, count - 1) : NULL;
}

/* The keyword of the option that `text` begins with: local_rank of --local-rank, from_ of --from,
 * the path of --config. Returns the end of the option. */
static const char *put_keyword(struct strbuf *buf, const char *text)
{
	const char *name = text + 2;
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	if (n == strlen("config") && starts_with(name, "config"))
		strbuf_puts(buf, "path");
	else
		for (size_t i = 0; i < n; i++)
			strbuf_printf(buf, "%c", name[i] == '-' ? '_' : name[i]);
	if (is_reserved(name, n))
		strbuf_puts(buf, "_");
	return name + n;
}

static bool is_option(const char *text)
{
	return starts_with(text, "--") && text[2] >= 'a' && text[2] <= 'z';
}

/* A part of a text that a command precedes names its options. */
static bool of_command(const char *part, const char *option)
{
	static const char *const commands[] = {"gpumap ", "run ", "accelerate ", "nvidia-smi "};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *at = strstr(part, commands[i]);

		if (at && at < option)
			return true;
	}
	return false;
}

/* A text for users of the command, who write "--wait 10m": "wait=10m". */
static void put_text(struct strbuf *buf, const char *text)
{
	const char *part = text, *c = text;

	while (*c) {
		if (strchr(",;(", *c))
			part = c;
		if ((c > text && !strchr(" (", c[-1])) || !is_option(c) || of_command(part, c)) {
			strbuf_add(buf, c++, 1);
			continue;
		}
		c = put_keyword(buf, c);
		strbuf_puts(buf, "=");
		if (*c == '=' ||
		    (*c == ' ' && (isupper((unsigned char)c[1]) || isdigit((unsigned char)c[1]))))
			c++;
	}
}

/* Where an error is. */
static void put_origin(struct strbuf *buf, const char *origin)
{
	strbuf_puts(buf, is_option(origin) ? put_keyword(buf, origin) : origin);
	strbuf_puts(buf, ":");
}

/* "device: there is no cuda:4; use cuda:0 to cuda:3 [GM009]" */
static PyObject *message_of(const gpumap_finding *f, int code)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	if (!f)
		return text_value(gpumap_strerror(code));
	if (origin)
		put_origin(&buf, origin);
	if (origin && line > 0)
		strbuf_printf(&buf, "%lld:", (long long)line);
	strbuf_puts(&buf, origin ? " " : "");
	put_text(&buf, gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	strbuf_puts(&buf, fix ? "; " : "");
	put_text(&buf, fix ? fix : "");
	strbuf_printf(&buf, " [%s]", gpumap_finding_str(f, GPUMAP_FINDING_ID));
	return buf.failed ? PyErr_NoMemory() : text_value(buf.text);
}

/* The remedy in the words of Python. */
static PyObject *fix_of(const gpumap_finding *f)
{
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	if (fix)
		put_text(&buf, fix);
	return buf.failed ? PyErr_NoMemory() : text_value(buf.text);
}

static bool set_value(PyObject *error, const char *name, PyObject *value)
{
	HELD *taken = value;

	return taken && PyObject_SetAttrString(error, name, taken) == 0;
}

static bool fill(const struct module_state *state, PyObject *error, const gpumap_finding *f,
		 const gpumap_report *report)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);

	return set_value(error, "findings", findings_tuple(state, report)) &&
	       set_value(error, "id", text_value(gpumap_finding_str(f, GPUMAP_FINDING_ID))) &&
	       set_value(error, "rule", text_value(gpumap_finding_str(f, GPUMAP_FINDING_RULE))) &&
	       set_value(error, "fix", fix_of(f)) &&
	       (Py_TYPE(error) != (PyTypeObject *)state->errors[ERROR_FILE] || !origin ||
		is_option(origin) || set_value(error, "filename", text_value(origin)));
}

void *raise_code(const struct module_state *state, int code, const gpumap_report *report)
{
	const gpumap_finding *f = main_finding(report);
	PyObject *class = state->errors[class_of(code, f)];
	HELD *message = NULL, *error = NULL;

	if (code == GPUMAP_ENOMEM || report_lacks_memory(report))
		return PyErr_NoMemory();
	message = message_of(f, code);
	error = message ? PyObject_CallFunctionObjArgs(class, message, NULL) : NULL;
	if (error && fill(state, error, f, report))
		PyErr_SetObject(class, error);
	return NULL;
}

int unless_signalled(int code)
{
	return PyErr_CheckSignals() < 0 ? RAISED : code;
}

bool succeeded(const struct module_state *state, int code, const gpumap_report *report)
{
	if (code == RAISED)
		return false;
	if (code != GPUMAP_OK || report_lacks_memory(report))
		raise_code(state, code, report);
	return code == GPUMAP_OK && !report_lacks_memory(report);
}

PyObject *text_taken(const struct module_state *state, int code, char *text,
		     const gpumap_report *report)
{
	CLEANUP_FREE char *taken = text;

	return succeeded(state, code, report) ? text_value(taken) : NULL;
}

/* SPDX-License-Identifier: MIT */
/* See program.h. */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "elf_file.h"

#define NEITHER "it is neither a program of ELF nor a script"

/* The beginning of a file. */
struct head {
	char bytes[256];
	size_t size;
};

const char *program_absolute(struct facts *facts, const char *word)
{
	char here[4096];

	if (*word == '/')
		return word;
	if (*facts->root)
		return arena_printf(&facts->arena, "/%s", word);
	if (!getcwd(here, sizeof(here)))
		return NULL;
	return arena_printf(&facts->arena, "%s/%s", here, word);
}

static bool is_folder(struct facts *facts, const char *path)
{
	struct stat about;

	return path && root_stat(facts->root, path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Whether a shell would start it. The users of a recorded machine are not those of this one. */
static bool can_start(struct facts *facts, const char *path)
{
	struct stat about;

	return root_stat(facts->root, path, &about) == 0 && S_ISREG(about.st_mode) &&
	       (*facts->root ? (about.st_mode & 0111) != 0 : access(path, X_OK) == 0);
}

const char *program_find_path(struct facts *facts, const char *word)
{
	const char *folders = facts_variable(facts, "PATH"), *path;
	struct span rest, folder;

	if (!word)
		return NULL;
	if (strchr(word, '/')) {
		path = program_absolute(facts, word);
		return path && facts_has_file(facts, path) ? path
							   : NULL; /* the folder may be gone */
	}
	rest = span_of(folders ? folders : "/usr/local/bin:/usr/bin:/bin");
	while (span_split(&rest, ':', &folder)) {
		path = arena_printf(&facts->arena, "%.*s/%s", (int)folder.length, folder.text,
				    word);
		/* An empty one is this folder. */
		if (!folder.length || *path != '/')
			path = *facts->root ? NULL
					    : program_absolute(facts, folder.length ? path : word);
		if (path && can_start(facts, path))
			return path;
	}
	return NULL;
}

/* "python", "python3", "python3.11", and "python3.13t", which has no global lock */
static bool is_python(const char *path)
{
	const char *name = file_name(path);

	if (!starts_with(name, "python"))
		return false;
	name += strlen("python");
	name += strspn(name, "0123456789.");
	return !*name || streq(name, "t");
}

/* The interpreter of a line "#!/usr/bin/env python3"; NULL: it is not found. *named is how the line
 * names it. */
static const char *interpreter_of(struct facts *facts, struct span line, const char **named)
{
	struct span word = {NULL, 0};
	const char *path = NULL;

	line = span_trim(line);
	while (line.text && span_split(&line, ' ', &word)) {
		if (!word.length || *word.text == '-')
			continue;
		*named = arena_strndup(&facts->arena, word.text, word.length);
		if (path || !streq(file_name(*named), "env"))
			return program_find_path(facts, *named);
		path = *named;
	}
	return path;
}

/* The version of CUDA, by the runtime that it needs: "12.4.127" of the file, or 12 of its name. A
 * runtime that is linked statically is not visible. */
static void read_cuda(struct facts *facts)
{
	struct program_facts *program = &facts->program;
	static const char runtime[] = "libcudart.so.";

	for (size_t i = 0; i < program->needed_count; i++) {
		const struct needed *n = &program->needed[i];
		struct span rest, major, minor;
		int64_t high, low = -1;

		if (!starts_with(n->name, runtime))
			continue;
		rest = span_of(n->version ? n->version : n->name + strlen(runtime));
		span_split(&rest, '.', &major);
		high = span_number(major, 1000);
		if (rest.text && span_split(&rest, '.', &minor))
			low = span_number(minor, 99);
		if (high > 0)
			program->cuda = fact_cuda(facts, high, low);
		return;
	}
}

static void read_code(struct facts *facts, const char *path)
{
	struct gpu_code code = {0};

	if (elf_gpu_code(facts, path, &code) && code.any)
		facts->program.code = arena_alloc(&facts->arena, 1, sizeof(code));
	if (facts->program.code)
		*facts->program.code = code;
}

static void read_elf(struct facts *facts, const char *path)
{
	facts->program.kind = fact_text("ELF");
	needed_read(facts, path, NULL);
	read_cuda(facts);
	read_code(facts, path);
}

/* "pyenv" of ~/.pyenv/shims/python3, a script that chooses among interpreters; NULL: of none. */
static const char *chooser_of(const char *path)
{
	static const char *const names[] = {"pyenv", "asdf"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(path, "/shims/") && strstr(path, names[i]))
			return names[i];
	return NULL;
}

/* The environment of the program, and what its PyTorch would load. */
static void use_python(struct facts *facts, const char *interpreter)
{
	struct python *python = &facts->pythons[facts->python_count++];
	const char *site, *library;

	*python = python_read(facts, interpreter);
	facts->program.kind =
		python->why ? fact_unseen(python->why)
			    : fact_text(arena_printf(&facts->arena, "Python %s", python->version));
	site = python->packages[PACKAGE_TORCH].site;
	library = site ? arena_printf(&facts->arena, "%s/torch/lib/libtorch_cuda.so", site) : NULL;
	if (!library || !facts_has_file(facts, library))
		return;
	needed_read(facts, library, site);
	read_code(facts, library);
}

static void refuse_script(struct facts *facts, const char *path, const char *interpreter)
{
	const char *chooser = chooser_of(path), *name = file_name(path), *hint = "";

	if (chooser)
		hint = arena_printf(&facts->arena, ": %s which %s prints it", chooser, name);
	facts->program.kind = fact_unseen(arena_printf(
		&facts->arena, "%s is a script of %s; name the program that it starts%s", name,
		interpreter ? file_name(interpreter) : "another program", hint));
}

/* The beginning of a file, and in *line its first line behind "#!", whose text is NULL if it is not
 * a script. */
static int read_head(struct facts *facts, const char *path, struct head *ret, struct span *line)
{
	int fd = root_open(facts->root, path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return errno;
	n = read(fd, ret->bytes, sizeof(ret->bytes));
	close(fd);
	ret->size = n < 0 ? 0 : (size_t)n;
	*line = NO_SPAN;
	if (ret->size <= 2 || memcmp(ret->bytes, "#!", 2) != 0)
		return 0;
	line->text = ret->bytes + 2;
	while (line->length + 2 < ret->size && line->text[line->length] != '\n')
		line->length++;
	return 0;
}

static bool is_elf(const struct head *head)
{
	return head->size >= SELFMAG && memcmp(head->bytes, ELFMAG, SELFMAG) == 0;
}

/* An interpreter may be a script itself. */
static void read_python(struct facts *facts, const char *interpreter)
{
	const char *named = NULL;
	struct head head;
	struct span line;

	if (read_head(facts, interpreter, &head, &line) != 0 || !line.text) {
		use_python(facts, interpreter);
		return;
	}
	interpreter_of(facts, line, &named);
	refuse_script(facts, interpreter, named);
}

static void read_script(struct facts *facts, const char *path, struct span line)
{
	const char *named = "its first line", *interpreter = interpreter_of(facts, line, &named);

	if (!interpreter || !is_python(interpreter))
		refuse_script(facts, path, named);
	else
		read_python(facts, interpreter);
}

static void read_kind(struct facts *facts, const char *path, const struct head *head,
		      struct span line)
{
	const char *python = NULL;

	if (is_elf(head)) {
		if (is_python(path))
			use_python(facts, path);
		else
			read_elf(facts, path);
		return;
	}
	if (line.text) {
		read_script(facts, path, line);
		return;
	}
	if (text_ends(path, ".py"))
		python = program_find_path(facts, "python3");
	if (python && is_python(python))
		read_python(facts, python);
	else
		facts->program.kind = fact_unseen(NEITHER);
}

int program_read(struct facts *facts, const char *const *command)
{
	const char *path = program_find_path(facts, *command);
	struct head head;
	struct span line;
	int error;

	facts->program.name = *command;
	/* A file of Python in this folder needs no slash. */
	if (!path && !strchr(*command, '/') && text_ends(*command, ".py"))
		path = program_find_path(facts, arena_printf(&facts->arena, "./%s", *command));
	if (!path)
		return is_folder(facts, program_absolute(facts, *command)) ? EISDIR : ENOENT;
	error = read_head(facts, path, &head, &line);
	if (!error)
		read_kind(facts, path, &head, line);
	return error;
}

/* --- a Python that is not looked into --------------------------------------------------------- */

/* A script is not followed: what it starts can depend on anything. */
static const char *script_text(struct facts *facts, const char *path, struct span line)
{
	const char *chooser = chooser_of(path), *named = "another program", *which;

	interpreter_of(facts, line, &named);
	which = chooser ? arena_printf(&facts->arena, "\"$(%s which python3)\"", chooser)
			: "/path/to/python";
	return arena_printf(
		&facts->arena,
		"a %s script%s%s, so its packages were not checked; gpumap doctor -- %s "
		"checks them",
		file_name(named), chooser ? " of " : "", chooser ? chooser : "", which);
}

const char *python_unseen(struct facts *facts, const char *path)
{
	struct stat about;
	struct head head;
	struct span line;
	int error = root_stat(facts->root, path, &about), link;

	link = error == ENOENT ? root_open(facts->root, path, O_PATH | O_NOFOLLOW) : -1;
	if (link >= 0) {
		close(link);
		return "it is a link to a file that does not exist";
	}
	if (!error && !S_ISREG(about.st_mode))
		return "it is not a regular file";
	if (!error)
		error = read_head(facts, path, &head, &line);
	if (error)
		return arena_strdup(&facts->arena, strerror(error));
	if (line.text)
		return script_text(facts, path, line);
	return is_elf(&head) ? NULL : NEITHER;
}

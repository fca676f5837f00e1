/* SPDX-License-Identifier: MIT */
/* The reader of notebooks takes any text, and each line of a cell has its place in the file and a
 * line of the program. */
#include "lint/notebook.h"

#include "gpumap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const struct strbuf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->length; i++)
		lines += text->text[i] == '\n';
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* As read_file() gives it, with a NUL behind. */
	char *text = malloc(size + 1);
	struct notebook nb = {.line_count = 0};
	int row = 0, code;
	bool cells;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	notebook_recognise((struct span){text, size}, &cells);
	code = notebook_read(&nb, (struct span){text, size}, &row);
	if ((code != GPUMAP_OK && code != GPUMAP_EINPUT) || (code == GPUMAP_EINPUT && row < 1))
		abort();
	if (code == GPUMAP_OK) {
		notebook_translate(&nb);
		if (count_lines(&nb.source) != nb.line_count ||
		    count_lines(&nb.program) != nb.line_count)
			abort();
		for (size_t i = 0; i < nb.line_count; i++)
			if (nb.lines[i].at < text || nb.lines[i].at > text + size ||
			    notebook_column(&nb, &nb.lines[i], size) > (int)size + 1 ||
			    (i && nb.lines[i].program <= nb.lines[i - 1].program))
				abort();
	}
	notebook_free(&nb);
	free(text);
	return 0;
}

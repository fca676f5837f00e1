/* SPDX-License-Identifier: MIT */
/* A command that begins with FILE.py is started by Python. */
#include "profile/profile.h"

#include "text/words.h"

/* As by torchrun: unbuffered. */
void profile_python(struct strbuf *ret, const char *program, const char *python)
{
	if (!is_python_file(span_of(program)) || (python && !*python))
		return;
	words_quote(ret, python ? python : "python3");
	strbuf_puts(ret, " -u");
}

/* SPDX-License-Identifier: MIT */
/* The memory of GPUs by model, for sources that do not have it. */
#include "inventory/inventory.h"

/* In MiB, as nvidia-smi shows it. A model of several sizes has the most common one first; the
 * others apply if the name has their size, such as "40GB". Every row needs a source, which is named
 * above its group. */
static const struct {
	const char *model;
	int gigabytes;
	int mib;
} models[] = {
	/* Source: recordings of nvidia-smi on machines with these models. */
	{"B200", 192, 183359},
	{"GB200", 192, 189471},
	{"H200", 141, 143771},
	{"H100 NVL", 94, 95830},
	{"H100", 80, 81559},
	{"H800", 80, 81559},
	{"A100", 80, 81920},
	{"A100", 40, 40960},
	{"A10G", 24, 23028},
	{"L40S", 48, 46068},
	{"T4", 16, 15360},
	{"RTX PRO 6000", 96, 97887},
	{"RTX 6000 Ada", 48, 49140},
	{"RTX 4000 Ada", 20, 20475},
	{"RTX A6000", 48, 49140},
	{"A6000", 48, 49140},
	{"RTX 5080", 16, 16303},
	{"RTX 5060 Ti", 16, 16311},
	{"RTX 5060", 8, 8151},
	{"RTX 4080", 16, 16376},
	{"RTX 3090", 24, 24576},
	{"RTX 3080", 10, 10240},
	{"RTX 2080 Ti", 11, 11264},
	{"RTX 2080", 8, 8192},
	/* Source: outputs of nvidia-smi that users of these models published. */
	{"B300", 288, 275040},
	{"GB300", 288, 284208},
	{"GH200", 96, 97871},
	{"GH200", 480, 97871}, /* the processor's memory, which is in the name */
	{"GH200", 144, 146831},
	{"H100", 64, 65247},
	{"H20", 96, 97871},
	{"A800", 80, 81920},
	{"A40", 48, 46068},
	{"A30", 24, 24576},
	{"A16", 16, 15356},
	{"A10", 24, 23028},
	{"A2", 16, 15356},
	{"L40", 48, 46068},
	{"L20", 48, 46068},
	{"L4", 24, 23034},
	{"V100", 16, 16384},
	{"V100", 32, 32768},
	{"V100S", 32, 32768},
	{"P100", 16, 16384},
	{"P100", 12, 12288},
	{"P40", 24, 24576},
	{"M60", 8, 7680}, /* with ECC, its default; 8129 without */
	{"K80", 12, 11441},
	{"RTX 5000 Ada", 32, 32760},
	{"RTX A5500", 24, 24564},
	{"RTX A5000", 24, 24564},
	{"A5000", 24, 24564},
	{"RTX A4500", 20, 20470},
	{"RTX A4000", 16, 16376},
	{"A4000", 16, 16376},
	{"RTX A2000", 6, 6138},
	{"RTX A2000", 12, 12282},
	{"RTX 8000", 48, 49152},
	{"RTX 6000", 24, 24576},
	{"RTX 4000", 8, 8192},
	{"RTX 5090", 32, 32607},
	{"RTX 5070 Ti", 16, 16303},
	{"RTX 5070", 12, 12227},
	{"RTX 5060 Ti", 8, 8151},
	{"RTX 4090", 24, 24564},
	{"RTX 4070 Ti SUPER", 16, 16376},
	{"RTX 4070 Ti", 12, 12282},
	{"RTX 4070", 12, 12282},
	{"RTX 4060 Ti", 8, 8188},
	{"RTX 4060 Ti", 16, 16380},
	{"RTX 4060", 8, 8188},
	{"RTX 3090 Ti", 24, 24564},
	{"RTX 3080 Ti", 12, 12288},
	{"RTX 3080", 12, 12288},
	{"RTX 3070 Ti", 8, 8192},
	{"RTX 3070", 8, 8192},
	{"RTX 3060 Ti", 8, 8192},
	{"RTX 3060", 12, 12288},
	{"RTX 2070", 8, 8192},
	{"GTX 1080 Ti", 11, 11264},
	{"GTX 1080", 8, 8192},
	{"TITAN RTX", 24, 24576},
	{"T1000", 4, 4096},
	{"M40 24GB", 24, 24576},
	/* The same for drivers before 510, which do not count the memory that they reserve. */
	{"P4", 8, 7611},
	{"TITAN V", 12, 12066},
	{"TITAN Xp", 12, 12196},
};

/* Words that may follow a model's name. */
#define PLAIN_WORDS \
	"sxm sxm2 sxm3 sxm4 sxm5 sxm6 pcie hbm2 hbm2e hbm3 hbm3e gb g gpu generation super d " \
	"dgxs " \
	"fhhl blackwell server workstation edition max q tensor core accelerator"

/* Whether the text after a model leaves its memory unchanged: "-SXM4-80GB" does; " Ti", " Laptop
 * GPU" and a virtual GPU's "-8Q" do not. */
static bool is_same_model(const char *rest)
{
	while (*rest) {
		struct span word = {rest, 0};
		size_t digits = strspn(rest, "0123456789");

		while (is_alphanumeric(rest[word.length]))
			word.length++;
		rest += word.length ? word.length : 1;
		if (word.length && !span_among(word, PLAIN_WORDS) &&
		    !(digits && span_among(span_behind(word, digits), "gb g")))
			return false;
	}
	return true;
}

/* Whether a name is that of the model. Case is ignored; a blank may be -, _ or missing. */
static bool is_model(const char *name, const char *model)
{
	for (const char *begin = name; *begin; begin++) {
		const char *n = begin, *m = model;

		if (begin > name && is_alphanumeric(begin[-1]))
			continue;
		for (; *m && (lower(*n) == lower(*m) || *m == ' '); m++)
			n += lower(*n) == lower(*m) || *n == '-' || *n == '_';
		if (!*m && !is_alphanumeric(*n) && is_same_model(n))
			return true;
	}
	return false;
}

/* The 40 of "A100-SXM4-40GB"; 0: the name has no size. */
static int named_size(const char *name)
{
	for (const char *c = name; *c; c++) {
		size_t digits = strspn(c, "0123456789");
		const char *unit = c + digits + (digits && c[digits] == ' ');

		if (digits && digits < 5 && (c == name || !is_alphanumeric(c[-1])) &&
		    lower(*unit) == 'g' &&
		    (!is_alphanumeric(unit[1]) ||
		     (lower(unit[1]) == 'b' && !is_alphanumeric(unit[2]))))
			return (int)span_number((struct span){c, digits}, INT32_MAX);
	}
	return 0;
}

int64_t model_memory(const char *name)
{
	int size = name ? named_size(name) : 0;
	size_t best = 0;
	int64_t memory = -1;

	for (size_t i = 0; name && i < ARRAY_SIZE(models); i++) {
		size_t length = strlen(models[i].model);

		/* "RTX 4070 Ti" is not an "RTX 4070". */
		if (length <= best || !is_model(name, models[i].model) ||
		    (size && size != models[i].gigabytes))
			continue;
		best = length;
		memory = (int64_t)models[i].mib << 20;
	}
	return memory;
}

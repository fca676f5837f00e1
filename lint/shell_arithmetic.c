/* SPDX-License-Identifier: MIT */
/* Arithmetic of the shell, as far as its variables are known: $((NODES * 4)). */
#include "lint/shell_script.h"

enum { DEEPEST = 32 };

struct sum {
	struct shell *sh;
	struct span rest;
	int depth;
	bool failed;
};

static char peek(struct sum *sum)
{
	sum->rest = span_trim(sum->rest);
	return sum->rest.length ? *sum->rest.text : '\0';
}

static void skip(struct sum *sum, size_t count)
{
	sum->rest = span_from(sum->rest, sum->rest.text + count);
}

/* A number with a leading zero is octal: it is left unknown. */
static int64_t decimal(struct span digits)
{
	if (digits.length > 1 && *digits.text == '0')
		return -1;
	return span_number(digits, INT32_MAX);
}

static int64_t variable(struct sum *sum, size_t length)
{
	struct shell_var *var = shell_var(sum->sh, (struct span){sum->rest.text, length});
	struct setting now = shell_setting(sum->sh, var);

	skip(sum, length);
	return now.state == SET_VALUE && span_known(now.value) ? decimal(now.value) : -1;
}

static int64_t total(struct sum *sum);

/* N, NAME, $NAME, ${NAME}, (...) */
static int64_t operand(struct sum *sum)
{
	size_t length = 0;
	int64_t value = -1;
	char begin = peek(sum);

	if (begin == '(' && sum->depth < DEEPEST) {
		skip(sum, 1);
		sum->depth++;
		value = total(sum);
		sum->depth--;
		sum->failed |= peek(sum) != ')';
		if (!sum->failed)
			skip(sum, 1);
		return value;
	}
	if (begin == '$') {
		bool braces;

		skip(sum, 1);
		braces = sum->rest.length && *sum->rest.text == '{';
		skip(sum, braces);
		length = shell_name(sum->rest);
		if (length)
			value = variable(sum, length);
		sum->failed |= braces && (!sum->rest.length || *sum->rest.text != '}');
		if (braces && !sum->failed)
			skip(sum, 1);
	} else if (is_digit(begin)) {
		length = span_digits(sum->rest);
		value = decimal((struct span){sum->rest.text, length});
		skip(sum, length);
	} else if ((length = shell_name(sum->rest))) {
		value = variable(sum, length);
	}
	sum->failed |= value < 0;
	return value;
}

static int64_t product(struct sum *sum)
{
	int64_t value = operand(sum);

	for (char sign; !sum->failed && (sign = peek(sum)) && strchr("*/%", sign);) {
		int64_t by;

		skip(sum, 1);
		by = operand(sum);
		if (sum->failed || (sign != '*' && !by) ||
		    (sign == '*' && by && value > INT32_MAX / by)) {
			sum->failed = true;
			return -1;
		}
		value = sign == '*' ? value * by : sign == '/' ? value / by : value % by;
	}
	return value;
}

static int64_t total(struct sum *sum)
{
	int64_t value = product(sum);

	for (char sign; !sum->failed && ((sign = peek(sum)) == '+' || sign == '-');) {
		int64_t by;

		skip(sum, 1);
		by = product(sum);
		value = sign == '+' ? value + by : value - by;
		sum->failed |= value < 0 || value > INT32_MAX;
	}
	return value;
}

int64_t shell_calculate(struct shell *sh, struct span text)
{
	struct sum sum = {.sh = sh, .rest = text};
	int64_t value = total(&sum);

	return sum.failed || peek(&sum) ? -1 : value;
}

/* SPDX-License-Identifier: MIT */
/* See ticks.h. */
#include "report/ticks.h"

#include <math.h>
#include <stdio.h>

/* The least 1, 2 or 5 times a power of ten that is not below value. */
static double round_up(double value)
{
	double power = pow(10, floor(log10(value)));
	static const double factors[] = {1, 2, 5};

	for (int i = 0; i < 3; i++)
		if (factors[i] * power >= value * (1 - 1e-9))
			return factors[i] * power;
	return 10 * power;
}

void ticks_linear(struct ticks *ticks, double lo, double hi, int max, double least)
{
	double step = round_up(fmax((hi - lo) / max, fmax(least, 1e-300)));
	double slack = step * 1e-6;

	ticks->count = 0;
	ticks->step = step;
	for (double at = ceil((lo - slack) / step); at * step <= hi + slack; at++) {
		if (ticks->count == MAX_TICKS)
			break;
		ticks->values[ticks->count++] = at == 0 ? 0 : at * step;
	}
}

void ticks_log(struct ticks *ticks, double lo, double hi)
{
	static const int factors[] = {1, 2, 5};
	int first = (int)floor(log10(lo)), last = (int)floor(log10(hi));
	int every = (last - first) / 8 + 1, few = last - first <= 3 ? 3 : 1;

	ticks->count = 0;
	ticks->step = 0;
	for (int power = first; power <= last; power++)
		for (int i = 0; i < few; i++) {
			double value = factors[i] * pow(10, power);

			if (power % every == 0 && value >= lo * (1 - 1e-9) &&
			    value <= hi * (1 + 1e-9) && ticks->count < MAX_TICKS)
				ticks->values[ticks->count++] = value;
		}
}

const char *tick_text(char text[NUMBER_TEXT], const struct ticks *ticks, int i)
{
	double value = ticks->values[i], size = ticks->step;

	if (fabs(value) >= 1e7 || (value != 0 && (size > 0 ? size : value) < 1e-4)) {
		int power = (int)floor(log10(fabs(value)) + 1e-9);
		char digits[NUMBER_TEXT];

		number_fixed(digits, value / pow(10, power), 4);
		snprintf(text, NUMBER_TEXT, "%.20se%d", digits, power);
		return text;
	}
	if (size == 0)
		return number_fixed(text, value, 4);
	return number_decimals(text, value, size < 1 ? (int)ceil(-log10(size) - 1e-9) : 0);
}

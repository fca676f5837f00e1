/* SPDX-License-Identifier: MIT */
/* See plot.h. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/svg.h"
#include "report/ticks.h"

enum { WIDTH = 960, HEIGHT = 600, LEFT = 76, RIGHT = WIDTH - 36, MAX_DOTS = 60 };

static const char style[] =
	".train{stroke:#5b9bd5;stroke-opacity:.55;stroke-width:1}"
	".smooth{stroke:#2f7fd1;stroke-width:2}.test{stroke:#e07b00;stroke-width:2}"
	".bad{stroke:#e03131;stroke-width:1.5}"
	"circle.train,circle.smooth{fill:#2f7fd1;stroke:none}circle.test{fill:#e07b00;stroke:none}";

/* One of the two panels. */
struct panel {
	struct svg *svg;
	double top, bottom; /* pixels */
	double x_lo, x_hi, y_lo, y_hi;
	bool log;
};

static double x_of(const struct panel *p, double step)
{
	return LEFT + (RIGHT - LEFT) * (step - p->x_lo) / (p->x_hi - p->x_lo);
}

static double y_of(const struct panel *p, double value)
{
	double part;

	if (p->log)
		part = log(fmax(value, p->y_lo) / p->y_lo) / log(p->y_hi / p->y_lo);
	else
		part = (value - p->y_lo) / (p->y_hi - p->y_lo);
	return p->bottom - (p->bottom - p->top) * part;
}

void plot_step(struct plot *plot, const struct step_metrics *step)
{
	if (!plot)
		return;
	curve_add(&plot->loss, step->step, step->loss);
	if (!step->skipped || step->accuracy == step->accuracy)
		curve_add(&plot->accuracy, step->step, step->accuracy);
}

void plot_evaluation(struct plot *plot, const struct evaluation_metrics *evaluation)
{
	if (!plot)
		return;
	curve_add(&plot->test_loss, evaluation->step, evaluation->loss);
	curve_add(&plot->test_accuracy, evaluation->step, evaluation->accuracy);
}

/* --- axes ------------------------------------------------------------------------- */

static void draw_axes(const struct panel *p, const char *label, bool steps_below)
{
	struct ticks ticks;
	char text[NUMBER_TEXT];

	if (p->log)
		ticks_log(&ticks, p->y_lo, p->y_hi);
	else
		ticks_linear(&ticks, p->y_lo, p->y_hi, (int)((p->bottom - p->top) / 30), 0);
	for (int i = 0; i < ticks.count; i++) {
		double y = y_of(p, ticks.values[i]);

		drawing_line(p->svg, LEFT, y, RIGHT, y, "faint");
		drawing_text(p->svg, LEFT - 6, y + 4, "small end", tick_text(text, &ticks, i));
	}
	ticks_linear(&ticks, p->x_lo, p->x_hi, 9, 1);
	for (int i = 0; i < ticks.count; i++) {
		double x = x_of(p, ticks.values[i]);

		drawing_line(p->svg, x, p->top, x, p->bottom, "faint");
		drawing_line(p->svg, x, p->bottom, x, p->bottom + 4, "axis");
		if (steps_below)
			drawing_text(p->svg, x, p->bottom + 18, "small middle",
				     tick_text(text, &ticks, i));
	}
	drawing_line(p->svg, LEFT, p->top, LEFT, p->bottom, "axis");
	drawing_line(p->svg, LEFT, p->bottom, RIGHT, p->bottom, "axis");
	drawing_text_upwards(p->svg, 18, (p->top + p->bottom) / 2, label);
	if (steps_below)
		drawing_text(p->svg, (LEFT + RIGHT) / 2.0, p->bottom + 38, "middle", "step");
}

static void set_range(struct panel *p, const struct curve *a, const struct curve *b)
{
	const struct curve *curves[] = {a, b};
	double lo = INFINITY, hi = -INFINITY, min, max;

	for (int i = 0; i < 2; i++)
		if (curve_range(curves[i], &min, &max)) {
			lo = fmin(lo, min);
			hi = fmax(hi, max);
		}
	if (!(lo <= hi)) {
		lo = 0;
		hi = 1;
	}
	p->log = lo > 0 && hi / 100 >= lo;
	if (p->log) {
		double margin = pow(hi / fmax(lo, hi * 1e-12), 0.04);

		p->y_lo = fmax(lo, hi * 1e-12) / margin;
		p->y_hi = hi * margin;
		return;
	}
	if (lo == hi) {
		lo -= fabs(lo) / 10 + 1e-3;
		hi += fabs(hi) / 10 + 1e-3;
	}
	p->y_lo = lo >= 0 && lo < hi / 2 ? 0 : lo - (hi - lo) * 0.05;
	p->y_hi = hi + (hi - lo) * 0.05;
}

/* --- curves ----------------------------------------------------------------------- */

static void draw_extremes(const struct panel *p, const struct curve_bucket *b)
{
	int64_t first = b->at_min < b->at_max ? b->at_min : b->at_max;
	double at_first = first == b->at_min ? b->min : b->max;

	drawing_path_point(p->svg, x_of(p, (double)first), y_of(p, at_first));
	if (b->at_min != b->at_max)
		drawing_path_point(p->svg, x_of(p, (double)(b->at_min + b->at_max - first)),
				   y_of(p, b->min + b->max - at_first));
}

static bool is_gap(const struct curve_bucket *b)
{
	return b->bad && !b->count;
}

static void draw_line(const struct panel *p, const struct curve *curve, const char *class)
{
	drawing_path_begin(p->svg, class);
	for (int i = 0; i < curve->used; i++) {
		if (is_gap(&curve->buckets[i]))
			drawing_path_gap(p->svg);
		else if (curve->buckets[i].count)
			draw_extremes(p, &curve->buckets[i]);
	}
	drawing_path_end(p->svg);
}

/* Few values are dots, and so are single values between gaps, which a line would not show. */
static void draw_dots(const struct panel *p, const struct curve *curve, const char *class, int max)
{
	bool all = curve_count(curve) <= max;
	const struct curve_bucket *b = curve->buckets;
	int before = -1;

	for (int i = 0; i < curve->used; i++) {
		int after = i + 1;

		if (!b[i].count && !b[i].bad)
			continue;
		while (after < curve->used && !b[after].count && !b[after].bad)
			after++;
		if (b[i].count && (all || ((before < 0 || is_gap(&b[before])) &&
					   (after >= curve->used || is_gap(&b[after])))))
			drawing_dot(p->svg, x_of(p, (double)b[i].at_max), y_of(p, b[i].max), 2.5,
				    class);
		before = i;
	}
}

static void draw_smooth(const struct panel *p, const struct curve *curve, const char *class)
{
	double deviation = curve->used / 80.0;
	int every = curve->used / 250 + 1;

	drawing_path_begin(p->svg, class);
	for (int i = 0; i < curve->used; i++) {
		const struct curve_bucket *b = &curve->buckets[i];
		bool last = i == curve->used - 1;

		if (is_gap(b))
			drawing_path_gap(p->svg);
		else if (b->count && (i % every == 0 || last))
			drawing_path_point(p->svg, x_of(p, (double)(b->at_min + b->at_max) / 2),
					   y_of(p, curve_smooth(curve, i, deviation)));
	}
	drawing_path_end(p->svg);
}

static void draw_bad(const struct panel *p, const struct curve *curve)
{
	double before = -WIDTH;

	for (int i = 0; i < curve->used; i++) {
		double x = x_of(p, (double)curve->buckets[i].at_bad);

		if (!curve->buckets[i].bad || x < before + 10)
			continue;
		drawing_cross(p->svg, x, p->top + 6, 3, "bad");
		before = x;
	}
}

static void draw_panel(const struct panel *p, const struct curve *train, const struct curve *test)
{
	if (curve_count(train) > MAX_DOTS) {
		draw_line(p, train, "train");
		draw_smooth(p, train, "smooth");
		draw_dots(p, train, "train", 0);
	} else {
		draw_line(p, train, "smooth");
		draw_dots(p, train, "smooth", MAX_DOTS);
	}
	draw_line(p, test, "test");
	draw_dots(p, test, "test", MAX_DOTS);
	draw_bad(p, train);
	draw_bad(p, test);
}

/* --- legend and all --------------------------------------------------------------- */

static double draw_key(struct svg *svg, double x, const char *class, const char *text)
{
	if (strcmp(class, "bad") == 0) {
		drawing_cross(svg, x + 10, 46, 3, class);
	} else {
		drawing_path_begin(svg, class);
		drawing_path_point(svg, x, 46);
		drawing_path_point(svg, x + 20, 46);
		drawing_path_end(svg);
	}
	drawing_text(svg, x + 26, 50, "", text);
	return x + 26 + text_width(SVG_FONT, text, strlen(text)) + 18;
}

static void draw_legend(struct svg *svg, const struct plot *plot)
{
	int64_t bad = curve_bad(&plot->loss), tests = curve_count(&plot->test_loss);
	double x = LEFT;
	char text[64];

	if (curve_count(&plot->loss) > MAX_DOTS) {
		x = draw_key(svg, x, "train", "training");
		x = draw_key(svg, x, "smooth", "training, smoothed");
	} else if (curve_count(&plot->loss)) {
		x = draw_key(svg, x, "smooth", "training");
	}
	if (tests || curve_count(&plot->test_accuracy))
		x = draw_key(svg, x, "test", "test");
	bad += curve_bad(&plot->test_loss);
	snprintf(text, sizeof(text), "not finite (%lld)", (long long)bad);
	if (bad)
		draw_key(svg, x, "bad", text);
}

static void set_steps(struct panel *p, const struct plot *plot)
{
	const struct curve *curves[] = {&plot->loss, &plot->accuracy, &plot->test_loss,
					&plot->test_accuracy};

	p->x_lo = INFINITY;
	p->x_hi = -INFINITY;
	for (int i = 0; i < 4; i++)
		if (curves[i]->width) {
			p->x_lo = fmin(p->x_lo, (double)curves[i]->first);
			p->x_hi = fmax(p->x_hi, (double)curves[i]->last);
		}
	if (!(p->x_lo <= p->x_hi))
		p->x_lo = p->x_hi = 0;
	/* A run from its beginning has 0 on the axis. */
	if (p->x_lo <= 1 + p->x_hi / 50)
		p->x_lo = 0;
	if (p->x_lo == p->x_hi)
		p->x_hi += 1;
}

static void draw(struct svg *svg, const struct plot *plot, const char *title)
{
	struct panel p = {.svg = svg, .top = 70, .bottom = HEIGHT - 50};
	struct panel below = {.svg = svg, .top = 380, .bottom = HEIGHT - 50, .y_hi = 1};
	bool two = curve_count(&plot->accuracy) || curve_count(&plot->test_accuracy);
	bool empty = !plot->loss.width && !plot->test_loss.width;
	size_t length = strnlen(title, 512), n = text_cut(SVG_TITLE, title, length, RIGHT - LEFT);
	char cut[512 + sizeof(ELLIPSIS)];

	snprintf(cut, sizeof(cut), "%.*s%s", (int)n, title, n < length ? ELLIPSIS : "");
	drawing_text(svg, LEFT, 26, "title", cut);
	draw_legend(svg, plot);
	if (two)
		p.bottom = 350;
	set_steps(&p, plot);
	below.x_lo = p.x_lo;
	below.x_hi = p.x_hi;
	set_range(&p, &plot->loss, &plot->test_loss);
	draw_axes(&p, p.log ? "loss (logarithmic)" : "loss", !two);
	draw_panel(&p, &plot->loss, &plot->test_loss);
	if (two) {
		draw_axes(&below, "accuracy", true);
		draw_panel(&below, &plot->accuracy, &plot->test_accuracy);
	}
	if (empty)
		drawing_text(svg, (LEFT + RIGHT) / 2.0, (p.top + p.bottom) / 2, "middle",
			     "no step was done");
}

bool plot_svg(const struct plot *plot, const char *file, const char *title,
	      struct train_error *error)
{
	struct svg svg;

	if (!drawing_open(&svg, file, WIDTH, HEIGHT, style, error))
		return false;
	draw(&svg, plot, title);
	return drawing_close(&svg, error);
}

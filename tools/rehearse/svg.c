/* SPDX-License-Identifier: MIT */
/* A rehearsal as a picture: each GPU once, with the tensors that each rank had on it. */
#include "rehearse/rehearse.h"

#include <stdio.h>

#include "explain/svg.h"

enum {
	MAX_GPUS = 16,
	MAX_TENANTS = 12, /* on one GPU */
	ROW = 24,
	BAR = 200,
	BAR_X = 330,
	INSET = 14,
	GAP = 10,
	NAME_WIDTH = 150
};

/* A process on a GPU. */
struct tenant {
	const struct rehearsed *process;
	const json_t *device;
	bool stray;
};

struct used_gpu {
	const struct rehearsed *process; /* the first that used it */
	const json_t *device;
	struct tenant tenants[MAX_TENANTS];
	size_t count; /* of all tenants */
};

struct used_gpus {
	struct used_gpu list[MAX_GPUS];
	size_t count; /* of all GPUs */
	int64_t most; /* the highest peak, in bytes */
};

static struct used_gpu *find_gpu(struct used_gpus *gpus, const struct rehearsed *process,
				 const json_t *device)
{
	size_t kept = gpus->count < MAX_GPUS ? gpus->count : MAX_GPUS;

	for (size_t i = 0; i < kept; i++)
		if (rehearsed_same_host(gpus->list[i].process, process) &&
		    rehearsed_same_gpu(gpus->list[i].device, device))
			return &gpus->list[i];
	if (gpus->count++ >= MAX_GPUS)
		return NULL;
	gpus->list[kept] = (struct used_gpu){.process = process, .device = device};
	return &gpus->list[kept];
}

static void find_gpus(struct used_gpus *gpus, const struct rehearsal *r)
{
	for (size_t p = 0; p < r->count; p++) {
		const struct rehearsed *process = &r->processes[p];
		const json_t *devices = rehearsed_list(process->record, "devices");

		for (size_t i = 0; i < json_array_size(devices); i++) {
			const json_t *device = json_array_get(devices, i);
			int64_t peak = rehearsed_number(device, "peak_bytes");
			struct used_gpu *gpu = peak > 0 ? find_gpu(gpus, process, device) : NULL;

			if (!gpu)
				continue;
			if (gpu->count < MAX_TENANTS)
				gpu->tenants[gpu->count] = (struct tenant){
					process, device,
					device != process->home &&
						rehearsal_owner(r, process, device)};
			gpu->count++;
			gpus->most = peak > gpus->most ? peak : gpus->most;
		}
	}
}

/* "rank 1  cuda:0  [====   ]  1.5 MiB  train.py:35" */
static void draw_tenant(struct page *page, const struct used_gpus *gpus,
			const struct tenant *tenant)
{
	int64_t peak = rehearsed_number(tenant->device, "peak_bytes");
	const json_t *most = json_array_get(rehearsed_list(tenant->device, "peak_places"), 0);
	const char *ink = tenant->stray ? COLOUR_UNSURE : COLOUR_INK;
	struct box bar = {.x = MARGIN + BAR_X,
			  .y = page->y - 11,
			  .width = (int)(BAR * (double)peak / (double)gpus->most),
			  .height = 12,
			  .fill = tenant->stray ? COLOUR_UNSURE_CARD : COLOUR_CHOSEN_CARD,
			  .line = tenant->stray ? COLOUR_UNSURE_LINE : COLOUR_CHOSEN};
	struct strbuf text = {0};

	rehearsed_who(&text, tenant->process);
	strbuf_printf(&text, ", cuda:%lld", (long long)rehearsed_number(tenant->device, "logical"));
	svg_text(page->buf, MARGIN + INSET + NAME_WIDTH, page->y, INK(.size = 12, .fill = ink), 160,
		 text.text ? text.text : "");
	bar.width = bar.width > 3 ? bar.width : 3;
	svg_box(page->buf, &bar);
	text.length = 0;
	rehearsed_size(&text, peak);
	strbuf_printf(&text, "  %.512s%s", rehearsed_text(most, "place"),
		      tenant->stray ? ", the GPU of another rank" : "");
	svg_text(page->buf, bar.x + BAR + 12, page->y, INK(.size = 12, .fill = ink),
		 page->width - MARGIN - INSET - bar.x - BAR - 12, text.text ? text.text : "");
	scratch_free(page->buf, &text);
	page->y += ROW;
}

static void draw_gpu(struct page *page, const struct used_gpus *gpus, const struct used_gpu *gpu)
{
	size_t kept = gpu->count < MAX_TENANTS ? gpu->count : MAX_TENANTS;
	struct box box = {.x = MARGIN,
			  .y = page->y,
			  .width = page_inner(page),
			  .height = ROW * (int)(kept + (kept < gpu->count)) + 12,
			  .fill = COLOUR_CARD,
			  .line = COLOUR_LINE};
	struct strbuf text = {0};

	svg_box(page->buf, &box);
	page->y += 22;
	rehearsed_gpu(&text, gpu->device);
	strbuf_printf(&text, "  %.128s", rehearsed_text(gpu->device, "name"));
	svg_text(page->buf, MARGIN + INSET, page->y,
		 INK(.size = 13, .fill = COLOUR_INK, .bold = true), NAME_WIDTH - GAP,
		 text.text ? text.text : "");
	for (size_t i = 0; i < kept; i++)
		draw_tenant(page, gpus, &gpu->tenants[i]);
	if (kept < gpu->count)
		svg_text(page->buf, MARGIN + INSET + NAME_WIDTH, page->y,
			 INK(.size = 12, .fill = COLOUR_MUTED), 300,
			 FORMAT("... %zu more processes", gpu->count - kept));
	page->y = box.y + box.height + GAP;
	scratch_free(page->buf, &text);
}

static void draw_line(void *data, const char *line)
{
	struct page *page = data;
	const struct ink *ink = INK(.size = 12, .fill = COLOUR_MUTED);

	page->y += svg_leading(ink) * svg_paragraph(page->buf, MARGIN + INSET, page->y + 12, ink,
						    page_inner(page) - INSET, 2, line);
}

static void draw_below(struct page *page, const struct rehearsal *r, const struct used_gpus *gpus)
{
	const struct ink *ink = INK(.size = 12, .fill = COLOUR_MUTED);

	if (gpus->count > MAX_GPUS) {
		svg_text(page->buf, MARGIN, page->y + 10, ink, 300,
			 FORMAT("... %zu more GPUs", gpus->count - MAX_GPUS));
		page->y += LINE_HEIGHT;
	}
	page->y += 6;
	svg_text(page->buf, MARGIN, page->y + 10, INK(.size = 13, .fill = COLOUR_INK, .bold = true),
		 300, "Not rehearsed");
	page->y += LINE_HEIGHT;
	rehearsal_each_not(r, draw_line, page);
	page->y += 8;
}

void rehearsal_svg(struct strbuf *buf, const struct rehearsal *r, const gpumap_report *report)
{
	struct strbuf body = {0}, title = {0};
	struct page page = {.buf = &body, .width = MIN_WIDTH + 60, .y = MARGIN - 8};
	struct used_gpus gpus = {.most = 0};

	find_gpus(&gpus, r);
	rehearsal_title(&title, r);
	page_headline(&page, !r->status, title.text ? title.text : "");
	page_findings(&page, report, GPUMAP_SEVERITY_WARNING, GPUMAP_SEVERITY_ERROR);
	for (size_t i = 0; i < gpus.count && i < MAX_GPUS; i++)
		draw_gpu(&page, &gpus, &gpus.list[i]);
	draw_below(&page, r, &gpus);
	page_findings(&page, report, GPUMAP_SEVERITY_REMARK, GPUMAP_SEVERITY_REMARK);
	page_frame(buf, &page, title.text ? title.text : "");
	scratch_free(buf, &body);
	scratch_free(buf, &title);
}

/* SPDX-License-Identifier: MIT */
/* Samplers and loaders of data: an order that is the same in every epoch, and two orders at once.
 */
#include "lint/python_file.h"

static bool is_sampler(const char *path)
{
	return starts_with(path, "torch.utils.data.") && text_ends(path, ".DistributedSampler");
}

static bool is_loader(const char *path)
{
	return span_is_any(span_of(path),
			   "torch.utils.data.DataLoader torch.utils.data.dataloader.DataLoader");
}

/* Whether an argument is there and is this word. */
static bool argument_is(const struct python_file *f, unsigned open, const char *name, int place,
			const char *word, bool missing)
{
	struct python_argument a;

	if (!python_argument_find(f, open, name, place, &a))
		return missing;
	return a.past == a.first + 1 && token_is(token_at(f, a.first), word);
}

struct python_object loading_value(struct python_file *f, unsigned first, unsigned past)
{
	struct python_object o = object_nothing;
	const struct python_object *known;
	char path[MAX_PATH];
	struct span chain;
	unsigned end = first < past ? python_chain(f, first, &chain) : 0;
	const char *last;

	if (!end || end > past)
		return o;
	if (end == past) {
		known = objects_find(f, chain);
		return known && known->kind == OBJECT_SAMPLER ? *known : o;
	}
	if (!is_at(f, end, past, "(") || token_at(f, end)->past != past)
		return o;
	last = objects_last(python_path(f, chain, path));
	/* A class by that name of any package; a function may return None. */
	if (text_ends(last, "Sampler") && is_upper(*last)) {
		o.kind = OBJECT_SAMPLER;
		o.shuffles = is_sampler(path) && !python_hides_arguments(f, end) &&
			     argument_is(f, end, "shuffle", 3, "True", true);
	}
	return o;
}

static void see_loader(struct python_file *f, unsigned at, unsigned open)
{
	static const struct {
		const char *name;
		int place;
	} samplers[] = {{"sampler", 3}, {"batch_sampler", 4}};
	struct python_argument a;

	for (size_t i = 0; i < ARRAY_SIZE(samplers); i++) {
		if (!python_argument_find(f, open, samplers[i].name, samplers[i].place, &a) ||
		    loading_value(f, a.first, a.past).kind != OBJECT_SAMPLER ||
		    !argument_is(f, open, "shuffle", 2, "True", false))
			continue;
		observation_add(f, OBSERVED_SHUFFLE, token_at(f, at))->name =
			span_of(samplers[i].name);
	}
}

void loading_call(struct python_file *f, const char *path, unsigned at, unsigned open)
{
	if (is_loader(path))
		see_loader(f, at, open);
	else if (is_sampler(path) && !block_now(f)->epochs &&
		 loading_value(f, at, token_at(f, open)->past).shuffles)
		observation_add(f, OBSERVED_SAMPLER, token_at(f, at));
}

/* for epoch in range(EPOCHS): the name shows what is counted. */
void loading_loop(struct python_file *f, unsigned first, unsigned past)
{
	struct span name = token_at(f, first)->text;
	bool epoch = name.length >= 2 && name.length < 16;
	unsigned open = 0;

	if (!is_at(f, first + 1, past, "in"))
		return;
	for (unsigned i = first + 2; i + 1 < past && !open; i++)
		if (token_is(token_at(f, i), "range") && token_is(token_at(f, i + 1), "("))
			open = i + 1;
	epoch = epoch &&
		(span_has(name, "epoch") || span_has(name, "Epoch") || span_is(name, "ep"));
	/* for i in range(num_epochs) */
	for (unsigned i = open; open && i < past; i++)
		epoch |= span_has(token_at(f, i)->text, "epoch");
	if (!open || !epoch)
		return;
	block_now(f)->epochs = true;
	if (python_argument_value(f, open, "stop", 0).number == 1)
		return;
	f->training.epochs = true;
}

void judge_sampler(const struct python_judge *judge, const struct observation *s)
{
	judge_report(
		judge, s, FINDING_SAMPLER_AND_SHUFFLE, NULL,
		"leave shuffle out; the sampler shuffles: DistributedSampler(data, shuffle=True)",
		"DataLoader has both %.*s= and shuffle=True, which exclude each other: it raises "
		"ValueError",
		(int)s->name.length, s->name.text);
}

void judge_epochs(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;
	const struct python_training *t = &f->training;

	/* Code elsewhere, or a framework, may call it. */
	if (t->sets_epoch || !t->epochs || !t->groups || t->foreign || f->facts.frameworks ||
	    f->facts.tests || observation_first(f, s->kind) != s)
		return;
	judge_report(judge, s, FINDING_SAME_ORDER, NULL,
		     "call sampler.set_epoch(epoch) at the beginning of each epoch",
		     "DistributedSampler shuffles, but set_epoch() is never called: every epoch "
		     "has the data in the same order");
}

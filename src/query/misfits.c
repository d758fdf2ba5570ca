/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/misfits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"

static struct ptrc_misfit_type *type_of(struct ptrc_misfit_types *t, const char *name,
					const struct ptrc_layout *layout)
{
	struct ptrc_misfit_type *type;

	for (size_t i = 0; i < t->count; i++)
		if (t->types[i].layout == layout && !strcmp(t->types[i].name, name))
			return &t->types[i];
	type = ptrc_append(t->types, t->count);
	*type = (struct ptrc_misfit_type){.name = ptrc_cli_copy(name), .layout = layout};
	return type;
}

void ptrc_misfits_take(struct ptrc_misfit_types *t, const struct ptrc_reader *r)
{
	for (size_t id = 0; id < PTRC_READER_IDS; id++) {
		const struct ptrc_type *type = r->types[id];

		if (type && ptrc_misfits_sum(&type->misfits))
			ptrc_misfits_add(&type_of(t, type->name.text, type->layout)->sum,
					 &type->misfits);
	}
}

void ptrc_misfits_forget(struct ptrc_reader *r)
{
	for (size_t id = 0; id < PTRC_READER_IDS; id++)
		if (r->types[id])
			r->types[id]->misfits = (struct ptrc_misfits){0};
}

static void report(const struct ptrc_misfit_type *type)
{
	const struct ptrc_misfits *m = &type->sum;
	unsigned long long sum = ptrc_misfits_sum(m);
	bool is_open;
	size_t wanted = ptrc_layout_size(type->layout, &is_open);
	char bytes[100];
	char what[200];

	if (m->least == m->most)
		snprintf(bytes, sizeof(bytes), "%zu byte%s", m->least, m->least == 1 ? "" : "s");
	else
		snprintf(bytes, sizeof(bytes), "%zu to %zu bytes", m->least, m->most);
	if (sum == m->not_json_count)
		snprintf(what, sizeof(what), "is not the JSON that the layout wants");
	else if (is_open && (sum != m->short_count || m->least >= wanted))
		snprintf(what, sizeof(what), "has %s, which the layout does not fit", bytes);
	else
		snprintf(what, sizeof(what), "has %s, the layout wants %s%zu", bytes,
			 is_open ? "at least " : "", wanted);
	ptrc_cli_message(type->name, "the data of %llu event%s %s", sum, sum == 1 ? "" : "s", what);
}

void ptrc_misfits_report(const struct ptrc_misfit_types *t)
{
	for (size_t i = 0; i < t->count; i++)
		report(&t->types[i]);
}

uint64_t ptrc_misfits_count(const struct ptrc_misfit_types *t)
{
	uint64_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += ptrc_misfits_sum(&t->types[i].sum);
	return count;
}

void ptrc_misfits_json(const struct ptrc_misfit_types *t, struct ptrc_json *j)
{
	ptrc_json_open(j, "misfits", '[');
	for (size_t i = 0; i < t->count; i++) {
		const struct ptrc_misfit_type *type = &t->types[i];
		bool is_open;

		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "event", type->name, strlen(type->name));
		ptrc_json_u64(j, "count", ptrc_misfits_sum(&type->sum));
		ptrc_json_u64(j, "too_short", type->sum.short_count);
		ptrc_json_u64(j, "too_long", type->sum.rest_count);
		ptrc_json_u64(j, "not_json", type->sum.not_json_count);
		ptrc_json_u64(j, "least_bytes", type->sum.least);
		ptrc_json_u64(j, "most_bytes", type->sum.most);
		ptrc_json_u64(j, "layout_bytes", ptrc_layout_size(type->layout, &is_open));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

void ptrc_misfits_free(struct ptrc_misfit_types *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->types[i].name);
	free(t->types);
	*t = (struct ptrc_misfit_types){0};
}

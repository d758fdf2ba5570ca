/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/fields/when.h"

static void free_case(struct ptrc_case *c)
{
	free(c->text);
	free(c->line);
	free(c->other_line);
	free(c->name);
}

static bool is_earlier(const struct ptrc_moment *a, const struct ptrc_moment *b)
{
	return a->ns != b->ns		? a->ns < b->ns
	       : a->source != b->source ? a->source < b->source
					: a->tid < b->tid;
}

void ptrc_cases_add(struct ptrc_cases *cases, uint64_t weight, const struct ptrc_moment *at,
		    const struct ptrc_moment *other, const char *format, ...)
{
	struct ptrc_case c = {.weight = weight, .at = *at, .has_other = other};
	size_t place = cases->count;
	va_list values;

	while (place && (cases->list[place - 1].weight < weight ||
			 (cases->list[place - 1].weight == weight &&
			  is_earlier(at, &cases->list[place - 1].at))))
		place--;
	if (place == PTRC_CASES)
		return;
	if (other)
		c.other = *other;
	va_start(values, format);
	if (vasprintf(&c.text, format, values) < 0)
		ptrc_cli_no_memory();
	va_end(values);
	if (cases->count == PTRC_CASES)
		free_case(&cases->list[--cases->count]);
	memmove(&cases->list[place + 1], &cases->list[place],
		(cases->count - place) * sizeof(cases->list[0]));
	cases->list[place] = c;
	cases->count++;
}

void ptrc_cases_free(struct ptrc_cases *cases)
{
	for (size_t i = 0; i < cases->count; i++)
		free_case(&cases->list[i]);
}

static bool is_same_thread(const struct ptrc_moment *a, const struct ptrc_moment *b)
{
	return a->source == b->source && a->pid == b->pid && a->tid == b->tid;
}

bool ptrc_trial_is_near(const struct ptrc_trial *t, const struct ptrc_moment *a,
			const struct ptrc_moment *b)
{
	int64_t distance = ptrc_when_subtract(a->ns, b->ns);

	return distance <= t->tolerance_ns && distance >= -t->tolerance_ns && !is_same_thread(a, b);
}

void ptrc_recent_add(struct ptrc_recent *r, const struct ptrc_moment *at)
{
	if (r->has_last && !is_same_thread(&r->last, at)) {
		r->has_other = true;
		r->other = r->last;
	}
	r->has_last = true;
	r->last = *at;
}

bool ptrc_trial_is_any_near(const struct ptrc_trial *t, const struct ptrc_recent *r,
			    const struct ptrc_moment *at)
{
	return (r->has_last && ptrc_trial_is_near(t, &r->last, at)) ||
	       (r->has_other && ptrc_trial_is_near(t, &r->other, at));
}

void ptrc_trial_compare_clocks(struct ptrc_trial *t, const struct ptrc_moment *from,
			       const struct ptrc_moment *to, uint64_t count)
{
	const struct ptrc_hosts *h = t->hosts;
	int64_t length_ns = ptrc_when_subtract(to->ns, from->ns);
	int64_t error_ns;

	if (!h || t->limit_ns < 0 || h->host_of[from->source] == h->host_of[to->source])
		return;
	error_ns = ptrc_when_add(ptrc_hosts_bound(h, from->source, from->ns),
				 ptrc_hosts_bound(h, to->source, to->ns));
	if (error_ns <= t->limit_ns || ptrc_when_distance(length_ns, t->limit_ns) >= error_ns)
		return;
	t->unclear += count;
	if (error_ns > t->clock_error_ns)
		t->clock_error_ns = error_ns;
}

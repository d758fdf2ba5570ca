/* SPDX-License-Identifier: MIT */
/*
 * The formats of flame graphs, folded and speedscope. If the logs have samples of stacks, a flame graph shows
 * these, otherwise the pairs of events on each thread: the time of a pair is that in which no pair within it was
 * open. If two pairs overlap, the end of the earlier one ends the later one, too.
 *
 * Folded stacks are lines, each with a stack and a sum. A file of speedscope has one thread after the other, so the
 * steps of each thread are kept in a temporary file until the end.
 */
#include "config.h"
#include "src/export/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/json.h"
#include "src/base/scope.h"

/* The number of records in a piece, which is what is written to the temporary file at a time. */
enum { PIECE_RECORDS = 256 };

/* The most frames in a line of folded stacks. n nested frames make n lines of up to n frames each, so without
 * this limit the output could grow with n * n. */
enum { FOLDED_DEPTH_MAX = 1000 };

enum record_kind { OPENS, CLOSES, SAMPLE };

/* A step of a thread: a frame is opened or closed, or a sample was taken. */
struct record {
	uint64_t ns;
	/* The number of the frame. For a sample, the number of its stack. */
	uint32_t frame;
	uint32_t kind;
};

struct level {
	/* The span of this open frame. The pointer is only compared, never followed: at the end of the
	 * events, an open span is freed before its level ends. */
	const struct ptrc_span *span;
	const struct ptrc_source *source;
	uint32_t frame;
	uint32_t stack;
};

/* The content of a profile: the thread `lane` or, if that is NULL, the losses of the log `source`. */
struct track {
	const struct ptrc_export_lane *lane;
	const struct ptrc_source *source;
	struct level *levels;
	size_t depth;
	/* For folded stacks: the stack that has only the name of the program that the process executes; the program's
	 * number in the log; and whether the process executes no other one after it. */
	uint32_t root;
	unsigned long program;
	bool is_last_program;
	uint64_t last_ns;
	/* Whether the selected time has started, and whether it has ended. Records are kept between the two. */
	bool has_begun;
	bool is_over;
	struct record *records;
	size_t record_count;
	/* The offsets of the track's pieces (PIECE_RECORDS records each) in the temporary file. */
	uint64_t *pieces;
	size_t piece_count;
};

struct stacks {
	bool is_folded;
	struct track **tracks;
	size_t track_count;
	/* For each source, the track of its losses; NULL if it has none yet. */
	struct track **losses;
	/* The number of frames that were nested too deep for folded stacks. */
	uint64_t deep_count;
	FILE *spool;
	uint64_t spool_bytes;
};

static struct track *add_track(struct stacks *st, const struct ptrc_export_lane *lane,
			       const struct ptrc_source *source)
{
	struct track *t = ptrc_cli_allocate(sizeof(*t));

	*t = (struct track){.lane = lane, .source = source};
	*ptrc_append(st->tracks, st->track_count) = t;
	return t;
}

static void set_root(struct ptrc_export *x, struct track *t, const struct ptrc_buffer *name)
{
	t->root = ptrc_flames_stack(&x->flames, 0,
				    ptrc_flames_frame(&x->flames, name->bytes, name->used));
}

/* Makes the process's program the outermost frame of the thread's stacks: a folded stack has no time that
 * would show to which of the process's programs it belongs. */
static void find_root(struct ptrc_export *x, struct track *t)
{
	const struct ptrc_reader *r = &x->source->reader;
	struct posixtrace_log_process p, last;
	PTRC_SCOPED_BUFFER name = PTRC_BUFFER_INIT;
	unsigned long program;

	if (!ptrc_lane_process(&t->lane->lane, ptrc_source_ns(x->source), &program, &p) ||
	    !p.pp_name_size) {
		if (!t->root)
			set_root(x, t, &t->lane->process->name);
		return;
	}
	if (t->root && program == t->program)
		return;
	t->program = program;
	t->is_last_program = !ptrc_reader_find_process(r, p.pp_pid, &last) ||
			     (last.pp_from.tv_sec == p.pp_from.tv_sec &&
			      last.pp_from.tv_nsec == p.pp_from.tv_nsec);
	if (r->label)
		ptrc_buffer_format(&name, "%s: ", r->label);
	ptrc_buffer_bytes(&name, p.pp_name, p.pp_name_size);
	set_root(x, t, &name);
}

static struct track *track_of(struct ptrc_export *x, struct ptrc_export_lane *lane)
{
	struct stacks *st = x->state;
	struct track *t = lane->state;

	if (!t)
		t = lane->state = add_track(st, lane, NULL);
	if (st->is_folded && !t->is_last_program)
		find_root(x, t);
	return t;
}

/* ---- the temporary file ---- */

static void __attribute__((noreturn)) spool_failed(void)
{
	ptrc_cli_error("temporary file", errno);
	ptrc_output_abandon();
	exit(ptrc_cli_failure_status());
}

static void put_aside(struct stacks *st, struct track *t, enum record_kind kind, uint32_t frame,
		      uint64_t ns)
{
	size_t bytes = PIECE_RECORDS * sizeof(struct record);

	if (st->is_folded)
		return;
	if (!t->records)
		t->records = ptrc_cli_allocate(bytes);
	t->records[t->record_count++] = (struct record){ns, frame, kind};
	if (t->record_count < PIECE_RECORDS)
		return;
	if (!st->spool)
		st->spool = tmpfile();
	if (!st->spool || fwrite(t->records, 1, bytes, st->spool) != bytes)
		spool_failed();
	*ptrc_append(t->pieces, t->piece_count) = st->spool_bytes;
	st->spool_bytes += bytes;
	t->record_count = 0;
}

/* ---- pairs ---- */

/* The start and the end of the selected time, in nanoseconds since the first event. */
static uint64_t first_ns(const struct ptrc_export *x)
{
	return ptrc_export_since_start(x, x->query->select.span.first);
}

static uint64_t last_ns(const struct ptrc_export *x)
{
	return ptrc_export_since_start(x, x->query->select.span.last);
}

/* Adds, to the innermost open frame of the track, the time from the track's last change to `now`. Only the part
 * within the selected time is added. */
static void count_time(struct ptrc_export *x, struct track *t, uint64_t now)
{
	uint64_t first = first_ns(x) > t->last_ns ? first_ns(x) : t->last_ns;
	uint64_t last = last_ns(x) < now ? last_ns(x) : now;

	if (t->depth && last > first)
		ptrc_flames_add(&x->flames, t->levels[t->depth - 1].stack, last - first);
	t->last_ns = now;
}

/* At the start of the selected time, records all open frames as opened; at its end, as closed. */
static void clip(struct ptrc_export *x, struct track *t, uint64_t now)
{
	struct stacks *st = x->state;

	if (!t->has_begun && now >= first_ns(x)) {
		t->has_begun = true;
		for (size_t i = 0; i < t->depth; i++)
			put_aside(st, t, OPENS, t->levels[i].frame, first_ns(x));
	}
	if (t->has_begun && !t->is_over && now > last_ns(x)) {
		t->is_over = true;
		for (size_t i = t->depth; i; i--)
			put_aside(st, t, CLOSES, t->levels[i - 1].frame, last_ns(x));
	}
}

static void push(struct ptrc_export *x, struct ptrc_span *k, const struct ptrc_buffer *name)
{
	struct stacks *st = x->state;
	struct track *t = track_of(x, (struct ptrc_export_lane *)k->lane);
	struct level l = {.span = k,
			  .source = k->begin.source,
			  .stack = t->depth ? t->levels[t->depth - 1].stack : t->root};
	bool is_deep = st->is_folded && t->depth >= FOLDED_DEPTH_MAX;

	count_time(x, t, x->now_ns);
	clip(x, t, x->now_ns);
	l.frame = ptrc_flames_frame(&x->flames, name->bytes, name->used);
	st->deep_count += is_deep;
	if (!is_deep)
		l.stack = ptrc_flames_stack(&x->flames, l.stack, l.frame);
	*ptrc_append(t->levels, t->depth) = l;
	if (t->has_begun && !t->is_over)
		put_aside(st, t, OPENS, l.frame, x->now_ns);
}

/* Ends frames, the innermost first, until `depth` frames are left. */
static void end_levels(struct ptrc_export *x, struct track *t, size_t depth, uint64_t now)
{
	struct stacks *st = x->state;

	count_time(x, t, now);
	clip(x, t, now);
	while (t->depth > depth) {
		t->depth--;
		if (t->has_begun && !t->is_over)
			put_aside(st, t, CLOSES, t->levels[t->depth].frame, now);
	}
}

static void pop(struct ptrc_export *x, struct ptrc_span *k)
{
	struct track *t = track_of(x, (struct ptrc_export_lane *)k->lane);

	for (size_t i = t->depth; i; i--)
		if (t->levels[i - 1].span == k) {
			end_levels(x, t, i - 1, x->now_ns);
			return;
		}
}

/* ---- samples ---- */

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct stacks *st = x->state;
	struct track *t;
	uint32_t stack;

	if (!e->type->is_sample)
		return;
	t = track_of(x, e->lane);
	stack = ptrc_flames_sample(&x->flames, x->query, x->source, t->root);
	if (stack == t->root && !t->root)
		return;
	ptrc_flames_add(&x->flames, stack, 1);
	put_aside(st, t, SAMPLE, stack, e->ns);
}

/* ---- begin and end ---- */

static void begin(struct ptrc_export *x)
{
	struct stacks *st = x->state;

	st->is_folded = x->format == &ptrc_export_folded;
	st->losses = ptrc_cli_allocate(x->query->source_count * sizeof(struct track *));
}

static void close_tracks(struct ptrc_export *x)
{
	struct stacks *st = x->state;

	for (size_t i = 0; i < st->track_count; i++)
		if (st->tracks[i]->lane)
			end_levels(x, st->tracks[i], 0, x->now_ns);
}

/* Puts the name of a frame on one line. Semicolons in it are escaped, because semicolons separate frames. */
static void put_folded(struct ptrc_buffer *b, const struct ptrc_buffer *name)
{
	PTRC_SCOPED_BUFFER text = PTRC_BUFFER_INIT;

	ptrc_text_put(&text, name->bytes, name->used);
	for (size_t i = 0; i < text.used; i++)
		if (text.bytes[i] == ';')
			ptrc_buffer_text(b, "\\x3b");
		else
			ptrc_buffer_char(b, text.bytes[i]);
}

/* Puts the frames of a stack, the outermost first: their names with semicolons between them if is_text,
 * otherwise their numbers with commas. */
static void put_stack(struct ptrc_buffer *b, const struct ptrc_flames *f, uint32_t stack,
		      bool is_text)
{
	size_t depth;
	PTRC_SCOPED uint32_t *frames = ptrc_flames_unwind(f, stack, &depth);

	for (size_t i = 0; i < depth; i++) {
		if (i)
			ptrc_buffer_char(b, is_text ? ';' : ',');
		if (is_text)
			put_folded(b, &f->frames[frames[i]]);
		else
			ptrc_buffer_u64(b, frames[i]);
	}
}

static bool end_folded(struct ptrc_export *x)
{
	struct stacks *st = x->state;
	struct ptrc_buffer *b = &x->query->out;

	close_tracks(x);
	for (uint32_t i = 1; i < x->flames.stack_count; i++) {
		if (!x->flames.stacks[i].count)
			continue;
		put_stack(b, &x->flames, i, true);
		ptrc_buffer_char(b, ' ');
		ptrc_buffer_u64(b, x->flames.stacks[i].count);
		ptrc_buffer_char(b, '\n');
		ptrc_output_write_some(&x->query->out);
	}
	if (st->deep_count)
		ptrc_cli_message(
			"folded",
			"%llu %s deeper than %d: the time of each counts for the one around "
			"it at that depth",
			(unsigned long long)st->deep_count,
			st->deep_count == 1 ? "pair was" : "pairs were", FOLDED_DEPTH_MAX);
	return true;
}

/* ---- speedscope ---- */

/* Ends all open frames of the source, because their end events may be among those that are missing. */
static void cut(struct ptrc_export *x, const struct ptrc_source *source, uint64_t ns)
{
	struct stacks *st = x->state;

	for (size_t i = 0; i < st->track_count; i++) {
		struct track *t = st->tracks[i];

		if (t->depth && t->levels[0].source == source)
			end_levels(x, t, 0, ns > t->last_ns ? ns : t->last_ns);
	}
}

static void loss(struct ptrc_export *x, const struct ptrc_export_loss *l)
{
	static const char name[] = "events lost";
	struct stacks *st = x->state;
	struct track **t = &st->losses[l->source->order];
	uint32_t frame;

	/* A profile of samples shows numbers of samples instead of times, so it has no place for a
	 * loss. */
	if (x->has_samples)
		return;
	frame = ptrc_flames_frame(&x->flames, name, sizeof(name) - 1);
	if (!*t)
		*t = add_track(st, NULL, l->source);
	put_aside(st, *t, OPENS, frame, l->begin_ns);
	put_aside(st, *t, CLOSES, frame, l->end_ns);
}

static void put_track_name(struct ptrc_buffer *b, const struct track *t)
{
	PTRC_SCOPED_BUFFER name = PTRC_BUFFER_INIT;

	if (t->lane) {
		ptrc_buffer_bytes(&name, t->lane->process->name.bytes, t->lane->process->name.used);
		ptrc_buffer_format(&name, " (%d), ", (int)t->lane->pid);
		ptrc_export_put_thread(&name, t->lane);
		ptrc_buffer_format(&name, " (%d)", (int)t->lane->tid);
	} else {
		ptrc_buffer_text(&name, "events lost: ");
		ptrc_buffer_text(&name, t->source->reader.path);
	}
	ptrc_text_json(b, name.bytes, name.used);
}

static void put_records(struct ptrc_export *x, struct track *t)
{
	struct stacks *st = x->state;
	struct ptrc_buffer *b = &x->query->out;
	size_t bytes = PIECE_RECORDS * sizeof(struct record);
	PTRC_SCOPED struct record *room = ptrc_cli_allocate(bytes);

	for (size_t i = 0; i <= t->piece_count; i++) {
		const struct record *records = i < t->piece_count ? room : t->records;
		size_t count = i < t->piece_count ? PIECE_RECORDS : t->record_count;

		if (i < t->piece_count && (fseeko(st->spool, (off_t)t->pieces[i], SEEK_SET) ||
					   fread(room, 1, bytes, st->spool) != bytes))
			spool_failed();
		for (size_t k = 0; k < count; k++) {
			const struct record *r = &records[k];

			ptrc_buffer_text(b, i || k ? ",\n" : "\n");
			if (r->kind == SAMPLE) {
				ptrc_buffer_char(b, '[');
				put_stack(b, &x->flames, r->frame, false);
				ptrc_buffer_char(b, ']');
			} else {
				ptrc_buffer_text(b, r->kind == OPENS
							    ? "{\"type\":\"O\",\"frame\":"
							    : "{\"type\":\"C\",\"frame\":");
				ptrc_buffer_u64(b, r->frame);
				ptrc_buffer_text(b, ",\"at\":");
				ptrc_buffer_u64(b, r->ns);
				ptrc_buffer_char(b, '}');
			}
			ptrc_output_write_some(&x->query->out);
		}
	}
}

static void put_profile(struct ptrc_export *x, struct track *t)
{
	struct ptrc_buffer *b = &x->query->out;
	size_t count = t->piece_count * PIECE_RECORDS + t->record_count;

	ptrc_buffer_text(b, "{\"name\":");
	put_track_name(b, t);
	if (x->has_samples) {
		ptrc_buffer_format(b,
				   ",\"type\":\"sampled\",\"unit\":\"none\",\"startValue\":0,"
				   "\"endValue\":%zu,\"samples\":[",
				   count);
		put_records(x, t);
		ptrc_buffer_text(b, "],\"weights\":[");
		for (size_t i = 0; i < count; i++) {
			ptrc_buffer_text(b, i ? ",1" : "1");
			ptrc_output_write_some(&x->query->out);
		}
	} else {
		ptrc_buffer_format(
			b,
			",\"type\":\"evented\",\"unit\":\"nanoseconds\","
			"\"startValue\":%llu,\"endValue\":%llu,\"events\":[",
			(unsigned long long)first_ns(x),
			(unsigned long long)(last_ns(x) < x->now_ns ? last_ns(x) : x->now_ns));
		put_records(x, t);
	}
	ptrc_buffer_text(b, "]}");
}

static bool end_speedscope(struct ptrc_export *x)
{
	struct stacks *st = x->state;
	struct ptrc_buffer *b = &x->query->out;
	const char *separator = "\n";
	const char *path = x->query->sources[0].reader.path;

	close_tracks(x);
	if (st->spool && fflush(st->spool))
		spool_failed();
	ptrc_buffer_format(b,
			   "{\"exporter\":\"ptrace-export %s\","
			   "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			   "\"name\":",
			   PACKAGE_VERSION);
	ptrc_text_json(b, path, strlen(path));
	ptrc_buffer_text(b, ",\"profiles\":[");
	for (size_t i = 0; i < st->track_count; i++) {
		struct track *t = st->tracks[i];

		if (!t->piece_count && !t->record_count)
			continue;
		ptrc_buffer_text(b, separator);
		separator = ",\n";
		put_profile(x, t);
	}
	ptrc_buffer_text(b, "],\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < x->flames.frame_count; i++) {
		ptrc_buffer_text(b, i ? ",\n{\"name\":" : "\n{\"name\":");
		ptrc_text_json(b, x->flames.frames[i].bytes, x->flames.frames[i].used);
		ptrc_buffer_char(b, '}');
		ptrc_output_write_some(&x->query->out);
	}
	ptrc_buffer_text(b, "]}}\n");
	return true;
}

static void free_stacks(struct ptrc_export *x)
{
	struct stacks *st = x->state;

	for (size_t i = 0; i < st->track_count; i++) {
		free(st->tracks[i]->levels);
		free(st->tracks[i]->records);
		free(st->tracks[i]->pieces);
		free(st->tracks[i]);
	}
	free(st->tracks);
	free(st->losses);
	if (st->spool)
		fclose(st->spool);
}

const struct ptrc_export_format ptrc_export_folded = {
	.name = "folded",
	/* The format has no signature. The one here, a null byte, is not found in a file of folded stacks. So
	 * without --force, only an empty file is replaced. */
	.kind = {.mode = 0600, .signature = "", .signature_bytes = 1, .noun = "empty"},
	.state_size = sizeof(struct stacks),
	.begin = begin,
	.event = event,
	.push = push,
	.pop = pop,
	.cut = cut,
	.end = end_folded,
	.free = free_stacks,
};

const struct ptrc_export_format ptrc_export_speedscope = {
	.name = "speedscope",
	.kind = {.mode = 0600,
		 .signature = "{\"exporter\":\"ptrace-export",
		 .signature_bytes = sizeof("{\"exporter\":\"ptrace-export") - 1,
		 .noun = "an export to chrome or speedscope"},
	.state_size = sizeof(struct stacks),
	.begin = begin,
	.event = event,
	.push = push,
	.pop = pop,
	.loss = loss,
	.cut = cut,
	.end = end_speedscope,
	.free = free_stacks,
};

/* SPDX-License-Identifier: MIT */
/*
 * Several threads show the events of a log. The main thread reads blocks of events and writes the lines; the
 * others, the workers, select and format events. A job is a few blocks. Jobs are finished in any order, but their
 * lines are written in the order of the blocks, so the output is the same as that of one thread. Only columns come
 * in other blocks than with one thread, because a block of columns ends with its job.
 *
 * Columns of text become wider with their contents, so the lines of a job depend on the widths after the preceding
 * jobs. A worker assumes the widths that were known when the job was given to it. If preceding jobs changed them
 * later, which is rare, the main thread formats the job again.
 */
#include "config.h"
#include "src/text/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/output.h"
#include "src/base/scope.h"

/* The number of blocks in a job. Handing a job to a worker takes as long as formatting some dozen events. */
enum { JOB_BLOCKS = 4 };

/* The greatest number of workers: more of them would only wait for the thread that reads. */
enum { THREADS_MAX = 16 };

struct job {
	struct ptrc_reader_block blocks[JOB_BLOCKS];
	size_t block_count;
	struct ptrc_buffer out;
	uint64_t shown_count;
	/* The widths of the columns before the first line of the job, and after its last line. */
	int *begin_widths, *end_widths;
	bool is_done;
};

struct crew;

/* A worker: a thread with its own copy of everything that formatting changes. */
struct worker {
	struct crew *crew;
	pthread_t thread;
	struct ptrc_text text;
	struct ptrc_query query;
	struct ptrc_source source;
};

struct crew {
	pthread_mutex_t lock;
	/* has_job is signalled when a job can be taken or no more jobs will come; has_lines when a job is done. */
	pthread_cond_t has_job, has_lines;
	/* A ring of jobs, which are numbered in the order of the log. Those below `written` are finished and
	 * written, those below `taken` have been taken by a worker, those below `given` can be taken. */
	struct job *jobs;
	size_t job_count;
	uint64_t given, taken, written;
	bool is_over;
	struct worker *workers;
	size_t worker_count;
};

static struct job *job_of(const struct crew *c, uint64_t number)
{
	return &c->jobs[number % c->job_count];
}

static size_t width_bytes(const struct ptrc_text *t)
{
	return ptrc_event_width_count(&t->format) * sizeof(int);
}

static void free_job(struct job *job)
{
	for (size_t i = 0; i < JOB_BLOCKS; i++)
		ptrc_reader_block_free(&job->blocks[i]);
	ptrc_buffer_free(&job->out);
	free(job->begin_widths);
	free(job->end_widths);
}

/* ---- workers ---- */

static void free_worker(struct worker *w)
{
	ptrc_reader_free_types(&w->source.reader);
	ptrc_view_free(&w->source.view);
	free(w->source.sieve);
	for (size_t i = 0; i < w->query.select.where_count; i++)
		ptrc_where_free(w->query.select.wheres[i]);
	free(w->query.select.wheres);
	free(w->text.format.field_widths);
	ptrc_buffer_free(&w->text.format.origin);
	ptrc_columns_free(&w->text.columns);
}

static void make_worker(struct worker *w, const struct ptrc_text *t, const struct ptrc_source *s)
{
	const struct ptrc_query *q = t->query;
	size_t count = q->select.where_count;

	w->query = *q;
	w->text = *t;
	w->text.query = &w->query;
	w->text.columns = (struct ptrc_columns){0};
	w->text.format.origin = (struct ptrc_buffer)PTRC_BUFFER_INIT;
	w->text.format.field_widths = ptrc_cli_allocate(t->format.field_count * sizeof(int));
	w->source.reader = s->reader;
	ptrc_reader_own_types(&w->source.reader);
	w->source.view = (struct ptrc_view){.reader = &w->source.reader, .symbols = q->symbols};
	w->query.select.wheres = ptrc_cli_allocate(count * sizeof(struct ptrc_where *));
	for (size_t i = 0; i < count; i++)
		w->query.select.wheres[i] = ptrc_where_again(q->select.wheres[i]);
	ptrc_source_make_sieve(&w->source, &w->query);
}

static void do_job(struct ptrc_text *t, struct ptrc_source *s, struct job *job)
{
	struct ptrc_query *q = t->query;

	job->out.used = 0;
	job->shown_count = 0;
	ptrc_event_set_widths(&t->format, job->begin_widths);
	for (size_t i = 0; i < job->block_count; i++) {
		job->blocks[i].at = 0;
		for (;;) {
			ptrc_source_skip(s, &q->sink, &job->blocks[i]);
			if (!ptrc_reader_take(&s->reader, &job->blocks[i]))
				break;
			if (!ptrc_query_is_selected(q, s) ||
			    (q->select.around &&
			     !ptrc_select_meets_window(&q->select, ptrc_source_ns(s),
						       ptrc_source_ns(s))))
				continue;
			job->shown_count++;
			ptrc_query_check_layout(q, s);
			if (!t->is_counting)
				ptrc_text_add(t, &job->out, &s->view);
		}
	}
	ptrc_columns_flush(&t->columns, &job->out);
	ptrc_event_get_widths(&t->format, job->end_widths);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct crew *c = w->crew;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct job *job;

		while (c->taken == c->given && !c->is_over)
			pthread_cond_wait(&c->has_job, &c->lock);
		if (c->taken == c->given)
			break;
		job = job_of(c, c->taken++);
		pthread_mutex_unlock(&c->lock);
		do_job(&w->text, &w->source, job);
		pthread_mutex_lock(&c->lock);
		job->is_done = true;
		pthread_cond_signal(&c->has_lines);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* ---- the main thread ---- */

static bool read_job(struct ptrc_reader *r, struct job *job)
{
	job->block_count = 0;
	job->is_done = false;
	while (job->block_count < JOB_BLOCKS &&
	       ptrc_reader_next_block(r, &job->blocks[job->block_count]))
		r->read_count += job->blocks[job->block_count++].events->pt_count;
	return job->block_count;
}

static void give_job(struct crew *c, const struct ptrc_text *t)
{
	ptrc_event_get_widths(&t->format, job_of(c, c->given)->begin_widths);
	pthread_mutex_lock(&c->lock);
	c->given++;
	pthread_cond_signal(&c->has_job);
	pthread_mutex_unlock(&c->lock);
}

/* Formats a job again, with the right widths. Restores all counts, so that nothing is counted twice. */
static void redo_job(struct ptrc_text *t, struct ptrc_source *s, struct job *job)
{
	struct ptrc_query *q = t->query;
	uint64_t read_count = s->reader.read_count;
	PTRC_SCOPED uint64_t *undecided =
		ptrc_cli_allocate(q->select.where_count * sizeof(*undecided));

	for (size_t i = 0; i < q->select.where_count; i++)
		undecided[i] = *ptrc_where_undecided(q->select.wheres[i]);
	ptrc_event_get_widths(&t->format, job->begin_widths);
	s->view.is_again = true;
	do_job(t, s, job);
	s->view.is_again = false;
	for (size_t i = 0; i < q->select.where_count; i++)
		*ptrc_where_undecided(q->select.wheres[i]) = undecided[i];
	s->reader.read_count = read_count;
}

static void write_job(struct crew *c, struct ptrc_text *t, struct ptrc_source *s)
{
	struct ptrc_query *q = t->query;
	struct job *job = job_of(c, c->written);
	PTRC_SCOPED int *widths = ptrc_cli_allocate(width_bytes(t));

	pthread_mutex_lock(&c->lock);
	while (!job->is_done)
		pthread_cond_wait(&c->has_lines, &c->lock);
	pthread_mutex_unlock(&c->lock);
	ptrc_event_get_widths(&t->format, widths);
	if (memcmp(widths, job->begin_widths, width_bytes(t)) && !t->is_counting)
		redo_job(t, s, job);
	ptrc_event_set_widths(&t->format, job->end_widths);
	q->shown_count += job->shown_count;
	ptrc_output_write(&job->out);
	for (size_t i = 0; i < job->block_count; i++) {
		posixtrace_log_free_block(job->blocks[i].events);
		job->blocks[i].events = NULL;
	}
	c->written++;
}

/* Adds the counts of a worker to those of the main thread's query. */
static void collect(const struct worker *w, struct ptrc_query *q, struct ptrc_source *s)
{
	for (size_t i = 0; i < PTRC_READER_IDS; i++) {
		const struct ptrc_type *type = w->source.reader.types[i];

		if (!type || !ptrc_misfits_sum(&type->misfits))
			continue;
		ptrc_misfits_add(&ptrc_reader_type(&s->reader, (trace_event_id_t)i)->misfits,
				 &type->misfits);
		/* The message about data that does not fit needs the layout, which the main thread may not have
		 * looked up. */
		ptrc_view_layout(&s->view, &q->layouts, (trace_event_id_t)i);
	}
	for (size_t i = 0; i < q->select.where_count; i++)
		*ptrc_where_undecided(q->select.wheres[i]) +=
			*ptrc_where_undecided(w->query.select.wheres[i]);
}

static void start(struct crew *c, const struct ptrc_text *t, struct ptrc_source *s, size_t count)
{
	for (; c->worker_count < count; c->worker_count++) {
		struct worker *w = &c->workers[c->worker_count];

		make_worker(w, t, s);
		w->crew = c;
		if (pthread_create(&w->thread, NULL, work, w)) {
			free_worker(w);
			return;
		}
	}
}

static void finish(struct crew *c, struct ptrc_query *q, struct ptrc_source *s)
{
	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	pthread_cond_broadcast(&c->has_job);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->worker_count; i++) {
		pthread_join(c->workers[i].thread, NULL);
		collect(&c->workers[i], q, s);
		free_worker(&c->workers[i]);
	}
	for (size_t i = 0; i < c->job_count; i++)
		free_job(&c->jobs[i]);
	free(c->jobs);
	free(c->workers);
}

/* The number of workers; 0 if one thread must do all, for example because lines depend on preceding lines (relative
 * times), because the header depends on the first line, or because several logs have to be merged. */
static size_t useful_threads(const struct ptrc_text *t)
{
	const struct ptrc_query *q = t->query;
	long count = t->thread_count ? (long)t->thread_count : sysconf(_SC_NPROCESSORS_ONLN);

	if (q->sink.self != t || q->source_count != 1 || q->sources[0].reader.source ||
	    q->first_count != UINT64_MAX || q->last_count != UINT64_MAX ||
	    (!t->is_counting && (t->format.is_relative || t->is_header_due)))
		return 0;
	return count < 2 ? 0 : count < THREADS_MAX ? (size_t)count : THREADS_MAX;
}

bool ptrc_text_by_threads(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	struct ptrc_source *s = q->sources;
	struct crew crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
			    .has_job = PTHREAD_COND_INITIALIZER,
			    .has_lines = PTHREAD_COND_INITIALIZER};
	size_t count = useful_threads(t);

	if (!count)
		return false;
	crew.workers = ptrc_cli_allocate(count * sizeof(*crew.workers));
	start(&crew, t, s, count);
	/* With this number of jobs, no worker has to wait while the lines of a job are written. */
	crew.job_count = 2 * crew.worker_count + 2;
	crew.jobs = ptrc_cli_allocate(crew.job_count * sizeof(*crew.jobs));
	for (size_t i = 0; i < crew.job_count; i++) {
		crew.jobs[i].begin_widths = ptrc_cli_allocate(width_bytes(t));
		crew.jobs[i].end_widths = ptrc_cli_allocate(width_bytes(t));
	}
	while (crew.worker_count && read_job(&s->reader, job_of(&crew, crew.given))) {
		give_job(&crew, t);
		if (crew.given - crew.written == crew.job_count)
			write_job(&crew, t, s);
	}
	while (crew.written < crew.given)
		write_job(&crew, t, s);
	finish(&crew, q, s);
	return crew.worker_count;
}

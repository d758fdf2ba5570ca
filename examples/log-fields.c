/* SPDX-License-Identifier: MIT */
/*
 * An analyzer: reads a log and prints each event with its time, its process and the fields of its
 * data, whose layout is in the log. At the end it prints how many events the log lacks.
 *
 * 	cc log-fields.c -lposixtrace && ./a.out LOG
 *
 * Texts are printed without escapes, so do not run it on an untrusted log in a terminal.
 */
#include <inttypes.h>
#include <posixtrace-log.h>
#include <stdio.h>
#include <string.h>

static void show_field(const struct posixtrace_field *f)
{
	printf(f->pt_count ? " %s[%lu]=" : " %s=", f->pt_name, f->pt_index);
	if (f->pt_member) /* the name of an enum's value */
		printf("%s", f->pt_member);
	else if (f->pt_kind == POSIXTRACE_FIELD_TEXT || f->pt_kind == POSIXTRACE_FIELD_JSON)
		printf("%.*s", (int)f->pt_length, (const char *)f->pt_data);
	else if (f->pt_kind == POSIXTRACE_FIELD_SIGNED)
		printf("%" PRId64 "%s", f->pt_signed, f->pt_unit);
	else if (f->pt_kind == POSIXTRACE_FIELD_FLOAT)
		printf("%g%s", f->pt_float, f->pt_unit);
	else if (f->pt_kind == POSIXTRACE_FIELD_UNSIGNED || f->pt_kind == POSIXTRACE_FIELD_BOOL)
		printf("%" PRIu64 "%s", f->pt_unsigned, f->pt_unit);
	else if (f->pt_kind != POSIXTRACE_FIELD_BYTES)
		printf("%#" PRIx64, f->pt_unsigned);
	for (size_t i = 0; f->pt_kind == POSIXTRACE_FIELD_BYTES && i < f->pt_length; i++)
		printf("%02x", ((const unsigned char *)f->pt_data)[i]);
}

static void show_event(trace_id_t log, const struct posixtrace_event *e)
{
	const struct posix_trace_event_info *info = &e->pt_info;
	const struct timespec *time = &info->posix_timestamp;
	struct posixtrace_log_process p = {0};
	struct posixtrace_field f = {0};
	char name[TRACE_EVENT_NAME_MAX + 1] = "?";
	unsigned long i;

	posix_trace_eventid_get_name(log, info->posix_event_id, name);
	if (!posixtrace_log_find_process(log, info->posix_pid, time, &i))
		posixtrace_log_get_process(log, i, &p, sizeof(p));
	printf("%lld.%09ld %d %.*s %s", (long long)time->tv_sec, time->tv_nsec,
	       (int)info->posix_pid, (int)p.pp_name_size, p.pp_name, name);
	while (!posixtrace_log_next_field(log, e, &f, sizeof(f)))
		show_field(&f);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct posixtrace_count counts[64];
	struct posixtrace_block *block;
	size_t count;
	trace_id_t log;
	int error;

	if (argc != 2) {
		fputs("usage: log-fields LOG\n", stderr);
		return 2;
	}
	error = posixtrace_log_open(argv[1], &log);
	if (error) {
		fprintf(stderr, "log-fields: %s: %s\n", argv[1], strerror(error));
		return 1;
	}
	while (!(error = posixtrace_log_next_block(log, &block)) && block) {
		for (size_t i = 0; i < block->pt_count; i++)
			show_event(log, &block->pt_events[i]);
		posixtrace_log_free_block(block);
	}
	if (!posixtrace_get_counts(log, counts, 64, &count))
		for (size_t i = 0; i < count && i < 64; i++)
			if ((strstr(counts[i].pt_name, "lost_events") ||
			     strstr(counts[i].pt_name, "damaged_events") ||
			     !strcmp(counts[i].pt_name, "unwritten_events")) &&
			    counts[i].pt_value)
				fprintf(stderr, "%s: %lu\n", counts[i].pt_name, counts[i].pt_value);
	posix_trace_close(log);
	return error != 0;
}

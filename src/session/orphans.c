/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/orphans.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/base/same_file.h"
#include "src/base/scope.h"
#include "src/session/session_client.h"
#include "src/session/session_path.h"
#include "src/session/keeper.h"
#include "src/session/logfile.h"
#include "src/query/reader.h"

/* The most bytes of a path. */
enum { PATH_BYTES = 4096 };

int ptrc_orphans_list(struct posixtrace_orphan **list, size_t *count)
{
	struct posixtrace_orphan one;
	int error;

	*list = NULL;
	*count = 0;
	while (!(error = posixtrace_get_orphan((unsigned int)*count, &one, sizeof(one))))
		*ptrc_append(*list, *count) = one;
	return error == ENOENT ? 0 : error;
}

const char *ptrc_orphan_id(const struct posixtrace_orphan *o, char text[17])
{
	snprintf(text, 17, "%016llx", (unsigned long long)o->pt_id);
	return text;
}

const char *ptrc_orphan_explain(const struct posixtrace_orphan *o, int error, const char *path)
{
	static char text[4600];

	switch (error) {
	case ENOTSUP:
		snprintf(text, sizeof(text),
			 "it has version %u of the shared memory, and this command knows it up to "
			 "version %u; the ptrace-salvage of the release that made it can write it",
			 o->pt_version, ptrc_shared_version());
		return text;
	case EINVAL:
		return "its memory is damaged";
	case ECHILD:
		return "the processes that were to write its log have died";
	case EBUSY:
		return "another process is salvaging it";
	case EDESTADDRREQ:
		return "it has no log with a path";
	/* These are not errors of the file, so another file would not help. */
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ESRCH:
		return ptrc_cli_process_reason(error);
	default:
		if (!path)
			return ptrc_cli_process_reason(error);
		snprintf(text, sizeof(text),
			 "%.4096s cannot be written: %s; --output names another file", path,
			 ptrc_cli_process_reason(error));
		return text;
	}
}

static const char *describe(const struct posixtrace_orphan *o, char text[100])
{
	if (o->pt_error == ENOTSUP || o->pt_error == EINVAL)
		snprintf(text, 100, "an unfinished stream");
	else
		snprintf(text, 100, "an unfinished stream of process %ld with %lu event%s",
			 (long)o->pt_controller, o->pt_events, o->pt_events == 1 ? "" : "s");
	return text;
}

static void say_one(const struct posixtrace_orphan *o)
{
	char text[100], id[17];

	ptrc_cli_message(*o->pt_log ? o->pt_log : ptrc_orphan_id(o, id),
			 "%s stands in /dev/shm%s%s; 'ptrace-salvage %s' writes it",
			 describe(o, text), o->pt_error ? ", because: " : "",
			 o->pt_error ? ptrc_orphan_explain(o, o->pt_error, NULL) : "",
			 ptrc_orphan_id(o, id));
}

bool ptrc_orphans_dropped(char text[100])
{
	struct ptrc_inspected_system s;

	ptrc_inspect_system(&s);
	ptrc_cli_count_text(text, 100, s.pt_dropped_orphans,
			    "unfinished [stream was|streams were] dropped with all events, because "
			    "there were too many");
	return s.pt_dropped_orphans;
}

void ptrc_orphans_say_dropped(bool is_forgetting)
{
	char text[100];

	if (ptrc_orphans_dropped(text))
		ptrc_cli_message("/dev/shm", "%s; 'ptrace-salvage --all' forgets this", text);
	if (is_forgetting)
		posixtrace_discard_orphan(0);
}

const struct posixtrace_orphan *ptrc_orphans_find(const struct posixtrace_orphan *list,
						  size_t count, const char *log)
{
	uint64_t stream;
	uid_t user;

	if (!count || ptrc_log_find_left(log, &stream, &user))
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (list[i].pt_id == stream)
			return &list[i];
	return NULL;
}

bool ptrc_orphans_of_user(const char *log, char text[200])
{
	uint64_t stream;
	uid_t user;

	if (ptrc_log_find_left(log, &stream, &user) || user == geteuid())
		return false;
	snprintf(text, 200,
		 "its last events stand in /dev/shm, in a stream of user %lu; as that user, "
		 "'ptrace-salvage --output=LOG %016llx' writes them",
		 (unsigned long)user, (unsigned long long)stream);
	return true;
}

void ptrc_orphans_say_of(const char *log)
{
	PTRC_SCOPED struct posixtrace_orphan *list;
	size_t count;
	int error = ptrc_orphans_list(&list, &count);
	const struct posixtrace_orphan *o = ptrc_orphans_find(list, count, log);
	char text[200];

	if (o)
		say_one(o);
	else if (ptrc_orphans_of_user(log, text))
		ptrc_cli_message(log, "%s", text);
	else if (error)
		ptrc_session_say_directory(error);
	else
		ptrc_keeper_say_stopped(log);
}

int ptrc_orphans_count(size_t *count, char text[100])
{
	PTRC_SCOPED struct posixtrace_orphan *list;
	int error = ptrc_orphans_list(&list, count);

	ptrc_cli_count_text(text, 100, *count,
			    "unfinished stream[|s] of killed controllers stand[s|] in /dev/shm");
	return error;
}

bool ptrc_orphans_say(void)
{
	char text[100];
	size_t count;
	int error = ptrc_orphans_count(&count, text);

	if (error)
		ptrc_session_say_directory(error);
	if (count)
		ptrc_cli_message(NULL, "%s; 'ptrace-salvage' lists %s", text,
				 count == 1 ? "it" : "them");
	ptrc_orphans_say_dropped(false);
	return !error;
}

bool ptrc_orphans_of_session(const char *name, char text[PTRC_ORPHANS_TEXT_BYTES])
{
	PTRC_SCOPED struct posixtrace_orphan *list;
	const struct posixtrace_orphan *last = NULL;
	char words[100], id[17];
	size_t count;

	ptrc_orphans_list(&list, &count);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].pt_name, name) &&
		    (!last || last->pt_created.tv_sec < list[i].pt_created.tv_sec ||
		     (last->pt_created.tv_sec == list[i].pt_created.tv_sec &&
		      last->pt_created.tv_nsec < list[i].pt_created.tv_nsec)))
			last = &list[i];
	if (last)
		snprintf(text, PTRC_ORPHANS_TEXT_BYTES,
			 "%s; %s stands in /dev/shm; 'ptrace-salvage %s' writes it",
			 ptrc_session_explain(ECONNREFUSED), describe(last, words),
			 ptrc_orphan_id(last, id));
	return last;
}

void ptrc_orphans_say_session(const char *name, int error)
{
	char text[PTRC_ORPHANS_TEXT_BYTES];

	bool is_orphan =
		(error == ENOENT || error == ECONNREFUSED) && ptrc_orphans_of_session(name, text);

	ptrc_cli_message(name, "%s", is_orphan ? text : ptrc_session_explain(error));
}

/* Whether the file is the last one of the log. The events of an orphan go to the end of its log. */
static bool is_last_file(const char *file, const char *log)
{
	PTRC_SCOPED_FD fd = -1;
	struct stat last, st;

	return !ptrc_log_open_last(log, &fd) && !fstat(fd, &last) && !stat(file, &st) &&
	       ptrc_is_same_file(&st, &last);
}

static bool settle_one(const struct posixtrace_orphan *o, const char *output)
{
	char written[PATH_BYTES] = "", what[60];
	PTRC_SCOPED char *log = NULL;

	/* An orphan stays if it has no log or cannot be salvaged. ptrace-list and ptrace-doctor report it, and so does this
	 * function if the caller will put its log away. */
	if (!o->pt_has_log || o->pt_error || posixtrace_salvage_orphan(o->pt_id, NULL, written)) {
		if (output && ptrc_orphans_find(o, 1, output))
			say_one(o);
		return true;
	}
	if (output && is_last_file(written, output)) {
		log = ptrc_reader_first_path(written);
		snprintf(what, sizeof(what), "the log of process %ld, which was killed",
			 (long)o->pt_controller);
		return ptrc_logfile_put_away(log, what);
	}
	if (strcmp(written, o->pt_log) != 0)
		ptrc_cli_message(written,
				 "has the last events of process %ld, which was killed while its "
				 "log was %s",
				 (long)o->pt_controller, o->pt_log);
	return true;
}

bool ptrc_orphans_settle(const char *output)
{
	PTRC_SCOPED struct posixtrace_orphan *list;
	bool is_free = true;
	size_t count;

	/* If they cannot be listed, the trace that is made next fails, and says why. */
	ptrc_orphans_list(&list, &count);
	for (size_t i = 0; i < count; i++)
		is_free &= settle_one(&list[i], output);
	return is_free && (!output || ptrc_logfile_keep_rest(output));
}

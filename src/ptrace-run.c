/* SPDX-License-Identifier: MIT */
/*
 * Runs COMMAND in a child process. The child waits at a gate, a pipe, until its trace runs, so COMMAND is traced
 * from its first instruction. This process controls the trace and has to outlive COMMAND, so signals do not end
 * it. A signal to the whole process group, such as one from a terminal, has also reached COMMAND; a signal to
 * this process alone is passed on to COMMAND.
 *
 * A run is also a session: while this process waits for COMMAND, it serves the clients of the session.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/scope.h"
#include "src/check/check.h"
#include "src/check/report.h"
#include "src/base/background.h"
#include "src/base/cli.h"
#include "src/base/clock.h"
#include "src/base/command.h"
#include "src/config/configuration.h"
#include "src/config/yaml_file.h"
#include "src/base/exit_status.h"
#include "src/base/group_signal.h"
#include "src/base/output.h"
#include "src/session/preload.h"
#include "src/session/logfile.h"
#include "src/session/orphans.h"
#include "src/session/session_server.h"
#include "src/session/traced.h"
#include "src/query/losses.h"
#include "src/session/unmatched.h"
#include "src/session/trace_error.h"
#include "src/summary/event_types.h"
#include "src/summary/no_events.h"
#include "src/summary/run_result.h"
#include "src/summary/run_verdicts.h"
#include "src/summary/selection.h"

#define DEFAULT_LOG "ptrace.log"
/* With --no-loss, an event waits for space for at most this long. Freeing a full disk takes time, but an
 * unattended COMMAND must not hang for ever. */
#define NO_LOSS_WAIT "10m"

enum {
	/* If the log is not finished this long after an interrupt, a message says that this process waits for the
	 * log. */
	WORD_MS = 1000,
	/* How often this process looks whether the log can be written. */
	LOOK_MS = 1000,
	/* How long the processes that COMMAND has started may take to end after it. */
	GRACE_MS = 100,
};

enum {
	KEY_NO_LOSS = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
	KEY_JSON_FD,
	KEY_CHECK,
	KEY_FUNCTIONS,
	KEY_UNTIL,
	/* The keys of the options that are formats of verdicts start here. */
	KEY_FORMAT,
};

static bool is_loss_allowed;
static bool is_quiet;

static const struct ptrc_cli_option options[] = {
	{"output", 'o', "LOG",
	 "write the events to this file (default:\n" DEFAULT_LOG
	 ", whose last one\nbecomes " DEFAULT_LOG ".old)"},
	PTRC_CONFIG_OPTION_COUNT_ONLY,
	PTRC_CONFIG_OPTION_FORCE,
	PTRC_CONFIG_OPTION_NO_FSYNC,
	PTRC_CONFIG_OPTION_NO_COMMAND_LINE,
	PTRC_CONFIG_OPTION_PATTERNS,
	PTRC_CONFIG_OPTION_FILE,
	PTRC_CONFIG_OPTION_DUMP_CONFIG,
	{"no-loss", KEY_NO_LOSS, NULL,
	 "have COMMAND wait for the log rather than lose an\nevent: --full-wait=" NO_LOSS_WAIT},
	{"allow-loss", 0, NULL, "exit with 0 even if events were lost"},
	{"quiet", 0, NULL, "say only what was lost or has failed"},
	{"until", KEY_UNTIL, "END",
	 "record until this has ended: command (default), or\nall, which is COMMAND and all that it started"},
	{"functions", KEY_FUNCTIONS, "[=GLOB]",
	 "record begin and end of the functions, with GLOB\nonly of those that it names"},
	{"waits", PTRC_CONFIG_OPTION(PTRC_CONFIG_WAITS), "[=GLOB]",
	 "record in which calls threads wait, and for what\n(locks, files, peers, children), with GLOB only of\nthe kinds lock, io, net, sleep, child that match"},
	{"sdt", PTRC_CONFIG_OPTION(PTRC_CONFIG_SDT), "[=GLOB]",
	 "record the static probes (USDT) that programs and\ntheir libraries reach, with GLOB only those whose\nname PROVIDER.NAME matches"},
	{"check", KEY_CHECK, "RULES",
	 "judge the log by the rules in this file, as\nptrace-check(1) does"},
	PTRC_CHECK_FORMAT_OPTIONS(KEY_FORMAT, "[=FILE]"),
	{"json", KEY_JSON, "[=FILE]",
	 "write the result, a JSON object, to this file, or\nto standard error"},
	{"json-fd", KEY_JSON_FD, "N", "write it to the descriptor N"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-run",
	.operands = "[OPTION]... [--] COMMAND [ARGUMENT]...",
	.summary = "Runs COMMAND and traces it, with all its children, from its first\n"
		   "instruction to its end.",
	.options = options,
	.shared_options = ptrc_config_attribute_options,
	.flags = PTRC_CLI_FLAGS({"allow-loss", &is_loss_allowed}, {"quiet", &is_quiet}),
	.needs = PTRC_CLI_ROWS({"tap junit github", "check"}),
	.words = PTRC_CLI_ROWS({"until", "command all"}, {"waits", "lock io net sleep child"},
			       PTRC_CONFIG_WORDS),
	.operand_kinds = "COMMAND",
	.notes = "SIZE is a number of bytes; a K, M or G after it stands for 1024, 1024^2\n"
		 "or 1024^3. TIME has a unit, as in 10s or 1.5ms. Options override the file.\n"
		 "Exit status: COMMAND's; 128+N if signal N ended it; 3 instead of 0 if the log\n"
		 "is incomplete or the result could not be written; with --check, 1 instead of 0\n"
		 "if a rule was broken, 4 if one is undecided; 125 ptrace-run itself failed, 126\n"
		 "COMMAND cannot be executed, 127 it was not found.",
	.usage_status = PTRC_EXIT_RUN_FAILED,
	.has_command = true,
};

struct run {
	char **command;
	/* The file of COMMAND. */
	char path[PATH_MAX];
	struct ptrc_logfile log;
	trace_attr_t attr;
	/* The session. session_error is the error because of which other commands cannot reach it, or 0. */
	struct ptrc_session_plan plan;
	char stem[PTRC_SESSION_NAME_MAX + 1];
	struct ptrc_server *server;
	int session_error;
	/* The step of making the trace that failed, an enum ptrc_session_stage. */
	int32_t stage;
	/* The trace exists, and has not ended. */
	bool is_recording;
	/* The error number with which writing the log failed, once a message has said so while programs record; or
	 * 0. */
	int said_error;
	/* The user was told that the next file of a rotated log cannot be made. */
	bool has_said_rotation;
	/* The traced processes that went on when the recording ended. Not determined, and zeroed, if the recording
	 * ended before COMMAND did. */
	struct ptrc_traced went_on;
	/* Processes that COMMAND has started, that are not traced, and that ran when the recording ended, as far as
	 * they are known. */
	struct ptrc_traced others;
	/* A pidfd of a traced or another process whose end this process waits for (--until=all), or
	 * -1. */
	int awaited_fd;
	bool has_command_ended;
	/* The recording was ended before COMMAND did. */
	bool is_early;
	/* A signal has ended the time after COMMAND in which the recording went on. */
	bool is_cut_short;
	/* The results. Those of the trace are complete when trace_ended() was called. */
	struct ptrc_run_outcome outcome;
	uint64_t recorded;
	/* No program recorded an event; no_events says why. */
	bool is_empty;
	struct ptrc_no_events no_events;
	/* The trace has events of the operating system. */
	bool has_os_events;
	/* What --functions, --waits or --sdt has asked for and was not recorded; PTRC_PRELOAD_KINDS: nothing. */
	enum ptrc_preload_kind lack;
	pid_t child;
	/* Pipes. The child waits at .gate for a byte. If it then cannot execute COMMAND, it writes the error
	 * number to .failure; if it can, exec closes .failure. */
	int gate[2];
	int failure[2];
	/* A signalfd, from which waited_signals are read. */
	int signal_fd;
	/* The signal mask and the action for SIGCHLD that this process had at its start. The child restores them
	 * before it executes COMMAND. */
	sigset_t mask;
	struct sigaction child_action;
};

static struct ptrc_config_line given = {.user = PTRC_CONFIG_FOR_RUN};
static struct ptrc_config_file config;
/* --until=all: records until all processes that COMMAND has started have ended. */
static bool is_until_all;
static struct ptrc_preload preload;
/* The query that judges the log by the rules of --check, and these rules. */
static struct ptrc_query judged;
static struct ptrc_rules rules = {.tolerance_ns = PTRC_RULE_TOLERANCE, .layouts = &judged.layouts};

/* The signals that are passed on to COMMAND. Other signals act on this process as on any command. */
static const int passed_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

/* passed_signals and SIGCHLD. They are blocked, and read from a descriptor, so that no signal can come unnoticed
 * between a check of the child and the wait. */
static sigset_t waited_signals;

static int say_cannot_execute(const char *name, int error)
{
	char path[PATH_MAX];

	if (error == ELIBACC || (error == ENOENT && !ptrc_command_find(name, path)))
		ptrc_cli_message(name, "%s", PTRC_COMMAND_NO_INTERPRETER);
	else if (error == ENOENT && !strchr(name, '/'))
		ptrc_cli_message(name, "command not found");
	else
		ptrc_cli_error(name, error);
	return error == ENOENT || error == ELIBACC ? PTRC_EXIT_RUN_NOT_FOUND
						   : PTRC_EXIT_RUN_CANNOT_EXECUTE;
}

/* Reads the rules before the run, so that mistakes are found early. Only a mistake in what depends on layouts in
 * the log is found after the run. */
static void read_rules(const char *path, const struct ptrc_config_map *decode)
{
	struct ptrc_cli_reason why;

	ptrc_rules_read(&rules, path);
	for (size_t i = 0; i < decode->count; i++)
		if (!ptrc_layouts_add(rules.layouts, decode->layouts[i].event,
				      decode->layouts[i].text, &why))
			ptrc_yaml_refuse_at(config.name, &decode->layouts[i].mark, "decode: %s",
					    why.text);
	ptrc_rules_bind(&rules);
}

static void parse(int argc, char **argv, struct run *r)
{
	const char *check = NULL;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == KEY_CHECK)
			ptrc_cli_once("--check", &check);
		else if (key >= KEY_FORMAT && key < KEY_FORMAT + PTRC_CHECK_FORMATS)
			ptrc_run_verdicts_option((enum ptrc_check_format)(key - KEY_FORMAT),
						 optarg);
		else if (key == KEY_UNTIL)
			is_until_all = ptrc_cli_word("--until", optarg) != 0;
		else if (key == KEY_FUNCTIONS)
			ptrc_preload_functions(&preload, optarg);
		else if (key == KEY_NO_LOSS)
			ptrc_config_option(&given, PTRC_CONFIG_OPTION(PTRC_CONFIG_FULL_WAIT),
					   NO_LOSS_WAIT);
		else if (key == KEY_JSON)
			ptrc_run_result_to_file(optarg);
		else if (key == KEY_JSON_FD)
			ptrc_run_result_to_descriptor(optarg);
		else
			ptrc_config_option(&given, key, optarg);
	}
	r->command = argv + optind;
	ptrc_run_result_set(*r->command, given.options.is_forced);
	if (optind == argc && !given.is_dump)
		ptrc_cli_usage(NULL, "no COMMAND given");
	ptrc_config_resolve(&given, "ptrace-run has one", &config);
	if (check && config.sessions[0].only_counts)
		ptrc_cli_usage("--check", "needs a log, and count-only keeps no event");
	if (check)
		read_rules(check, &config.sessions[0].decode);
}

static bool is_of_os(trace_id_t trace, trace_event_id_t id)
{
	char name[TRACE_EVENT_NAME_MAX + 1];

	return !posix_trace_eventid_get_name(trace, id, name) && ptrc_is_os_name(name);
}

/*
 * Counts the recorded events, and in r->outcome those whose data was cut. *has_user_events becomes whether one of
 * the events is neither a system event nor one of the operating system; true if the counts are unknown.
 */
static uint64_t count_recorded(struct run *r, trace_id_t trace, bool *has_user_events)
{
	PTRC_SCOPED struct posixtrace_type_count *counts = ptrc_type_counts(trace);
	uint64_t count = 0;

	r->outcome.cut_events = 0;
	*has_user_events = !counts;
	for (size_t i = 0; counts && i < PTRC_READER_IDS; i++) {
		count += counts[i].pt_events;
		r->outcome.cut_events += counts[i].pt_truncated;
		if (i < POSIX_TRACE_UNNAMED_USEREVENT || !counts[i].pt_events)
			continue;
		r->has_os_events |= is_of_os(trace, (trace_event_id_t)i);
		*has_user_events |= !is_of_os(trace, (trace_event_id_t)i);
	}
	return count;
}

/* Called after each snapshot, while COMMAND runs. */
static void snapshot_made(void *arg, const struct ptrc_snapshot *snapshot)
{
	struct run *r = arg;

	ptrc_run_snapshots_add(&r->outcome.snapshots, snapshot);
}

/* Stores the texts of --snapshot-on that lack something. */
static void gather_snapshots(struct run *r)
{
	struct ptrc_snapshots *s = ptrc_server_snapshots(r->server);
	const char *text;
	enum ptrc_snapshot_lack lack;

	r->outcome.snapshots.is_wanted = s != NULL;
	for (size_t i = 0; (text = ptrc_snapshots_pattern(s, i, &lack)); i++)
		if (lack != PTRC_SNAPSHOT_LACKS_NOTHING)
			*ptrc_append(r->outcome.snapshots.unmatched,
				     r->outcome.snapshots.unmatched_count) =
				(struct ptrc_idle_snapshot){ptrc_cli_copy(text), lack};
}

/* Whether the log has to say how COMMAND ended: if COMMAND failed, if the trace has events of the operating system, or
 * if there are rules, which may ask whether all processes have ended. */
static bool is_status_wanted(struct run *r, trace_id_t trace)
{
	bool has_user_events;

	count_recorded(r, trace, &has_user_events);
	return r->outcome.status || r->has_os_events || rules.count;
}

/* Finds the processes that COMMAND has started, that are not in *traced, and that still run, as far as events of
 * the operating system show them. */
static void find_others(struct run *r, struct ptrc_traced *others, const struct ptrc_traced *traced)
{
	size_t count;
	PTRC_SCOPED pid_t *pids = ptrc_server_running(r->server, &count);

	ptrc_traced_find_others(others, pids, count, traced);
}

/* Stores in the stream what the log says at its end: how COMMAND ended, and how many processes went on. */
static void set_ending(struct run *r, trace_id_t trace)
{
	const struct ptrc_ending_facts facts = {
		.pe_has_ended = is_status_wanted(r, trace),
		.pe_status = WIFEXITED(r->outcome.status) ? WEXITSTATUS(r->outcome.status) : -1,
		.pe_signal = WIFSIGNALED(r->outcome.status) ? WTERMSIG(r->outcome.status) : 0,
		.pe_processes = (unsigned int)r->went_on.count};

	r->outcome.went_on = r->went_on.count;
	ptrc_trace_set_ending(trace, &facts);
}

/* Called just before the trace is stopped: finds the processes that go on. If this process is killed now, the log has
 * their number. */
static void trace_stopping(void *arg, trace_id_t trace)
{
	struct run *r = arg;

	r->is_early = !r->has_command_ended;
	if (r->is_early)
		return;
	ptrc_traced_find(&r->went_on, trace);
	find_others(r, &r->others, &r->went_on);
	set_ending(r, trace);
}

/* Looks once more when the trace was stopped: some may have forked others before that. Those that have ended since count,
 * too: what they recorded in the meantime is missing. */
static void look_again(struct run *r, trace_id_t trace)
{
	struct ptrc_traced earlier = r->others, now;

	ptrc_traced_find(&now, trace);
	ptrc_traced_add(&r->went_on, &now);
	ptrc_traced_free(&now);
	ptrc_traced_find_others(&r->others, earlier.pids, earlier.count, &r->went_on);
	ptrc_traced_free(&earlier);
	set_ending(r, trace);
}

static void take_losses(struct run *r, const struct ptrc_session_state *state)
{
	ptrc_losses_gather(&r->outcome.losses, &state->status, &state->counts);
	r->outcome.losses.is_log_gone = state->is_log_gone;
}

/* Called when the trace was stopped: reads from the stream what can no longer be read when the stream has ended. */
static void trace_stopped(void *arg, trace_id_t trace, struct ptrc_session_state *state)
{
	struct run *r = arg;
	bool has_user_events;

	take_losses(r, state);
	if (!r->is_early)
		look_again(r, trace);
	state->went_on = (uint32_t)r->went_on.count;
	r->recorded = count_recorded(r, trace, &has_user_events);
	r->is_empty = !has_user_events;
	ptrc_no_events_gather(&r->no_events, trace);
	r->lack = ptrc_preload_lacks(&preload, trace);
	if (config.sessions[0].only_counts)
		ptrc_event_types_from_trace(&r->outcome.types, trace);
	if (posixtrace_get_patterns(trace, r->outcome.patterns, POSIXTRACE_PATTERNS_MAX,
				    &r->outcome.pattern_count))
		r->outcome.pattern_count = 0;
	gather_snapshots(r);
	r->outcome.snapshots.unseen_events = state->snapshots.unseen_events;
}

/* Called when the trace has ended and its log is closed: stores the results. */
static void trace_ended(void *arg, int error, const struct ptrc_session_state *state)
{
	const struct ptrc_counts *counts = &state->counts;
	struct run *r = arg;
	uint64_t in_log = counts->pt_log_events;

	take_losses(r, state);
	r->outcome.has_count = ptrc_losses_count_log(
		&r->outcome.losses, r->log.path,
		!r->log.is_rotated && ptrc_logfile_is_gone(r->log.fd, r->log.path), &in_log,
		&r->outcome.event_count);
	r->outcome.waits = counts->pt_waits;
	r->outcome.wait_ns = counts->pt_wait_ns;
	r->outcome.data_needed = counts->pt_data_needed;
	if (error)
		r->outcome.losses.write_error = error;
	r->outcome.losses.has_gone_on = r->went_on.count != 0;
	ptrc_losses_count_unwritten(&r->outcome.losses, r->recorded, in_log);
	ptrc_losses_note_full(&r->outcome.losses, state->status.posix_stream_flush_error);
	if (!r->is_early)
		return;
	r->outcome.is_ended_early = true;
	/* Releases the lock on the log, so that other commands can write to it. */
	ptrc_logfile_close(&r->log, true);
}

/* Makes the session, without a trace yet. Ends the process if the name that the user wants is taken. Any
 * other failure is reported by say_session_error(), when COMMAND is traced. */
static void make_session(struct run *r, const struct ptrc_config *c)
{
	const char *log_path = realpath(r->log.path, NULL);
	struct ptrc_session_plan *p = &r->plan;

	snprintf(r->stem, sizeof(r->stem), "%.50s", basename(r->command[0]));
	ptrc_session_make_name(r->stem);
	*p = ptrc_config_plan(c);
	p->target_fd = -1;
	p->attr = &r->attr;
	p->name_stem = r->stem;
	p->log = &r->log;
	p->log_path = log_path ? log_path : r->log.path;
	p->is_until_exit = !is_until_all;
	p->is_started = p->is_run = p->os.is_child = true;
	/* Only these events show whether a process of which the log has others went on. */
	if (rules.count && p->os.kinds && p->os.kinds != PTRC_OS_AUTO)
		p->os.kinds |= PTRC_OS_PROCESS;
	p->snapshots.directory = getcwd(NULL, 0);
	p->snapshot = snapshot_made;
	p->stopping = trace_stopping;
	p->stopped = trace_stopped;
	p->ended = trace_ended;
	p->arg = r;
	r->server = ptrc_server_new(p);
	r->session_error = ptrc_server_listen(r->server, &r->stage);
	if (r->session_error != EEXIST || !c->name)
		return;
	ptrc_cli_message(c->name, "a session of this name exists already");
	ptrc_logfile_close(&r->log, false);
	exit(PTRC_EXIT_RUN_FAILED);
}

static void say_session_error(const struct run *r)
{
	const char *reason = strerror(r->session_error);

	if (!r->session_error)
		return;
	if (r->session_error == ETIMEDOUT)
		reason = "a process that does not go on locks the directory of sessions";
	else if (r->session_error == EEXIST)
		reason = "too many sessions have such a name; give another one by --name";
	ptrc_cli_message(r->command[0],
			 "is traced, but other commands cannot reach this run as a "
			 "session: %s",
			 reason);
}

/* Gives up the session and its log because COMMAND cannot be run. Returns the exit status. */
static int give_up(struct run *r)
{
	if (r->server)
		ptrc_server_remove_socket(r->server);
	ptrc_logfile_close(&r->log, false);
	return PTRC_EXIT_RUN_FAILED;
}

/* Ends the process if --check is to judge the log, but the log cannot be read afterwards. */
static void need_file(struct run *r)
{
	struct stat st;

	if (!rules.count || (!fstat(r->log.fd, &st) && S_ISREG(st.st_mode)))
		return;
	ptrc_cli_message(r->log.path, "--check needs a log that is a regular file");
	exit(give_up(r));
}

/* Does what may fail and can be done before the child is started: makes checks, opens the log and the files of results,
 * and makes the session. Ends the process on failure. */
static void prepare(struct run *r, const struct ptrc_config *c)
{
	/* Looks for COMMAND before it opens the log, so that a misspelt command does not destroy an older log. */
	int error = ptrc_command_find(r->command[0], r->path);

	if (error)
		exit(say_cannot_execute(r->command[0], error));
	ptrc_preload_add(&preload, PTRC_PRELOAD_WAITS, &c->waits);
	ptrc_preload_add(&preload, PTRC_PRELOAD_PROBES, &c->sdt);
	if (!ptrc_preload_prepare(&preload, r->path))
		exit(PTRC_EXIT_RUN_FAILED);
	if (ptrc_config_attributes(c, &r->attr))
		ptrc_cli_no_memory();
	ptrc_run_result_set(r->command[0], c->is_forced);
	if (!ptrc_orphans_settle(c->output ? c->output : DEFAULT_LOG) ||
	    !ptrc_logfile_open(&r->log, c->output ? c->output : DEFAULT_LOG, &r->attr,
			       c->is_forced) ||
	    !ptrc_logfile_keep_unfinished(&r->log, &r->attr, c->is_forced) ||
	    (!c->output && !ptrc_logfile_keep_old(&r->log, &r->attr, c->is_forced)))
		exit(PTRC_EXIT_RUN_FAILED);
	r->outcome.log = r->log.path;
	r->outcome.only_counts = c->only_counts;
	need_file(r);
	make_session(r, c);
	if (!ptrc_run_result_open(r->log.fd) || !ptrc_run_verdicts_open(r->log.fd, c->is_forced))
		exit(give_up(r));
}

static void __attribute__((noreturn)) child_main(struct run *r)
{
	ssize_t n;
	int error;
	char go;

	close(r->gate[1]);
	close(r->failure[0]);
	sigaction(SIGCHLD, &r->child_action, NULL);
	ptrc_cli_restore_signals();
	sigprocmask(SIG_SETMASK, &r->mask, NULL);
	do
		n = read(r->gate[0], &go, 1);
	while (n < 0 && errno == EINTR);
	/* The pipe was closed, which means that there will be no trace. */
	if (n != 1)
		_exit(PTRC_EXIT_RUN_FAILED);
	ptrc_preload_set_environment(&preload);
	execvp(r->path, r->command);
	error = errno;
	if (write(r->failure[1], &error, sizeof(error)) < 0)
		_exit(PTRC_EXIT_RUN_FAILED);
	_exit(error == ENOENT ? PTRC_EXIT_RUN_NOT_FOUND : PTRC_EXIT_RUN_CANNOT_EXECUTE);
}

/* Starts the child, which waits at the gate. Returns 0 or an error number. */
static int start_child(struct run *r)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	if (pipe2(r->gate, O_CLOEXEC) || pipe2(r->failure, O_CLOEXEC))
		return errno;
	sigemptyset(&waited_signals);
	sigaddset(&waited_signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_signals) / sizeof(passed_signals[0]); i++)
		sigaddset(&waited_signals, passed_signals[i]);
	/* This process may have inherited that SIGCHLD is ignored. Then the kernel would reap the child before this
	 * process gets the child's status. */
	sigaction(SIGCHLD, &standard, &r->child_action);
	sigprocmask(SIG_BLOCK, &waited_signals, &r->mask);
	r->signal_fd = signalfd(-1, &waited_signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd < 0)
		return errno;
	r->child = r->plan.target = fork();
	if (!r->child)
		child_main(r);
	if (r->child < 0)
		return errno;
	ptrc_group_signal_begin(r->child);
	/* COMMAND may make its own process group the foreground group of the terminal. Then the messages of this
	 * process must still be printed, and not stop this process. */
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	close(r->gate[0]);
	close(r->failure[1]);
	return 0;
}

/* Passes a signal on to COMMAND, unless COMMAND has sent it, or has already received it because it was sent
 * to the process group and COMMAND is still in that group. A SIGCONT from the witness (the process in the
 * group by which group_signal.h recognizes such signals) was meant for this process only. */
static void pass_on(const struct run *r, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;
	bool is_sent = info->ssi_code <= 0;
	pid_t sender = (pid_t)info->ssi_pid;
	bool is_for_group;

	if (is_sent && sender == r->child)
		return;
	is_for_group = ptrc_group_signal_is_for_group(signal);
	if (is_sent && ptrc_group_signal_is_witness(sender))
		return;
	if (!is_for_group || getpgid(r->child) != getpgrp())
		kill(r->child, signal);
}

/* Waits for a signal, the end of the process of awaited_fd, or work for the session; for at most
 * limit_ms milliseconds (-1: no limit). Does the work for the session. Returns whether a signal
 * came. */
static bool wait_and_serve(struct run *r, int signal_fd, int limit_ms,
			   struct signalfd_siginfo *info)
{
	struct pollfd p[2 + PTRC_SERVER_POLL_MAX] = {{.fd = signal_fd, .events = POLLIN},
						     {.fd = r->awaited_fd, .events = POLLIN}};
	int server_ms = -1;
	size_t count = r->is_recording ? ptrc_server_poll(r->server, p + 2, &server_ms) : 0;

	if (limit_ms < 0 || (server_ms >= 0 && server_ms < limit_ms))
		limit_ms = server_ms;
	if (poll(p, 2 + count, limit_ms) < 0)
		return false;
	if (p[1].revents) {
		close(r->awaited_fd);
		r->awaited_fd = -1;
	}
	if (r->is_recording)
		ptrc_server_step(r->server, p + 2);
	if (r->is_recording && ptrc_server_has_ended(r->server)) {
		ptrc_server_close(r->server);
		r->is_recording = false;
	}
	return p[0].revents && read(signal_fd, info, sizeof(*info)) == (ssize_t)sizeof(*info);
}

static void say_write_error(struct run *r, int error)
{
	const char *reason = ptrc_cli_write_reason(error);
	uint64_t wait_ns = config.sessions[0].full_wait_ns;

	/* Events do not wait for a pipe without a reader. */
	if (wait_ns && error != EPIPE)
		ptrc_cli_message(r->log.path,
				 "writing the log fails: %s; events wait until it succeeds, for at "
				 "most %g s",
				 reason, (double)wait_ns / 1e9);
	else
		ptrc_cli_message(
			r->log.path,
			"writing the log fails: %s; events are lost when the stream is full",
			reason);
	r->said_error = error;
}

static void say_rotation(struct run *r, const struct ptrc_counts *counts)
{
	const struct ptrc_losses l = ptrc_losses_of_rotation(counts);

	r->has_said_rotation |= l.rotation_error != 0;
	ptrc_losses_report(&l, r->log.path);
}

/* Waits as wait_and_serve() while programs record. */
static bool wait_while_traced(struct run *r, int signal_fd, int limit_ms,
			      struct signalfd_siginfo *info)
{
	bool looks_at_writing = !r->said_error;
	bool looks_at_rotation = r->log.is_rotated && !r->has_said_rotation;
	bool looks = r->is_recording && (looks_at_writing || looks_at_rotation);
	bool is_signal =
		wait_and_serve(r, signal_fd, looks && limit_ms < 0 ? LOOK_MS : limit_ms, info);
	struct ptrc_counts counts;
	int error;

	if (!looks || !r->is_recording)
		return is_signal;
	error = ptrc_trace_flush_error(ptrc_server_trace(r->server));
	if (looks_at_writing && error)
		say_write_error(r, error);
	if (looks_at_rotation && !ptrc_trace_counts(ptrc_server_trace(r->server), &counts))
		say_rotation(r, &counts);
	return is_signal;
}

/* Waits for the end of the child. Returns its status, as wait() returns it. */
static int wait_child(struct run *r)
{
	const struct timespec at_once = {0};

	for (;;) {
		int status;
		pid_t pid = waitpid(r->child, &status, WUNTRACED | WNOHANG);
		struct signalfd_siginfo info;

		if (pid < 0 && errno != EINTR)
			return W_EXITCODE(PTRC_EXIT_RUN_FAILED, 0);
		if (pid == r->child && (WIFEXITED(status) || WIFSIGNALED(status))) {
			/* Drops pending signals, because they were for COMMAND. */
			while (sigtimedwait(&waited_signals, NULL, &at_once) > 0)
				;
			return status;
		}
		if (pid == r->child && WIFSTOPPED(status))
			ptrc_group_signal_stop();
		if (wait_while_traced(r, r->signal_fd, -1, &info) && info.ssi_signo != SIGCHLD)
			pass_on(r, &info);
	}
}

/* Returns the exit status of COMMAND. If a signal has ended COMMAND, ends this process by that signal: a
 * shell that was interrupted together with COMMAND has to see that its child died of the signal, too. */
static int end_as(int status)
{
	struct rlimit none = {.rlim_cur = 0};
	sigset_t one;
	int s;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	s = WTERMSIG(status);
	/* The useful core file is that of COMMAND; this process must not leave another. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	signal(s, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, s);
	raise(s);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	/* This is reached only if the signal does not end the process, which is so for the first process of a pid
	 * namespace. */
	return PTRC_EXIT_RUN_SIGNAL + s;
}

/* Waits until the function that runs in the background has returned, or for a signal. Returns -1 if
 * it has returned; else the number of the signal, or 0 if none could be read. */
static int await(const struct ptrc_background *b, int signal_fd)
{
	struct pollfd p[] = {
		{.fd = b->fd, .events = POLLIN},
		{.fd = signal_fd, .events = POLLIN},
	};
	struct signalfd_siginfo info;

	if (b->fd < 0)
		return -1;
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[0].revents)
		return -1;
	if (p[1].revents && read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return (int)info.ssi_signo;
	return 0;
}

/* Returns a signalfd for the signals that end a command. If is_ignored_too, it is also for those that this process
 * ignores. */
static int open_end_signals(bool is_ignored_too)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	struct sigaction action;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (is_ignored_too ||
		    (!sigaction(signals[i], NULL, &action) && action.sa_handler != SIG_IGN))
			sigaddset(&set, signals[i]);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Ends the child, because there is no trace. Returns the exit status. */
static int abandon(struct run *r)
{
	int status;

	/* The witness (src/base/group_signal.h) ends first: if the child is the first process of a
	 * pid namespace, the witness is in there, too, and the child cannot end before this process
	 * has waited for the witness. */
	ptrc_group_signal_end();
	close(r->gate[1]);
	status = wait_child(r);
	give_up(r);
	if (!WIFSIGNALED(status))
		return PTRC_EXIT_RUN_FAILED;
	ptrc_run_result_put_untraced(status);
	return end_as(status);
}

/* Opens the gate, so that the child executes COMMAND. Returns the error number if COMMAND could not be
 * executed; 0 if it runs, or if a signal has ended the child. */
static int release_child(const struct run *r)
{
	int error = 0;
	ssize_t n;

	/* If a signal has ended the child, write() must fail, not end this process. */
	signal(SIGPIPE, SIG_IGN);
	if (write(r->gate[1], "", 1) == 1) {
		do
			n = read(r->failure[0], &error, sizeof(error));
		while (n < 0 && errno == EINTR);
		if (n != (ssize_t)sizeof(error))
			error = 0;
	}
	close(r->gate[1]);
	close(r->failure[0]);
	return error;
}

/* The exit status, if this process does not wait until the log is written. */
static int status_without_log(int status)
{
	if (WIFSIGNALED(status))
		return PTRC_EXIT_RUN_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status) || is_loss_allowed ? WEXITSTATUS(status) : PTRC_EXIT_INCOMPLETE;
}

/* Ends this process before the log is finished: COMMAND has ended, and the user does not want to wait. */
static void __attribute__((noreturn)) leave_log(struct run *r)
{
	struct stat st;

	if (r->log.is_rotated || (!fstat(r->log.fd, &st) && S_ISREG(st.st_mode)))
		ptrc_cli_message(r->log.path, "given up before the log was finished; "
					      "'ptrace-dump --verify' counts what is missing");
	else
		ptrc_cli_message(r->log.path,
				 "given up; it is not known how many events are missing");
	r->outcome.losses.is_unclosed = true;
	ptrc_run_result_put(&r->outcome);
	ptrc_server_remove_socket(r->server);
	/* exit() is not called, because it would also wait for the log. */
	_exit(status_without_log(r->outcome.status));
}

/* Waits until a signal comes, or until all processes have ended that are traced or that events of the operating system
 * show. Without --until=all, gives up after GRACE_MS: helpers that end because COMMAND has ended have not gone
 * on. */
static void wait_rest(struct run *r)
{
	PTRC_SCOPED_FD signals = open_end_signals(true);
	int64_t end_ns = ptrc_now_ns() + GRACE_MS * PTRC_NS_PER_MS;
	bool is_signal = false, is_over = false;

	while (r->is_recording && !is_signal && !is_over) {
		struct signalfd_siginfo info;
		struct ptrc_traced rest, none = {0};
		pid_t pid;

		ptrc_traced_find(&rest, ptrc_server_trace(r->server));
		if (!rest.count) {
			ptrc_traced_free(&rest);
			find_others(r, &rest, &none);
		}
		pid = rest.count ? rest.pids[0] : 0;
		ptrc_traced_free(&rest);
		r->awaited_fd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
		/* ESRCH: the process has ended since it was found. */
		if (!pid || (r->awaited_fd < 0 && errno != ESRCH))
			break;
		while (r->is_recording && !is_signal && !is_over && r->awaited_fd >= 0) {
			is_signal =
				wait_while_traced(r, signals, is_until_all ? -1 : GRACE_MS, &info);
			is_over = !is_until_all && ptrc_now_ns() >= end_ns;
		}
	}
	if (r->awaited_fd >= 0)
		close(r->awaited_fd);
	r->awaited_fd = -1;
	r->is_cut_short = is_signal;
}

/*
 * Ends the trace. The log may be a pipe whose reader no longer reads, so the user must be able to stop the
 * wait. COMMAND has ended, so the signals that would have ended it now act on this process. If the log is not
 * finished WORD_MS after the first SIGINT, a message is printed. A second SIGINT, or the first signal of another
 * kind, makes the keeper (the process that writes the log) give the log up if the log accepts nothing for a
 * second. After one more signal this process ends at once, without waiting for the keeper.
 */
static void end_recording(struct run *r)
{
	PTRC_SCOPED_FD signals = open_end_signals(true);
	bool is_interrupted = false;
	bool is_given_up = false;
	/* The time at which a message says that this process waits for the log; 0 if no message is to come. */
	int64_t say_ns = 0;

	ptrc_server_end(r->server);
	while (r->is_recording) {
		struct signalfd_siginfo info;
		bool is_signal = wait_and_serve(r, signals, say_ns ? WORD_MS : -1, &info);

		if (!is_signal && say_ns && ptrc_now_ns() >= say_ns) {
			say_ns = 0;
			ptrc_cli_message(r->log.path, "waiting until the log takes the rest; "
						      "another interrupt gives it up");
		}
		if (!is_signal)
			continue;
		say_ns = 0;
		if (is_given_up)
			leave_log(r);
		if (info.ssi_signo == SIGINT && !is_interrupted) {
			/* Prints no message yet, because the log may be finished soon. */
			is_interrupted = true;
			say_ns = ptrc_now_ns() + WORD_MS * PTRC_NS_PER_MS;
		} else {
			is_given_up = true;
			ptrc_trace_give_up_log(ptrc_server_trace(r->server));
		}
	}
}

/* Prints a message that says why, if --functions, --waits or --sdt recorded nothing, or else if no program recorded an
 * event. In the second case, prints none if events were lost: that is the reason, and report() says so. With --os=KIND
 * the user may want no events of programs; so then a message is printed only if a program opened an event type. */
static void say_why_empty(const struct run *r)
{
	bool is_auto = r->plan.os.kinds == PTRC_OS_AUTO;
	const char *but = !r->has_os_events ? ""
			  : is_auto	    ? " but of processes"
					    : " but of the operating system";
	char reason[PTRC_NO_EVENTS_BYTES];

	if (r->lack != PTRC_PRELOAD_KINDS)
		ptrc_preload_say_none(&preload, r->lack, r->command[0]);
	else if (!r->is_empty || ptrc_losses_is_any(&r->outcome.losses) ||
		 (r->plan.os.kinds && !is_auto && !r->no_events.opened_types))
		return;
	else if (!r->no_events.opened_types && ptrc_preload_has_hooks(r->command[0]))
		ptrc_cli_message(r->command[0],
				 "no event was recorded%s; --functions records its functions", but);
	else if (!r->no_events.opened_types && r->others.count)
		ptrc_cli_message(
			r->command[0],
			"no event was recorded%s: no program had opened an event type when "
			"COMMAND ended, and %zu process%s that it started %s on untraced: "
			"%s; have COMMAND wait for %s",
			but, r->others.count, r->others.count == 1 ? "" : "es",
			r->others.count == 1 ? "goes" : "go", r->others.text,
			r->others.count == 1 ? "it" : "them");
	else
		ptrc_cli_message(r->command[0], "no event was recorded%s: %s%s%s%s", but,
				 ptrc_no_events_reason(&r->no_events, reason),
				 r->no_events.opened_types ? "" : "; 'ptrace-doctor -- ",
				 r->no_events.opened_types ? "" : r->command[0],
				 r->no_events.opened_types ? "" : "' looks for the library");
}

/* Prints messages about what the user may not expect, other than losses. */
static void say_notes(const struct run *r)
{
	if (r->outcome.waits)
		ptrc_cli_message(r->log.path,
				 "events waited %" PRIu64 " time%s for room, %.3f s in all",
				 r->outcome.waits, r->outcome.waits == 1 ? "" : "s",
				 (double)r->outcome.wait_ns / 1e9);
	if (r->outcome.cut_events)
		ptrc_cli_message(r->log.path,
				 "the data of %" PRIu64
				 " event%s was cut, as the largest has %" PRIu64
				 " bytes; see --max-data-size",
				 r->outcome.cut_events, r->outcome.cut_events == 1 ? "" : "s",
				 r->outcome.data_needed);
	ptrc_unmatched_report(r->outcome.patterns, r->outcome.pattern_count, NULL);
	if (r->others.count && r->plan.os.kinds != PTRC_OS_AUTO)
		ptrc_cli_message(
			r->log.path,
			"%zu process%s that COMMAND started and that %s not traced went on: %s%s",
			r->others.count, r->others.count == 1 ? "" : "es",
			r->others.count == 1 ? "is" : "are", r->others.text,
			is_until_all ? "" : "; --until=all records to the end");
}

static void put_counts(const struct run *r)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	ptrc_event_types_put_text(&b, &r->outcome.types);
	ptrc_run_result_write(STDERR_FILENO, "standard error", &b);
}

/* Prints the messages about the run, and writes the object of --json. Returns the status to end with, as wait()
 * returns it. */
static int report(const struct run *r)
{
	struct ptrc_losses losses = r->outcome.losses;
	bool is_cut = is_until_all || r->is_cut_short;
	bool is_incomplete;
	bool is_told;

	/* Files that --log-keep has deleted are no loss, as the user asked for that. */
	losses.deleted_files = 0;
	losses.has_gone_on = false;
	/* The same fact is not said twice. */
	if (losses.write_error == r->said_error && !losses.unwritten_events)
		losses.write_error = 0;
	if (r->has_said_rotation)
		losses.rotation_error = 0;
	ptrc_losses_report(&losses, r->log.path);
	if (r->outcome.is_ended_early)
		ptrc_cli_message(r->log.path, "ends before COMMAND did: ptrace-shutdown, or the "
					      "like, ended the recording");
	else if (r->went_on.count)
		ptrc_cli_message(r->log.path,
				 "%zu process%s went on after COMMAND and %s no longer traced: %s; "
				 "%s%s",
				 r->went_on.count, r->went_on.count == 1 ? "" : "es",
				 r->went_on.count == 1 ? "is" : "are", r->went_on.text,
				 is_cut ? "a signal, ptrace-shutdown, or the like, ended the "
					  "recording"
					: "--until=all records to the end of ",
				 is_cut			 ? ""
				 : r->went_on.count == 1 ? "it"
							 : "them all");
	else if (!is_quiet)
		say_why_empty(r);
	if (!is_quiet)
		say_notes(r);
	ptrc_run_snapshots_report(&r->outcome.snapshots);
	if (config.sessions[0].only_counts && !is_quiet)
		put_counts(r);
	is_told = ptrc_run_result_put(&r->outcome);
	is_incomplete = ptrc_losses_is_any(&r->outcome.losses) || r->outcome.snapshots.failed;
	if (WIFEXITED(r->outcome.status) && !WEXITSTATUS(r->outcome.status) &&
	    (!is_told || (is_incomplete && !is_loss_allowed)))
		return W_EXITCODE(PTRC_EXIT_INCOMPLETE, 0);
	return r->outcome.status;
}

/* Judges the log by the rules, and writes the verdicts. Returns the status to end with, as wait() returns it:
 * that of COMMAND, if COMMAND failed. */
static int judge(const struct run *r, int status)
{
	static struct ptrc_pairs pairs;
	struct ptrc_selection selection;
	struct ptrc_check check = {.rules = NULL};
	char *paths[] = {(char *)(uintptr_t)r->log.path};
	int verdict = PTRC_EXIT_RUN_FAILED;

	if (!rules.count)
		return status;
	ptrc_selection_begin(&selection, &judged, &pairs);
	selection.is_of_logs = true;
	judged.is_loss_allowed = is_loss_allowed;
	judged.needs_gap = rules.has_gap;
	judged.needs_bound = rules.has_bound;
	if (ptrc_selection_open(&selection, paths, 1) && ptrc_rules_bind_again(&rules, &judged)) {
		ptrc_check_begin(&check, &rules, &judged);
		verdict = (int)ptrc_check_judge(&check);
		if (!ptrc_run_verdicts_put(&check))
			verdict = PTRC_EXIT_RUN_FAILED;
	}
	ptrc_judge_free(&check.judge);
	ptrc_selection_free(&selection);
	if (WIFEXITED(r->outcome.status) && !WEXITSTATUS(r->outcome.status) && verdict)
		return W_EXITCODE(verdict, 0);
	return status;
}

/* Whether the child ended before it could be traced. Its status then says why, and no message is needed. */
static bool is_child_gone(const struct run *r)
{
	siginfo_t info = {.si_pid = 0};

	return !waitid(P_PID, (id_t)r->child, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == r->child;
}

static int create_trace(void *arg)
{
	return ptrc_server_make_stream(((struct run *)arg)->server, &((struct run *)arg)->stage);
}

/* Creates and starts the trace. If that waits because the log accepts nothing, a signal ends this process, as
 * COMMAND does not run yet. The child then ends because the gate closes. */
static int create(struct run *r)
{
	struct ptrc_background b;
	PTRC_SCOPED_FD signals = open_end_signals(false);
	int signal;

	ptrc_background_begin(&b, create_trace, r);
	while ((signal = await(&b, signals)) >= 0) {
		if (!signal)
			continue;
		ptrc_group_signal_end();
		give_up(r);
		end_as(W_EXITCODE(0, signal));
		_exit(PTRC_EXIT_RUN_SIGNAL + signal);
	}
	return ptrc_background_end(&b);
}

/* Creates and starts the trace, and starts to serve the session. Returns false after a
 * message. */
static bool start_trace(struct run *r)
{
	int error = create(r);

	if (!error) {
		ptrc_logfile_begun(&r->log);
		say_session_error(r);
		if (*ptrc_server_os_refusal(r->server))
			ptrc_cli_message("--os", "%s", ptrc_server_os_refusal(r->server));
		ptrc_server_begin(r->server);
		r->is_recording = true;
	} else if (r->stage != PTRC_SESSION_STAGE_STREAM || !is_child_gone(r)) {
		ptrc_trace_error(r->stage, error, r->child, r->command[0], r->log.path);
	}
	return !error;
}

int main(int argc, char **argv)
{
	static struct run r = {.log = {.fd = -1}, .awaited_fd = -1};
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	int status;
	int error;

	parse(argc, argv, &r);
	if (given.is_dump) {
		ptrc_output_begin();
		ptrc_config_dump(&config, given.user, &out);
		ptrc_output_end(&out);
		return PTRC_EXIT_DONE;
	}
	prepare(&r, &config.sessions[0]);
	error = start_child(&r);
	if (error) {
		ptrc_trace_no_process(r.command[0], error);
		return give_up(&r);
	}
	if (!start_trace(&r))
		return abandon(&r);
	error = release_child(&r);
	r.outcome.status = wait_child(&r);
	r.has_command_ended = true;
	ptrc_server_target_ended(r.server);
	ptrc_group_signal_end();
	wait_rest(&r);
	if (r.is_recording)
		end_recording(&r);
	if (error) {
		ptrc_logfile_close(&r.log, false);
		return say_cannot_execute(r.command[0], error);
	}
	status = report(&r);
	ptrc_logfile_close(&r.log, true);
	return end_as(judge(&r, status));
}

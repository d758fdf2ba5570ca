/* SPDX-License-Identifier: MIT */
/*
 * A small bank on SQLite, traced through SQLite's own hooks. Several threads, each with a
 * connection of its own, move money between accounts of one database in WAL mode: indexed
 * reads, inserts, updates, transactions that commit, transactions that roll back because
 * an account has no money left, waits for the only write lock, and now and then a query
 * that has to scan everything. At the end the sum of all money must be right.
 *
 * 	ptrace-run -o run.log -- sqlite-trace
 * 	ptrace-stat --pair='sql.begin..sql.end by data.stmt' run.log
 * 	ptrace-dump --where='data.took > 5ms' run.log
 *
 * The events, whose types have a layout:
 *
 * 	sql.begin     stmt, thread, sql             a statement starts
 * 	sql.row       stmt, thread, row             it yielded its row number `row`
 * 	sql.end       stmt, took, thread, rows, scan, sql
 * 	                                            it ended, `took` after its start, with
 * 	                                            `scan` steps forward in a full scan
 * 	sql.progress  stmt, thread, sql             it did another PROGRESS_STEPS steps
 * 	sql.busy      stmt, thread, tries, sql      it is about to wait for a lock
 * 	sql.commit    thread                        a transaction that wrote ends well
 * 	sql.rollback  thread                        a transaction is undone
 *
 * The last two digits of a statement's number are those of its thread. At the end the program
 * prints how often each hook ran, in the format of uniq -c, to compare with a trace.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <posixtrace.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STATEMENTS_DEFAULT 100000
#define THREADS_DEFAULT 4
#define THREADS_MAX 64
#define ACCOUNTS 1000
/* So small, compared with AMOUNT_MAX, that many transfers have to be rolled back. */
#define BALANCE_START 500
#define AMOUNT_MAX 400
/* Steps of SQLite's virtual machine between progress events; only statements that take
 * milliseconds make that many. */
#define PROGRESS_STEPS 100000
/* The most unfinished statements of one connection. */
#define OPEN_MAX_STMTS 4
/* Longer SQL is cut. */
#define SQL_MAX 512

enum { BEGIN, ROW, END, PROGRESS, BUSY, COMMIT, ROLLBACK, EVENT_COUNT };

/* Event types whose data is a structure: the layout is derived from it. */
struct row {
	uint64_t stmt;
	uint32_t thread;
	uint32_t row;
};

struct transaction {
	uint32_t thread;
};

POSIXTRACE_TYPE(sql_row, "sql.row", struct row, stmt, thread, row);
POSIXTRACE_TYPE(sql_commit, "sql.commit", struct transaction, thread);
POSIXTRACE_TYPE(sql_rollback, "sql.rollback", struct transaction, thread);

/* The data of the others ends with text of any length. Their layouts are written out next to the
 * event types, and must agree with these structures. */
struct statement {
	uint64_t stmt;
	uint32_t thread;
	char sql[SQL_MAX];
};

struct end {
	uint64_t stmt;
	uint64_t took;
	uint32_t thread;
	uint32_t rows;
	uint32_t scan;
	char sql[SQL_MAX];
};

struct busy {
	uint64_t stmt;
	uint32_t thread;
	uint32_t tries;
	char sql[SQL_MAX];
};

static const struct event_type {
	const char *name;
	const char *layout;
	/* The type of an event whose data is a structure. */
	struct posixtrace_type *type;
} event_types[EVENT_COUNT] = {
	[BEGIN] = {"sql.begin", "u64 stmt, u32 thread, str sql", NULL},
	[ROW] = {"sql.row", NULL, &sql_row},
	[END] = {"sql.end", "u64 stmt, u64 took ns, u32 thread, u32 rows, u32 scan, str sql", NULL},
	[PROGRESS] = {"sql.progress", "u64 stmt, u32 thread, str sql", NULL},
	[BUSY] = {"sql.busy", "u64 stmt, u32 thread, u32 tries, str sql", NULL},
	[COMMIT] = {"sql.commit", NULL, &sql_commit},
	[ROLLBACK] = {"sql.rollback", NULL, &sql_rollback},
};

static trace_event_id_t event_ids[EVENT_COUNT];

/* A connection and the state of its hooks, used by one thread. */
struct connection {
	sqlite3 *db;
	uint32_t thread;
	uint64_t stmt_count;
	uint64_t hook_count[EVENT_COUNT];
	struct open_stmt {
		sqlite3_stmt *stmt;
		uint64_t number;
		uint64_t begin_ns;
		uint32_t rows;
	} open[OPEN_MAX_STMTS];
	struct open_stmt *newest;
};

/* The tracing half. The hooks run inside SQLite, so they allocate nothing, take no lock, and call
 * only functions of SQLite that it allows there. */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Copies SQL into the last member of an event's data, and returns its size. The text is UTF-8; it
 * is cut between characters. */
static size_t put_sql(char *to, const char *sql)
{
	size_t size = sql ? strlen(sql) : 0;

	if (size > SQL_MAX)
		for (size = SQL_MAX; size && (sql[size] & 0xc0) == 0x80; size--)
			;
	memcpy(to, sql ? sql : "", size);
	return size;
}

static void emit(struct connection *c, int event, const void *data, size_t size)
{
	posix_trace_event(event_ids[event], data, size);
	c->hook_count[event]++;
}

static void emit_statement(struct connection *c, int event, uint64_t stmt, const char *sql)
{
	struct statement data;

	data.stmt = stmt;
	data.thread = c->thread;
	emit(c, event, &data, offsetof(struct statement, sql) + put_sql(data.sql, sql));
}

static struct open_stmt *open_stmt_find(struct connection *c, const sqlite3_stmt *stmt)
{
	for (int i = 0; i < OPEN_MAX_STMTS; i++)
		if (c->open[i].stmt == stmt)
			return &c->open[i];
	return NULL;
}

static void statement_begin(struct connection *c, sqlite3_stmt *stmt, const char *sql)
{
	struct open_stmt *o = open_stmt_find(c, NULL);

	/* For a trigger, SQLite passes a comment instead of a statement. */
	if (!o || (sql[0] == '-' && sql[1] == '-'))
		return;
	*o = (struct open_stmt){.stmt = stmt, .number = ++c->stmt_count * 100 + c->thread};
	c->newest = o;
	emit_statement(c, BEGIN, o->number, sql);
	o->begin_ns = now_ns();
}

static void statement_row(struct connection *c, sqlite3_stmt *stmt)
{
	struct open_stmt *o = open_stmt_find(c, stmt);

	/* SQLite reads its schema by statements that it does not report to statement_begin(). */
	if (!o)
		return;
	o->rows++;
	POSIXTRACE_EMIT(sql_row, .stmt = o->number, .thread = c->thread, .row = o->rows);
	c->hook_count[ROW]++;
}

/* Measures the time itself: that which SQLite passes is only in milliseconds. */
static void statement_end(struct connection *c, sqlite3_stmt *stmt)
{
	uint64_t end_ns = now_ns();
	struct open_stmt *o = open_stmt_find(c, stmt);
	int scan = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
	struct end data;

	if (!o)
		return;
	data.stmt = o->number;
	data.took = end_ns - o->begin_ns;
	data.thread = c->thread;
	data.rows = o->rows;
	data.scan = (uint32_t)scan;
	emit(c, END, &data, offsetof(struct end, sql) + put_sql(data.sql, sqlite3_sql(stmt)));
	o->stmt = NULL;
	if (c->newest == o)
		c->newest = NULL;
}

static int on_trace(unsigned what, void *context, void *stmt, void *detail)
{
	struct connection *c = context;

	if (what == SQLITE_TRACE_STMT)
		statement_begin(c, stmt, detail);
	else if (what == SQLITE_TRACE_ROW)
		statement_row(c, stmt);
	else if (what == SQLITE_TRACE_PROFILE)
		statement_end(c, stmt);
	return 0;
}

static int on_progress(void *context)
{
	struct connection *c = context;

	emit_statement(c, PROGRESS, c->newest ? c->newest->number : 0,
		       c->newest ? sqlite3_sql(c->newest->stmt) : NULL);
	return 0;
}

static int on_commit(void *context)
{
	struct connection *c = context;

	POSIXTRACE_EMIT(sql_commit, .thread = c->thread);
	c->hook_count[COMMIT]++;
	return 0;
}

static void on_rollback(void *context)
{
	struct connection *c = context;

	POSIXTRACE_EMIT(sql_rollback, .thread = c->thread);
	c->hook_count[ROLLBACK]++;
}

/* The number of waits for a lock. */
static atomic_uint waits;

/* Waits somewhat longer each time. Never gives up, as no lock is held for long. */
static int on_busy(void *context, int tries)
{
	struct connection *c = context;
	struct timespec pause = {.tv_nsec = 20000L << (tries < 6 ? tries : 6)};
	struct busy data;

	data.stmt = c->newest ? c->newest->number : 0;
	data.thread = c->thread;
	data.tries = (uint32_t)tries;
	emit(c, BUSY, &data,
	     offsetof(struct busy, sql) +
		     put_sql(data.sql, c->newest ? sqlite3_sql(c->newest->stmt) : NULL));
	atomic_fetch_add(&waits, 1);
	nanosleep(&pause, NULL);
	return 1;
}

static void hooks_install(struct connection *c)
{
	sqlite3_trace_v2(c->db, SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE,
			 on_trace, c);
	sqlite3_progress_handler(c->db, PROGRESS_STEPS, on_progress, c);
	sqlite3_commit_hook(c->db, on_commit, c);
	sqlite3_rollback_hook(c->db, on_rollback, c);
	sqlite3_busy_handler(c->db, on_busy, c);
}

/* The bank, an ordinary SQLite program. Any error ends the run. */

enum {
	Q_BEGIN,
	Q_COMMIT,
	Q_ROLLBACK,
	Q_BALANCE,
	Q_MOVE,
	Q_ENTRY,
	Q_HISTORY,
	Q_SEARCH,
	QUERY_COUNT
};

static const char *const queries[QUERY_COUNT] = {
	[Q_BEGIN] = "BEGIN IMMEDIATE",
	[Q_COMMIT] = "COMMIT",
	[Q_ROLLBACK] = "ROLLBACK",
	[Q_BALANCE] = "SELECT balance FROM account WHERE id = ?",
	[Q_MOVE] = "UPDATE account SET balance = balance + ? WHERE id = ?",
	[Q_ENTRY] = "INSERT INTO entry(account, amount, note) VALUES (?, ?, ?)",
	[Q_HISTORY] = ("SELECT amount, note FROM entry WHERE account = ?"
		       " ORDER BY id DESC LIMIT 5"),
	[Q_SEARCH] = "SELECT count(*), total(amount) FROM entry WHERE note LIKE '%7 \"rent\"'",
};

static const char schema[] =
	"PRAGMA journal_mode = WAL;"
	"CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);"
	"CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER NOT NULL,"
	" amount INTEGER NOT NULL, note TEXT NOT NULL);"
	"CREATE INDEX entry_account ON entry(account);"
	"WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
	" INSERT INTO account SELECT i, %d FROM n;";

struct teller {
	pthread_t thread;
	struct connection connection;
	sqlite3_stmt *stmts[QUERY_COUNT];
	uint64_t random;
};

static const char *path;
static uint64_t stmts_per_teller;
static unsigned teller_count;
static struct teller tellers[THREADS_MAX];
static pthread_barrier_t bank_opens;
static char private_dir[PATH_MAX];

static void private_dir_remove(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[PATH_MAX + 16];

	if (!private_dir[0])
		return;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(name, sizeof(name), "%s/bank.db%s", private_dir, suffixes[i]);
		unlink(name);
	}
	rmdir(private_dir);
}

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list args;

	flockfile(stderr);
	fputs("sqlite-trace: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	private_dir_remove();
	_exit(1);
}

static void check(sqlite3 *db, int rc)
{
	if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
		die("%s: %s", path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

static void execute(sqlite3 *db, const char *sql)
{
	check(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static void connection_open(struct connection *c, unsigned thread)
{
	c->thread = thread;
	check(NULL,
	      sqlite3_open_v2(path, &c->db,
			      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			      NULL));
	hooks_install(c);
	/* The data need not survive a power failure, so no time is spent in fsync(). */
	execute(c->db, "PRAGMA synchronous = OFF");
}

/* Runs a prepared statement to its end and returns the last row's first column. */
static int64_t run(struct teller *t, int query)
{
	sqlite3_stmt *stmt = t->stmts[query];
	int64_t result = 0;
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		result = sqlite3_column_int64(stmt, 0);
	check(t->connection.db, rc);
	check(t->connection.db, sqlite3_reset(stmt));
	return result;
}

static void bind(struct teller *t, int query, int index, int value)
{
	check(t->connection.db, sqlite3_bind_int(t->stmts[query], index, value));
}

static unsigned pick(struct teller *t, unsigned limit)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (unsigned)(t->random >> 32) % limit;
}

static void move(struct teller *t, int account, int amount)
{
	static const char *const purposes[] = {"rent", "salary", "tea", "a\\b\tc", "zażółć"};
	char note[64];

	snprintf(note, sizeof(note), "%u \"%s\"", pick(t, 1000), purposes[pick(t, 5)]);
	bind(t, Q_MOVE, 1, amount);
	bind(t, Q_MOVE, 2, account);
	run(t, Q_MOVE);
	bind(t, Q_ENTRY, 1, account);
	bind(t, Q_ENTRY, 2, amount);
	check(t->connection.db,
	      sqlite3_bind_text(t->stmts[Q_ENTRY], 3, note, -1, SQLITE_TRANSIENT));
	run(t, Q_ENTRY);
}

static void transfer(struct teller *t)
{
	int amount = 1 + (int)pick(t, AMOUNT_MAX);
	int from = 1 + (int)pick(t, ACCOUNTS);
	int to = 1 + (from + (int)pick(t, ACCOUNTS - 1)) % ACCOUNTS;

	run(t, Q_BEGIN);
	move(t, from, -amount);
	move(t, to, amount);
	bind(t, Q_BALANCE, 1, from);
	run(t, run(t, Q_BALANCE) < 0 ? Q_ROLLBACK : Q_COMMIT);
}

/* The first teller keeps the write lock until another one has had to wait for it, so that even a
 * short run has events of waiting. */
static void bank_open(struct teller *t)
{
	struct timespec pause = {.tv_nsec = 100000};
	bool is_first = t == tellers && teller_count > 1;

	if (is_first)
		run(t, Q_BEGIN);
	pthread_barrier_wait(&bank_opens);
	if (is_first) {
		while (!atomic_load(&waits))
			nanosleep(&pause, NULL);
		run(t, Q_COMMIT);
	}
}

static void *teller_work(void *argument)
{
	struct teller *t = argument;
	struct connection *c = &t->connection;

	connection_open(c, (unsigned)(t - tellers));
	t->random = 0x9e3779b97f4a7c15U * (c->thread + 1U);
	for (int i = 0; i < QUERY_COUNT; i++)
		check(c->db, sqlite3_prepare_v3(c->db, queries[i], -1, SQLITE_PREPARE_PERSISTENT,
						&t->stmts[i], NULL));
	bank_open(t);
	/* Checked once a round, so the number of statements is only roughly as wanted. */
	for (unsigned round = 1; c->stmt_count < stmts_per_teller || round == 1; round++) {
		transfer(t);
		for (int i = 0; i < 4; i++) {
			bind(t, Q_HISTORY, 1, 1 + (int)pick(t, ACCOUNTS));
			run(t, Q_HISTORY);
		}
		if (round % 64 == 0)
			run(t, Q_SEARCH);
	}
	run(t, Q_SEARCH);
	for (int i = 0; i < QUERY_COUNT; i++)
		sqlite3_finalize(t->stmts[i]);
	check(NULL, sqlite3_close(c->db));
	return NULL;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t result;

	check(db, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
	check(db, sqlite3_step(stmt));
	result = sqlite3_column_int64(stmt, 0);
	check(db, sqlite3_finalize(stmt));
	return result;
}

static void bank_found(struct connection *c)
{
	char sql[sizeof(schema) + 32];

	snprintf(sql, sizeof(sql), schema, ACCOUNTS, BALANCE_START);
	execute(c->db, sql);
}

static void bank_audit(struct connection *c)
{
	int64_t money = ask(c->db, "SELECT total(balance) FROM account");
	int64_t moved = ask(c->db, "SELECT total(amount) FROM entry");

	if (money != (int64_t)ACCOUNTS * BALANCE_START || moved != 0 ||
	    ask(c->db, "SELECT count(*) FROM account WHERE balance < 0"))
		die("%s: the books do not balance", path);
}

static void usage(FILE *out)
{
	fputs("Usage: sqlite-trace [-n STATEMENTS] [-t THREADS] [DATABASE]\n"
	      "Run a workload on a new SQLite database and trace it.\n\n"
	      "  -n, --statements=N  run about N statements in all (100000)\n"
	      "  -t, --threads=N     in N threads, 1 to 64 (4)\n"
	      "  -h, --help          print this and exit\n\n"
	      "DATABASE must not exist yet; it is kept. Without it, one in a temporary\n"
	      "directory is used and removed.\n",
	      out);
}

static uint64_t number(const char *s, uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(s, &end, 10);
	if (errno || *end || s[0] < '0' || s[0] > '9' || value < min || value > max) {
		fprintf(stderr,
			"sqlite-trace: %s: not a number from %llu to %llu\n"
			"Try 'sqlite-trace --help'.\n",
			s, (unsigned long long)min, (unsigned long long)max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"statements", required_argument, NULL, 'n'},
		{"threads", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	static struct connection office;
	static char private_path[PATH_MAX + 16];
	uint64_t statements = STATEMENTS_DEFAULT;
	struct stat st;
	int option;

	teller_count = THREADS_DEFAULT;
	while ((option = getopt_long(argc, argv, "n:t:h", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			statements = number(optarg, 0, 1000000000);
			break;
		case 't':
			teller_count = (unsigned)number(optarg, 1, THREADS_MAX);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			fputs("Try 'sqlite-trace --help'.\n", stderr);
			return 2;
		}
	}
	if (argc - optind > 1) {
		fprintf(stderr, "sqlite-trace: %s: one database only\n", argv[optind + 1]);
		fputs("Try 'sqlite-trace --help'.\n", stderr);
		return 2;
	}
	stmts_per_teller = statements / teller_count + 1;

	path = argv[optind];
	if (path) {
		int error = lstat(path, &st) ? errno : EEXIST;

		if (error != ENOENT)
			die("%s: %s", path, strerror(error));
	} else {
		const char *tmp = getenv("TMPDIR");

		snprintf(private_dir, sizeof(private_dir), "%s/sqlite-trace.XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");
		if (!mkdtemp(private_dir)) {
			int error = errno;
			char wanted[PATH_MAX];

			memcpy(wanted, private_dir, sizeof(wanted));
			private_dir[0] = '\0';
			die("%s: %s", wanted, strerror(error));
		}
		snprintf(private_path, sizeof(private_path), "%s/bank.db", private_dir);
		path = private_path;
	}

	for (int i = 0; i < EVENT_COUNT; i++) {
		const struct event_type *type = &event_types[i];
		int error = type->type ? posixtrace_open_type(type->type)
				       : posixtrace_eventid_open_layout(type->name, type->layout,
									&event_ids[i]);

		if (error)
			die("%s: %s", type->name, strerror(error));
	}

	connection_open(&office, teller_count);
	bank_found(&office);
	pthread_barrier_init(&bank_opens, NULL, teller_count);
	for (unsigned i = 0; i < teller_count; i++) {
		int error = pthread_create(&tellers[i].thread, NULL, teller_work, &tellers[i]);

		if (error)
			die("thread: %s", strerror(error));
	}
	for (unsigned i = 0; i < teller_count; i++)
		pthread_join(tellers[i].thread, NULL);
	bank_audit(&office);
	check(NULL, sqlite3_close(office.db));
	private_dir_remove();

	for (int event = 0; event < EVENT_COUNT; event++) {
		uint64_t count = office.hook_count[event];

		for (unsigned i = 0; i < teller_count; i++)
			count += tellers[i].connection.hook_count[event];
		printf("%7llu %s\n", (unsigned long long)count, event_types[event].name);
	}
	if (fflush(stdout) || ferror(stdout)) {
		perror("sqlite-trace: standard output");
		return 1;
	}
	return 0;
}

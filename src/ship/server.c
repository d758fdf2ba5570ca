/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/server.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"

/* The longest time that connecting may take. */
#define CONNECT_MS 10000L
/* A request is given up if no byte comes for this time. So a server may work on an INSERT for at most this time. */
#define STALL_S 120L
/* The first request, which asks for the server's version, is given up if no byte comes for this time. */
#define GREET_STALL_S 10L
/* If the server has not answered for this time, the user is told that the command waits for it. */
#define SILENT_NS (INT64_C(15000) * PTRC_NS_PER_MS)
/* A connection that was idle for longer than this is not used again, because servers close idle connections
 * after some seconds. */
#define IDLE_S 2L
/* For how long a running request may go on after a signal. */
#define RELEASE_NS (INT64_C(500) * PTRC_NS_PER_MS)
/* The least time for a request, even if less is left until the time of --give-up. */
#define LAST_TRY_NS (INT64_C(1000) * PTRC_NS_PER_MS)
/* The first release of ClickHouse that understands the dialect PTRC_SHIP_MODERN. */
enum { MODERN_MAJOR = 21 };

/* ---- one request ---- */

static size_t take_answer(char *bytes, size_t one, size_t size, void *arg)
{
	struct ptrc_ship_server *s = arg;

	(void)one;
	return ptrc_ship_answer_take(&s->answer, bytes, size) ? size : 0;
}

/*
 * Gives libcurl the body piece by piece. libcurl is given no function to rewind the body. Otherwise it would
 * send the body again by itself when a connection that was used before breaks, although the body may have
 * arrived. Without that function, the request fails, and the caller asks the server first what it has.
 */
static size_t give_body(char *to, size_t one, size_t size, void *arg)
{
	struct ptrc_ship_server *s = arg;

	(void)one;
	if (size > s->size - s->sent)
		size = s->size - s->sent;
	if (size)
		memcpy(to, s->body + s->sent, size);
	s->sent += size;
	if (size)
		s->asked_ns = ptrc_now_ns();
	return size;
}

static size_t take_header(char *line, size_t one, size_t size, void *arg)
{
	struct ptrc_ship_server *s = arg;

	(void)one;
	ptrc_ship_answer_take_head(&s->answer, line, size);
	return size;
}

/* Returns true to give up the request: RELEASE_NS after a signal, or when the time of --give-up is over.
 * libcurl calls this function at least once a second, and when a signal comes. */
static int look_at_time(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct ptrc_ship_server *s = arg;
	int64_t now = ptrc_now_ns();
	int64_t since = s->silent_since_ns ? s->silent_since_ns : s->asked_ns;
	int64_t limit = s->options.give_up_ns;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	s->is_late = limit && now - since > limit && now - s->asked_ns > LAST_TRY_NS;
	if (!s->silent_since_ns && now - s->asked_ns > SILENT_NS) {
		s->silent_since_ns = s->asked_ns;
		ptrc_cli_message(s->options.server, "gives no answer; it is waited for");
	}
	if (!*s->options.is_stopped)
		return s->is_late;
	if (!s->released_ns)
		s->released_ns = now + RELEASE_NS;
	return s->is_late || now > s->released_ns;
}

static void put_parameter(struct ptrc_ship_server *s, const char *name, const char *value)
{
	char *escaped = curl_easy_escape(s->curl, value, 0);

	if (!escaped)
		ptrc_cli_no_memory();
	if (s->url.bytes[s->url.used - 1] != '?')
		ptrc_buffer_char(&s->url, '&');
	ptrc_buffer_text(&s->url, name);
	ptrc_buffer_char(&s->url, '=');
	ptrc_buffer_text(&s->url, escaped);
	curl_free(escaped);
}

static void begin_url(struct ptrc_ship_server *s)
{
	s->url.used = 0;
	ptrc_buffer_text(&s->url, s->options.server);
	ptrc_buffer_text(&s->url, "/?");
}

static enum ptrc_ship_outcome judge_failure(struct ptrc_ship_server *s)
{
	const char *problem = *s->error ? s->error : curl_easy_strerror(s->result);

	/* libcurl wanted to send the body again from its start, because the server had closed the
	 * connection. give_body() does not allow that. */
	if (s->result == CURLE_SEND_FAIL_REWIND)
		problem = "has closed the connection";
	if (s->result == CURLE_ABORTED_BY_CALLBACK && s->is_late)
		return ptrc_ship_because(&s->answer, PTRC_SHIP_LATER, "gives no answer");
	if (s->result == CURLE_ABORTED_BY_CALLBACK)
		return ptrc_ship_because(&s->answer, PTRC_SHIP_INTERRUPTED,
					 "was given up because of a signal");
	if (s->answer.is_too_long)
		return ptrc_ship_because(&s->answer, PTRC_SHIP_LATER,
					 "answers with more than it was asked for");
	if (s->result == CURLE_PEER_FAILED_VERIFICATION)
		return ptrc_ship_because(&s->answer, PTRC_SHIP_REFUSED,
					 "has a certificate that is not accepted (%s)%s", problem,
					 s->options.ca_file ? ""
							    : "; --ca-file names trusted ones");
	if (s->result == CURLE_SSL_CACERT_BADFILE || s->result == CURLE_UNSUPPORTED_PROTOCOL ||
	    s->result == CURLE_URL_MALFORMAT)
		return ptrc_ship_because(&s->answer, PTRC_SHIP_REFUSED, "%s", problem);
	return ptrc_ship_because(&s->answer, PTRC_SHIP_LATER, "%s", problem);
}

static enum ptrc_ship_outcome request(struct ptrc_ship_server *s, const void *body, size_t size,
				      struct curl_slist *headers)
{
	ptrc_buffer_char(&s->url, '\0');
	ptrc_ship_answer_begin(&s->answer);
	s->error[0] = '\0';
	s->asked_ns = ptrc_now_ns();
	s->is_late = false;
	curl_easy_setopt(s->curl, CURLOPT_URL, s->url.bytes);
	curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	s->body = body;
	s->size = size;
	s->sent = 0;
	s->result = curl_easy_perform(s->curl);
	if (s->result != CURLE_OK || s->answer.is_too_long)
		return judge_failure(s);
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &s->answer.status);
	return ptrc_ship_answer_judge(&s->answer);
}

static enum ptrc_ship_outcome ask(struct ptrc_ship_server *s)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	enum ptrc_ship_outcome outcome;

	begin_url(s);
	put_parameter(s, "wait_end_of_query", "1");
	outcome = request(s, s->query.bytes, s->query.used, headers);
	curl_slist_free_all(headers);
	return outcome;
}

static enum ptrc_ship_outcome ask_number(struct ptrc_ship_server *s, uint64_t *number)
{
	enum ptrc_ship_outcome outcome = ask(s);

	return outcome == PTRC_SHIP_OK ? ptrc_ship_answer_number(&s->answer, number) : outcome;
}

/* ---- queries ---- */

/* Starts a query with this text. If `table` is not NULL, the name of the table follows. */
static void begin_query(struct ptrc_ship_server *s, const char *text, const char *table)
{
	s->query.used = 0;
	ptrc_buffer_text(&s->query, text);
	if (!table)
		return;
	ptrc_ship_identifier_put(&s->query, s->options.database);
	ptrc_buffer_char(&s->query, '.');
	ptrc_buffer_text(&s->query, table);
}

/* Whether this result is an error that libcurl reports if one side uses TLS and the other does not. */
static bool is_misunderstood(CURLcode result)
{
	return result == CURLE_SSL_CONNECT_ERROR || result == CURLE_GOT_NOTHING ||
	       result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
	       result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY;
}

/* Whether the server's port speaks https although the user has given http, or http although the user has given
 * https. Only the start of TLS or a request without secrets is sent, so the certificate need not be verified. */
static bool answers_otherwise(struct ptrc_ship_server *s)
{
	CURLU *url = curl_url();
	CURL *curl = curl_easy_init();
	char *port = NULL;
	bool is_tls = !strncmp(s->options.server, "http:", 5), answers = false;

	if (!url || !curl)
		ptrc_cli_no_memory();
	if (!curl_url_set(url, CURLUPART_URL, s->options.server, 0) &&
	    !curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
	    !curl_url_set(url, CURLUPART_PORT, port, 0) &&
	    !curl_url_set(url, CURLUPART_SCHEME, is_tls ? "https" : "http", 0)) {
		curl_easy_setopt(curl, CURLOPT_CURLU, url);
		curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, CONNECT_MS / 2);
		curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_at_time);
		curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s);
		curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
		curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, is_tls ? 1L : 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
		answers = curl_easy_perform(curl) == CURLE_OK;
	}
	curl_free(port);
	curl_easy_cleanup(curl);
	curl_url_cleanup(url);
	return answers;
}

/* Finds out whether the first request has failed because the user has given the wrong protocol, http or https, and
 * returns a better reason and outcome in this case. */
static enum ptrc_ship_outcome look_why(struct ptrc_ship_server *s, enum ptrc_ship_outcome outcome)
{
	bool is_http = !strncmp(s->options.server, "http:", 5);

	if (!is_misunderstood(s->result))
		return outcome;
	if (answers_otherwise(s))
		return ptrc_ship_because(&s->answer, PTRC_SHIP_REFUSED,
					 "speaks %s at this port: --server has to begin with %s",
					 is_http ? "HTTPS" : "HTTP without TLS",
					 is_http ? "https://" : "http://");
	if (s->result == CURLE_UNSUPPORTED_PROTOCOL || s->result == CURLE_WEIRD_SERVER_REPLY)
		return ptrc_ship_because(&s->answer, PTRC_SHIP_REFUSED,
					 "speaks something else than HTTP at this port (%s)",
					 *s->error ? s->error : curl_easy_strerror(s->result));
	return outcome;
}

static enum ptrc_ship_outcome ask_version(struct ptrc_ship_server *s)
{
	enum ptrc_ship_outcome outcome;
	long major;

	begin_query(s, "SELECT version()", NULL);
	curl_easy_setopt(s->curl, CURLOPT_LOW_SPEED_TIME, GREET_STALL_S);
	outcome = ask(s);
	curl_easy_setopt(s->curl, CURLOPT_LOW_SPEED_TIME, STALL_S);
	if (outcome != PTRC_SHIP_OK)
		return look_why(s, outcome);
	outcome = ptrc_ship_answer_version(&s->answer, &major);
	if (outcome != PTRC_SHIP_OK)
		return outcome;
	if (s->options.has_dialect && s->dialect == PTRC_SHIP_MODERN && major < MODERN_MAJOR)
		return ptrc_ship_because(
			&s->answer, PTRC_SHIP_REFUSED,
			"is of release %ld, which does not understand the dialect 'modern'", major);
	if (!s->options.has_dialect)
		s->dialect = major >= MODERN_MAJOR ? PTRC_SHIP_MODERN : PTRC_SHIP_PLAIN;
	return PTRC_SHIP_OK;
}

static enum ptrc_ship_outcome check_tables(struct ptrc_ship_server *s)
{
	enum ptrc_ship_outcome outcome;
	uint64_t version;

	begin_query(s, "SELECT version FROM ", "schema");
	outcome = ask_number(s, &version);
	if (outcome == PTRC_SHIP_REFUSED && ptrc_ship_answer_is_no_table(&s->answer))
		ptrc_cli_because(&s->answer.why,
				 "has no tables in the database '%s'; 'ptrace-ship "
				 "--create-table' makes them",
				 s->options.database);
	if (outcome != PTRC_SHIP_OK)
		return outcome;
	if (version == PTRC_SHIP_SCHEMA_VERSION)
		return PTRC_SHIP_OK;
	return ptrc_ship_because(&s->answer, PTRC_SHIP_REFUSED,
				 "has tables of version %" PRIu64
				 ", and this ptrace-ship fills those of version %d",
				 version, PTRC_SHIP_SCHEMA_VERSION);
}

enum ptrc_ship_outcome ptrc_ship_server_greet(struct ptrc_ship_server *s)
{
	enum ptrc_ship_outcome outcome = ask_version(s);

	return outcome == PTRC_SHIP_OK ? check_tables(s) : outcome;
}

enum ptrc_ship_outcome ptrc_ship_server_create(struct ptrc_ship_server *s)
{
	enum ptrc_ship_outcome outcome = ask_version(s);

	for (size_t i = 0; outcome == PTRC_SHIP_OK; i++) {
		s->query.used = 0;
		if (!ptrc_ship_schema_statement(&s->query, s->dialect, s->options.database, i))
			break;
		outcome = ask(s);
	}
	/* Checks the version, because tables that existed before were not changed. */
	return outcome == PTRC_SHIP_OK ? check_tables(s) : outcome;
}

static void put_time(struct ptrc_ship_server *s, int64_t ns)
{
	ptrc_buffer_format(&s->query,
			   s->dialect == PTRC_SHIP_MODERN
				   ? "fromUnixTimestamp64Nano(toInt64(%" PRId64 "), 'UTC')"
				   : "%" PRId64,
			   ns);
}

/* Puts the condition that selects the rows of a log. The condition includes the host, because the tables are
 * sorted by host: otherwise the server would scan all rows. */
static void put_log(struct ptrc_ship_server *s, const char *host, const char *log)
{
	ptrc_buffer_text(&s->query, " WHERE host = '");
	for (; *host; host++)
		ptrc_buffer_format(&s->query, isalnum((unsigned char)*host) ? "%c" : "\\x%02X",
				   (unsigned char)*host);
	ptrc_buffer_format(&s->query, "' AND log = '%s'", log);
}

/* Puts the condition that selects a range of rows. Its times limit the search to few partitions (days). */
static void put_range(struct ptrc_ship_server *s, const struct ptrc_ship_range *r)
{
	put_log(s, r->host, r->log);
	ptrc_buffer_format(&s->query,
			   " AND seq >= %" PRIu64 " AND seq < %" PRIu64 " AND time >= ", r->first,
			   r->first + r->count);
	put_time(s, r->first_ns);
	ptrc_buffer_text(&s->query, " AND time <= ");
	put_time(s, r->last_ns);
}

enum ptrc_ship_outcome ptrc_ship_server_list(struct ptrc_ship_server *s,
					     const struct ptrc_ship_range *r, uint64_t **numbers,
					     uint64_t *count)
{
	enum ptrc_ship_outcome outcome;

	/* DISTINCT: a table of the plain dialect may have a row several times until the server merges its parts. */
	begin_query(s, "SELECT DISTINCT seq FROM ", "events");
	put_range(s, r);
	ptrc_buffer_text(&s->query, " ORDER BY seq FORMAT RowBinary");
	outcome = ask(s);
	if (outcome == PTRC_SHIP_OK)
		outcome = ptrc_ship_answer_numbers(&s->answer, r, numbers, count);
	return outcome;
}

enum ptrc_ship_outcome ptrc_ship_server_end_of(struct ptrc_ship_server *s, const char *host,
					       const char *log, uint64_t *end)
{
	begin_query(s, "SELECT if(count() = 0, 0, max(seq) + 1) FROM ", "events");
	put_log(s, host, log);
	return ask_number(s, end);
}

/* ---- inserting rows ---- */

enum ptrc_ship_outcome ptrc_ship_server_insert(struct ptrc_ship_server *s, const char *table,
					       const struct ptrc_buffer *body, const char *token)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	enum ptrc_ship_outcome outcome;

	headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
	begin_query(s, "INSERT INTO ", table);
	ptrc_buffer_text(&s->query, " FORMAT RowBinary");
	ptrc_buffer_char(&s->query, '\0');
	begin_url(s);
	put_parameter(s, "query", s->query.bytes);
	/* With this size, the rows form a single block, which the server inserts as a whole or not at all. */
	put_parameter(s, "max_insert_block_size", "1048576");
	put_parameter(s, "wait_end_of_query", "1");
	/* The server refuses a query while another one with the same id is running. So if a process was killed and
	 * the server has not noticed that, its query is not run twice at the same time. */
	put_parameter(s, "query_id", token);
	if (s->dialect == PTRC_SHIP_MODERN) {
		headers = curl_slist_append(headers, "Content-Encoding: zstd");
		put_parameter(s, "insert_deduplication_token", token);
		put_parameter(s, "async_insert", "0");
	} else {
		put_parameter(s, "decompress", "1");
		put_parameter(s, "http_native_compression_disable_checksumming_on_decompress", "1");
	}
	outcome = request(s, body->bytes, body->used, headers);
	curl_slist_free_all(headers);
	return outcome == PTRC_SHIP_OK ? ptrc_ship_answer_nothing(&s->answer) : outcome;
}

/* ---- the connection ---- */

/* Whether the text starts with http[s]://HOST[:PORT] and has no query, blank or line end. Refuses a user name and a
 * password in it, because they would be visible in the list of processes. */
static bool check_url(const char *url, struct ptrc_cli_reason *why)
{
	const char *host = strstr(url, "://");
	CURLUcode result;
	CURLU *parsed;

	if (!host || (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)))
		return ptrc_cli_because(why, "'%s' has to begin with http:// or https://", url);
	host += 3;
	if (!*host)
		return ptrc_cli_because(why, "'%s' has no host", url);
	if (strchr(host, '@'))
		return ptrc_cli_because(why,
					"must not contain a user or a password: use --login and "
					"--password-file");
	if (strpbrk(host, "?#\n\r \t"))
		return ptrc_cli_because(why, "'%s' has to end with the host or its port", url);
	parsed = curl_url();
	if (!parsed)
		ptrc_cli_no_memory();
	result = curl_url_set(parsed, CURLUPART_URL, url, 0);
	curl_url_cleanup(parsed);
	if (result)
		return ptrc_cli_because(why, "'%s' has no host, or an invalid port", url);
	return true;
}

struct ptrc_ship_server *ptrc_ship_server_new(const struct ptrc_ship_options *options,
					      struct ptrc_cli_reason *why)
{
	struct ptrc_ship_server *s;
	CURL *curl;

	if (!check_url(options->server, why))
		return NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(curl = curl_easy_init()))
		ptrc_cli_no_memory();
	s = ptrc_cli_allocate(sizeof(*s));
	*s = (struct ptrc_ship_server){
		.options = *options, .dialect = options->dialect, .curl = curl};
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, s->error);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
	curl_easy_setopt(curl, CURLOPT_READDATA, s);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, s);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_at_time);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, IDLE_S);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALL_S);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "ptrace-ship/" PACKAGE_VERSION);
	if (options->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, options->ca_file);
	if (options->user || options->password) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		curl_easy_setopt(curl, CURLOPT_USERNAME, options->user ? options->user : "default");
		curl_easy_setopt(curl, CURLOPT_PASSWORD,
				 options->password ? options->password : "");
	}
	return s;
}

/* Closes the connection before a long pause, because a connection costs the server a thread, of which it has
 * a limited number. */
void ptrc_ship_server_rest(struct ptrc_ship_server *s, int64_t ns)
{
	CURL *other = ns > IDLE_S * 1000 * PTRC_NS_PER_MS ? curl_easy_duphandle(s->curl) : NULL;

	if (!other)
		return;
	/* A connection belongs to the handle that has made it, and is closed with that handle. */
	curl_easy_cleanup(s->curl);
	s->curl = other;
}

void ptrc_ship_server_free(struct ptrc_ship_server *s)
{
	if (!s)
		return;
	curl_easy_cleanup(s->curl);
	ptrc_buffer_free(&s->url);
	ptrc_buffer_free(&s->query);
	ptrc_ship_answer_free(&s->answer);
	free(s);
	curl_global_cleanup();
}

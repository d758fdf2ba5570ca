/* SPDX-License-Identifier: MIT */
/* Requests to the database server (ClickHouse) through its HTTP interface. */
#ifndef PTRC_SRC_SHIP_SERVER_H
#define PTRC_SRC_SHIP_SERVER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/message.h"
#include "src/ship/answer.h"
#include "src/ship/schema.h"

struct ptrc_ship_options {
	/* http://HOST:PORT or https://HOST:PORT */
	const char *server;
	const char *database;
	/* The user and the password are NULL if they were not given. */
	const char *user;
	const char *password;
	/* A file with certificates; if it is NULL, those of the system are used. */
	const char *ca_file;
	bool has_dialect;
	enum ptrc_ship_dialect dialect;
	/* For how long a server that does not answer is tried again; 0: for ever. */
	int64_t give_up_ns;
	/* *is_stopped becomes true when a signal comes. A running request is given up soon afterwards. */
	volatile const bool *is_stopped;
};

struct ptrc_ship_server {
	struct ptrc_ship_options options;
	/* The dialect that the options give; otherwise the dialect that the server understands. */
	enum ptrc_ship_dialect dialect;
	CURL *curl;
	struct ptrc_buffer url;
	struct ptrc_buffer query;
	struct ptrc_ship_answer answer;
	/* The result of the last request. */
	CURLcode result;
	/* libcurl's text about .result. */
	char error[CURL_ERROR_SIZE];
	/* The following times are of CLOCK_MONOTONIC. The running request is given up at .released_ns, because a
	 * signal has come; 0 before a signal. */
	int64_t released_ns;
	/* When the server first failed to answer after its last success: the start of that request; 0 if it has not
	 * failed since. */
	int64_t silent_since_ns;
	/* When the last request started, or last sent a piece of its body. */
	int64_t asked_ns;
	/* The last request was given up because of .give_up_ns. */
	bool is_late;
	/* The body of the last request. */
	const char *body;
	size_t size;
	/* How many bytes of the body libcurl has taken, so that they may have arrived. */
	size_t sent;
};

/* Prepares for requests, but sends nothing. If the URL is not valid, returns NULL with the reason. */
struct ptrc_ship_server *ptrc_ship_server_new(const struct ptrc_ship_options *,
					      struct ptrc_cli_reason *why);
void ptrc_ship_server_free(struct ptrc_ship_server *);

/* Closes the connection before a pause of this length, if the pause is too long to use the connection again. */
void ptrc_ship_server_rest(struct ptrc_ship_server *, int64_t ns);

/* Asks the server for its version, decides on the dialect, and checks the version of the tables. */
enum ptrc_ship_outcome ptrc_ship_server_greet(struct ptrc_ship_server *);

/* Does the same as ptrc_ship_server_greet(), but makes missing tables before it checks their version. */
enum ptrc_ship_outcome ptrc_ship_server_create(struct ptrc_ship_server *);

enum ptrc_ship_outcome ptrc_ship_server_insert(struct ptrc_ship_server *, const char *table,
					       const struct ptrc_buffer *body, const char *token);

/* Asks the server which rows of the range it has. Stores their numbers, in ascending order, in an array that
 * the caller frees. */
enum ptrc_ship_outcome ptrc_ship_server_list(struct ptrc_ship_server *,
					     const struct ptrc_ship_range *, uint64_t **numbers,
					     uint64_t *count);

/* Asks the server for the last row that it has of a host's log. Stores the number of that row plus 1; 0 if the
 * server has no row. */
enum ptrc_ship_outcome ptrc_ship_server_end_of(struct ptrc_ship_server *, const char *host,
					       const char *log, uint64_t *end);

#endif

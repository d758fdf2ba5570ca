/* SPDX-License-Identifier: MIT */
/* The server, by its HTTP interface. */
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
	/* http://HOST:PORT or https:// */
	const char *server;
	const char *database;
	/* NULL if not given. */
	const char *user;
	const char *password;
	/* A file with certificates; NULL: the system's. */
	const char *ca_file;
	bool has_dialect;
	enum ptrc_ship_dialect dialect;
	/* How long a server that does not answer is tried; 0: for ever. */
	int64_t give_up_ns;
	/* Set by a signal; a running request is given up soon afterwards. */
	volatile const bool *is_stopped;
};

struct ptrc_ship_server {
	struct ptrc_ship_options options;
	/* The dialect of the options, or the one that the server understands. */
	enum ptrc_ship_dialect dialect;
	CURL *curl;
	struct ptrc_buffer url;
	struct ptrc_buffer query;
	struct ptrc_ship_answer answer;
	/* The result of the last request, and libcurl's text about it. */
	CURLcode result;
	char error[CURL_ERROR_SIZE];
	/* When a request that a signal has stopped is given up; 0: no signal yet. */
	int64_t released_ns;
	/* The start of the first of the requests that have failed since the last success; 0: none. */
	int64_t silent_since_ns;
	/* When the last request started or last sent a piece of its body. */
	int64_t asked_ns;
	/* The last request was given up because of .give_up_ns. */
	bool is_late;
	/* The body of the last request, and how many of its bytes may have arrived. */
	const char *body;
	size_t size;
	size_t sent;
};

/* Prepares for requests, sends nothing. Returns NULL with the reason if the URL is not valid. */
struct ptrc_ship_server *ptrc_ship_server_new(const struct ptrc_ship_options *,
					      struct ptrc_cli_reason *why);
void ptrc_ship_server_free(struct ptrc_ship_server *);

/* Closes the connection before a pause of this length if it would not be used again afterwards. */
void ptrc_ship_server_rest(struct ptrc_ship_server *, int64_t ns);

/* Asks for the server's version, decides on the dialect, and checks the version of the tables. */
enum ptrc_ship_outcome ptrc_ship_server_greet(struct ptrc_ship_server *);

/* Does the same, but makes missing tables before it checks their version. */
enum ptrc_ship_outcome ptrc_ship_server_create(struct ptrc_ship_server *);

enum ptrc_ship_outcome ptrc_ship_server_insert(struct ptrc_ship_server *, const char *table,
					       const struct ptrc_buffer *body, const char *token);

/* Asks which rows of the range the server has: an array of ascending numbers that the caller frees. */
enum ptrc_ship_outcome ptrc_ship_server_list(struct ptrc_ship_server *,
					     const struct ptrc_ship_range *, uint64_t **numbers,
					     uint64_t *count);

/* Asks for the number after that of the last row that the server has of a host's log; 0: it has none. */
enum ptrc_ship_outcome ptrc_ship_server_end_of(struct ptrc_ship_server *, const char *host,
					       const char *log, uint64_t *end);

#endif

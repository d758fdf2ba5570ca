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
	/* Null: none. */
	const char *user;
	const char *password;
	/* A file with certificates; null: those of the system. */
	const char *ca_file;
	bool has_dialect;
	enum ptrc_ship_dialect dialect;
	/* For how long a server that does not answer is tried; 0: for ever. */
	int64_t give_up_ns;
	/* A signal sets it; a request under way is given up soon after. */
	volatile const bool *is_stopped;
};

struct ptrc_ship_server {
	struct ptrc_ship_options options;
	/* The one that was asked for, or that the server has told. */
	enum ptrc_ship_dialect dialect;
	CURL *curl;
	struct ptrc_buffer url;
	struct ptrc_buffer query;
	struct ptrc_ship_answer answer;
	/* These are of the last request. */
	CURLcode result;
	char error[CURL_ERROR_SIZE];
	int64_t released_ns;
	/* Since when the server has been tried in vain; 0: the last request has succeeded. When the last request began,
	 * or its body last moved. */
	int64_t silent_since_ns;
	int64_t asked_ns;
	bool is_late;
	/* The body that is sent, and how much of it is gone and may have arrived. */
	const char *body;
	size_t size;
	size_t sent;
};

/* Makes ready to speak to a server. Returns null with the reason if the URL is none. */
struct ptrc_ship_server *ptrc_ship_server_new(const struct ptrc_ship_options *,
					      struct ptrc_cli_reason *why);
void ptrc_ship_server_free(struct ptrc_ship_server *);

/* Closes the connection if it would not be used again after a pause of this length. */
void ptrc_ship_server_rest(struct ptrc_ship_server *, int64_t ns);

/* Asks which version the server is of, decides on the dialect, and asks for the version of the tables, which has
 * to be ours. */
enum ptrc_ship_outcome ptrc_ship_server_greet(struct ptrc_ship_server *);

/* Does the same, and makes the tables that are not there before it asks for their version. */
enum ptrc_ship_outcome ptrc_ship_server_create(struct ptrc_ship_server *);

/* Sends the body of an INSERT into a table. */
enum ptrc_ship_outcome ptrc_ship_server_insert(struct ptrc_ship_server *, const char *table,
					       const struct ptrc_buffer *body, const char *token);

/* Asks how many rows of the range the server has. */
enum ptrc_ship_outcome ptrc_ship_server_count(struct ptrc_ship_server *,
					      const struct ptrc_ship_range *, uint64_t *count);

/* Asks which rows of the range it has: an array of numbers that grow, which the caller frees. */
enum ptrc_ship_outcome ptrc_ship_server_list(struct ptrc_ship_server *,
					     const struct ptrc_ship_range *, uint64_t **numbers,
					     uint64_t *count);

/* Asks which number is behind the last row that it has of a host's log; 0: it has none. */
enum ptrc_ship_outcome ptrc_ship_server_end_of(struct ptrc_ship_server *, const char *host,
					       const char *log, uint64_t *end);

#endif

/* SPDX-License-Identifier: MIT */
/* The server, by its HTTP interface. */
#ifndef PTRC_SRC_SHIP_SERVER_H
#define PTRC_SRC_SHIP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cli/buffer.h"
#include "src/cli/message.h"
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
};

struct ptrc_ship_server;

/* Makes ready to speak to a server. Returns null with the reason if the URL is none. */
struct ptrc_ship_server *ptrc_ship_server_new(const struct ptrc_ship_options *,
					      struct ptrc_cli_reason *why);
void ptrc_ship_server_free(struct ptrc_ship_server *);

/* Closes the connection if it would not be used again after a pause of this length. */
void ptrc_ship_server_rest(struct ptrc_ship_server *, int64_t ns);

/* From now on a request under way is given up soon after *flag has become true. */
void ptrc_ship_server_watch(struct ptrc_ship_server *, volatile const bool *flag);

/* A request is given up when the server has been tried for so long since this time, which may be 0: since the
 * request began, or its body last moved. A limit of 0 is none. */
void ptrc_ship_server_limit(struct ptrc_ship_server *, int64_t limit_ns, int64_t since_ns);

/* When the last request began, or its body last moved. */
int64_t ptrc_ship_server_asked_ns(const struct ptrc_ship_server *);

/* The dialect that was asked for, or that the server has told. */
enum ptrc_ship_dialect ptrc_ship_server_dialect(const struct ptrc_ship_server *);

/* Asks which version the server is of, and decides on the dialect. */
enum ptrc_ship_outcome ptrc_ship_server_greet(struct ptrc_ship_server *,
					      struct ptrc_cli_reason *why);

/* Asks for the version of the tables, which has to be ours. */
enum ptrc_ship_outcome ptrc_ship_server_check(struct ptrc_ship_server *,
					      struct ptrc_cli_reason *why);

/* Makes the tables that are not there. */
enum ptrc_ship_outcome ptrc_ship_server_create(struct ptrc_ship_server *,
					       struct ptrc_cli_reason *why);

/* Sends the body of an INSERT into a table. */
enum ptrc_ship_outcome ptrc_ship_server_insert(struct ptrc_ship_server *, const char *table,
					       const struct ptrc_buffer *body, const char *token,
					       struct ptrc_cli_reason *why);

/* Whether something of the last INSERT may have arrived. */
bool ptrc_ship_server_has_begun(const struct ptrc_ship_server *);

/* Asks how many rows of the range the server has. */
enum ptrc_ship_outcome ptrc_ship_server_count(struct ptrc_ship_server *,
					      const struct ptrc_ship_range *, uint64_t *count,
					      struct ptrc_cli_reason *why);

/* Asks which rows of the range it has: an array of numbers that grow, which the caller frees. */
enum ptrc_ship_outcome ptrc_ship_server_list(struct ptrc_ship_server *,
					     const struct ptrc_ship_range *, uint64_t **numbers,
					     uint64_t *count, struct ptrc_cli_reason *why);

/* Asks which number is behind the last row that it has of a host's log; 0: it has none. */
enum ptrc_ship_outcome ptrc_ship_server_end_of(struct ptrc_ship_server *, const char *host,
					       const char *log, uint64_t *end,
					       struct ptrc_cli_reason *why);

#endif

// SPDX-License-Identifier: MIT
// The current engine behind the HTTP interface of a ClickHouse server, for tests: npm's chdb is the
// engine in one process, without a server around it.
//
//     node chdb-server.js MODULES DIRECTORY [PORT]
//
// MODULES is where chdb is installed, DIRECTORY keeps the data. It listens on the loopback address,
// at a free port if none is given, and writes the port to DIRECTORY/port when it is ready. If
// CHDB_PASSWORD is set, that is the password of the user `default', without which nothing is served.
//
// It takes what the server takes: the query as the parameter `query' or as the body, an INSERT with its
// rows as the body (which may have a Content-Encoding: gzip, deflate, lz4, zstd), `database', and any
// setting of the engine as a parameter. Queries are executed one after the other.
'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');
const {createRequire} = require('module');
const {pipeline} = require('stream/promises');

const [modules, directory, port = '0'] = process.argv.slice(2);
if (!directory) {
	console.error('usage: node chdb-server.js MODULES DIRECTORY [PORT]');
	process.exit(2);
}
const {Session} = createRequire(path.join(path.resolve(modules), 'x'))('chdb');
const password = process.env.CHDB_PASSWORD ?? '';

const home = path.resolve(directory);
fs.mkdirSync(path.join(home, 'bodies'), {recursive: true});
// The engine would take a config.xml of the current directory for its own.
process.chdir(path.join(home, 'bodies'));
for (const left of fs.readdirSync('.'))
	fs.unlinkSync(left);
const session = new Session(path.join(home, 'data'));

// Parameters of the HTTP interface that are no settings of the engine.
const interfaceOnly = new Set(['query', 'database', 'user', 'password', 'default_format',
	'query_id', 'session_id', 'session_timeout', 'session_check', 'quota_key', 'stacktrace',
	'buffer_size', 'wait_end_of_query', 'compress', 'decompress']);

// A failure that the engine has not told.
class Refusal extends Error {
	constructor(status, code, text, name) {
		super(`Code: ${code}. DB::Exception: ${text} (${name})`);
		this.status = status;
	}
}

// The statuses that the server answers with, by the codes of its exceptions; others are 500.
const statuses = new Map(Object.entries({
	400: [6, 25, 26, 27, 33, 36, 38, 41, 42, 43, 44, 53, 62, 69, 72, 117, 130],
	403: [192, 193, 194, 497, 516],
	404: [16, 46, 47, 60, 81, 115],
	501: [48],
}).flatMap(([status, codes]) => codes.map((code) => [code, Number(status)])));

const quoted = (text) => `'${text.replace(/[\\']/g, '\\$&')}'`;
const identifier = (text) => `\`${text.replace(/[\\`]/g, '\\$&')}\``;

function allowed(request, parameters) {
	if (!password)
		return true;
	let user = request.headers['x-clickhouse-user'] ?? parameters.get('user') ?? 'default';
	let key = request.headers['x-clickhouse-key'] ?? parameters.get('password') ?? '';
	const basic = /^Basic (\S+)$/i.exec(request.headers.authorization ?? '');
	if (basic)
		[user, key] = Buffer.from(basic[1], 'base64').toString().split(/:(.*)/s);
	return user === 'default' && key === password;
}

// The rows of an INSERT are read by the engine from a file, which also decompresses them.
function insertOf(query, file, encoding) {
	const parts = /^(\s*INSERT\s+INTO\s.*?)(\s+SETTINGS\s.*?)?(\s+FORMAT\s+\w+)\s*;?\s*$/is.exec(query);
	if (!parts)
		throw new Refusal(501, 48, `INSERT with rows in the body, but no FORMAT at its end`,
			'NOT_IMPLEMENTED');
	const compression = encoding ? ` COMPRESSION ${quoted(encoding)}` : '';
	return `${parts[1]} FROM INFILE ${quoted(file)}${compression}${parts[2] ?? ''}${parts[3]}`;
}

let bodies = 0;

async function answer(request, response) {
	const url = new URL(request.url, 'http://localhost');
	if (url.pathname === '/ping' || (url.pathname === '/' && !url.search && request.method === 'GET'))
		return 'Ok.\n';
	if (url.pathname !== '/')
		throw new Refusal(404, 36, `There is no handle ${url.pathname}`, 'BAD_ARGUMENTS');
	const parameters = url.searchParams;
	if (parameters.get('decompress') === '1' || parameters.get('compress') === '1')
		throw new Refusal(501, 48, 'blocks of the native compression', 'NOT_IMPLEMENTED');

	const file = path.join(home, 'bodies', String(++bodies));
	try {
		await pipeline(request, fs.createWriteStream(file));
		// Also the server looks at who it is only when the head has been read.
		if (!allowed(request, parameters))
			throw new Refusal(403, 516, 'default: Authentication failed: password is incorrect, ' +
				'or there is no user with such name.', 'AUTHENTICATION_FAILED');
		return await inTurn(() => execute(request, response, parameters, file));
	} finally {
		fs.rmSync(file, {force: true});
	}
}

async function execute(request, response, parameters, file) {
	let query = parameters.get('query') ?? '';
	const has_rows = /^\s*INSERT\s/i.test(query) && fs.statSync(file).size > 0;
	if (has_rows)
		query = insertOf(query, file, request.headers['content-encoding']);
	else
		query += fs.readFileSync(file, 'utf8');
	if (!query.trim())
		throw new Refusal(400, 62, 'Syntax error: Empty query', 'SYNTAX_ERROR');
	if (request.method === 'GET' && !/^\s*(--.*\n\s*)*(SELECT|WITH|SHOW|DESC|EXISTS|EXPLAIN)/i.test(query))
		throw new Refusal(500, 164, 'Cannot execute query in readonly mode.', 'READONLY');

	const settings = [...parameters].filter(([name]) => !interfaceOnly.has(name));
	const set = [];
	try {
		await session.queryAsync(`USE ${identifier(parameters.get('database') || 'default')}`);
		for (const [name, value] of settings) {
			await session.queryAsync(`SET ${identifier(name)} = ${quoted(value)}`);
			set.push(name);
		}
		const format = parameters.get('default_format') ?? request.headers['x-clickhouse-format'];
		const result = await session.queryAsync(query, {format: format ?? 'TabSeparated'});
		return Buffer.from(result.bytes());
	} finally {
		for (const name of set)
			if (!name.startsWith('param_'))
				await session.queryAsync(`SET ${identifier(name)} = DEFAULT`);
	}
}

let last = Promise.resolve();
function inTurn(work) {
	const mine = last.then(work);
	last = mine.catch(() => {});
	return mine;
}

const server = http.createServer((request, response) => {
	answer(request, response).then((body) => {
		response.writeHead(200, {'Content-Type': 'text/plain; charset=UTF-8',
			'X-ClickHouse-Server-Display-Name': 'chdb'});
		response.end(body);
	}, (error) => {
		// Nobody waits for an answer to half a request.
		if (request.destroyed && !request.complete)
			return;
		const code = Number(/Code: (\d+)\./.exec(error.message)?.[1] ?? 1002);
		response.writeHead(error.status ?? statuses.get(code) ?? 500,
			{'Content-Type': 'text/plain; charset=UTF-8', 'X-ClickHouse-Exception-Code': code});
		response.end(`${error.message}\n`);
	});
});
// Nobody waits for us longer than it takes to send megabytes.
server.requestTimeout = 300000;
server.keepAliveTimeout = 30000;
server.listen(Number(port), '127.0.0.1', () => {
	fs.writeFileSync(path.join(home, 'port.new'), `${server.address().port}\n`);
	fs.renameSync(path.join(home, 'port.new'), path.join(home, 'port'));
});
for (const signal of ['SIGTERM', 'SIGINT'])
	process.on(signal, () => inTurn(() => {
		session.close();
		process.exit(0);
	}));

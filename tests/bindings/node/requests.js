// SPDX-License-Identifier: MIT
// Requests and connections as spans. Without an argument: the program that makes them. With one: reads what
// ptrace-dump shows of its log.
'use strict';

const assert = require('node:assert');

function run() {
	require('posixtrace/subscribe');
	const { span } = require('posixtrace');
	const http = require('node:http');

	const server = http.createServer(async (request, response) => {
		if (request.url === '/abort') return request.socket.destroy();
		await span('work', () => new Promise((resolve) => setTimeout(resolve, request.url === '/slow' ? 30 : 5)));
		if (request.url === '/outer') await fetch(`http://127.0.0.1:${server.address().port}/inner`).then((r) => r.text());
		response.statusCode = request.url === '/missing' ? 404 : 200;
		response.end('hello');
	});
	const get = (path, options) =>
		new Promise((resolve) =>
			http.get({ host: '127.0.0.1', port: server.address().port, path, ...options }, (r) => r.resume().on('end', resolve)).on('error', resolve),
		);
	server.listen(0, '127.0.0.1', async () => {
		const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
		await Promise.all([get('/slow', { agent }), get('/quick', { agent })]);
		await get('/missing', { agent });
		await get('/outer');
		await get('/abort');
		await get('/refused', { port: 8 });
		await fetch('http://127.0.0.1:8/refused').catch(() => {});
		agent.destroy();
		server.close();
		server.closeAllConnections();
	});
}

function check(lines) {
	// JSON.parse() would round the keys.
	const events = lines.map((l) => JSON.parse(l.replace(/"(key|parent)":(\d+)/g, '"$1":"$2"')));
	const pick = (name) => events.filter((e) => e.event === name).map((e) => e.data);
	const pairs = (name) =>
		pick(`${name}.begin`).map((begin) => {
			const ends = pick(`${name}.end`).filter((end) => end.key === begin.key);
			assert.strictEqual(ends.length, 1, `${name} ${begin.key}`);
			return { ...ends[0], ...begin };
		});
	const parents = new Map(pick('span.parent').map(({ key, parent }) => [key, parent]));

	const server = pairs('http.server');
	assert.deepStrictEqual(
		server.map((r) => `${r.method} ${r.path} ${r.status}`).sort(),
		['GET /abort 0', 'GET /inner 200', 'GET /missing 404', 'GET /outer 200', 'GET /quick 200', 'GET /slow 200'],
	);
	const client = pairs('http.client');
	assert.deepStrictEqual(
		client.map((r) => `${r.method} ${r.path} ${r.status}`).sort(),
		['GET /abort 0', 'GET /inner 200', 'GET /missing 404', 'GET /outer 200', 'GET /quick 200', 'GET /refused 0', 'GET /refused 0', 'GET /slow 200'],
	);
	for (const { host } of client) assert.match(host, /^127\.0\.0\.1:\d+$/);

	// What a request makes is within it, also where requests take turns or share a connection.
	const pathOf = new Map([...server, ...client].map((r) => [r.key, r.path]));
	assert.deepStrictEqual(
		pairs('work').map(({ key }) => pathOf.get(parents.get(key))).sort(),
		['/inner', '/missing', '/outer', '/quick', '/slow'],
	);
	for (const { key, path } of client)
		assert.strictEqual(pathOf.get(parents.get(key)), path === '/inner' ? '/outer' : undefined, path);
	for (const { key } of server) assert.strictEqual(parents.get(key), undefined);

	const accepted = pairs('net.server');
	assert(accepted.length >= 4);
	for (const { sent, received, peer } of accepted) assert(received > 0 && sent >= 0 && /.:\d+$/.test(peer), peer);
	// The program does not wait for the end of the connection that fetch() keeps. Two were refused.
	const begun = new Set(pick('net.client.begin').map(({ key }) => key));
	const ended = pick('net.client.end');
	for (const { key } of ended) assert(begun.has(key), key);
	const made = ended.filter(({ received, peer }) => received > 0 && /^127\.0\.0\.1:\d+$/.test(peer));
	assert(made.length >= 2);
	assert(ended.filter(({ received, peer }) => received === 0 && peer === '').length >= 2);
}

if (!process.argv[2]) run();
else check(require('node:fs').readFileSync(0, 'utf8').trim().split('\n'));

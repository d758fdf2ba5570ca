// SPDX-License-Identifier: MIT
// Requests and connections as spans. Without an argument: the program that makes them. With one: reads what
// ptrace-dump shows of its log.
'use strict';

const assert = require('node:assert');

function run() {
	require('posixtrace/subscribe');
	const { span } = require('posixtrace');
	const { AsyncResource } = require('node:async_hooks');
	const http = require('node:http');
	const net = require('node:net');

	let sockets = [];
	const server = http.createServer(async (request, response) => {
		if (request.url === '/abort') return request.socket.destroy();
		if (request.url.startsWith('/head')) {
			// The head of the response and a part of its body, before the end of the request.
			response.writeHead(202).write('x');
			sockets.push(request.socket);
			return request.resume().on('end', () => request.url === '/head' && response.end());
		}
		await span('work', () => new Promise((resolve) => setTimeout(resolve, request.url === '/slow' ? 30 : 5)));
		if (request.url === '/outer') await fetch(`http://127.0.0.1:${server.address().port}/inner`).then((r) => r.text());
		response.statusCode = request.url === '/missing' ? 404 : 200;
		response.end('hello');
	});
	server.on('connect', (request, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
	server.on('upgrade', (request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'));
	// Closes the connections whose responses have only begun.
	const cut = () => sockets.splice(0).forEach((socket) => socket.destroy());
	// Sends a request whose end the server does not wait for; `then` is called when the response has begun.
	const post = (path, then) =>
		new Promise((resolve) => {
			const options = { host: '127.0.0.1', port: server.address().port, method: 'POST', path };
			const request = http.request(options, (r) => {
				r.resume().on('error', () => {});
				then(request);
			});
			request.on('error', () => {}).on('close', () => resolve(request)).write('a');
		});
	const switchTo = (event, options) =>
		new Promise((resolve) =>
			http.request({ host: '127.0.0.1', port: server.address().port, ...options })
				.on(event, (r, socket) => socket.resume().on('close', resolve))
				.end(),
		);
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
		await post('/head', (request) => request.end());
		(await post('/head/cut', cut)).end();
		const url = `http://127.0.0.1:${server.address().port}`;
		const response = await fetch(`${url}/head/fetch`);
		cut();
		await response.text().catch(() => {});
		await (await fetch(`${url}/head/cancel`)).body.cancel();
		await switchTo('connect', { method: 'CONNECT', path: 'a:1' });
		await switchTo('upgrade', { path: '/upgrade', headers: { connection: 'upgrade', upgrade: 'x' } });
		const connect = () => new Promise((resolve) => net.connect(server.address().port, '127.0.0.1', function () { resolve(this.destroy()); }));
		const later = await span('over', async () => (await connect(), AsyncResource.bind(connect)));
		await later();
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
		[
			'GET /abort 0', 'GET /head/cancel 0', 'GET /head/fetch 0', 'GET /inner 200', 'GET /missing 404', 'GET /outer 200',
			'GET /quick 200', 'GET /slow 200', 'POST /head 202', 'POST /head/cut 0',
		],
	);
	const client = pairs('http.client');
	assert.deepStrictEqual(
		client.map((r) => `${r.method} ${r.path} ${r.status}`).sort(),
		[
			'CONNECT a:1 200', 'GET /abort 0', 'GET /head/cancel 202', 'GET /head/fetch 202', 'GET /inner 200', 'GET /missing 404',
			'GET /outer 200', 'GET /quick 200', 'GET /refused 0', 'GET /refused 0', 'GET /slow 200', 'GET /upgrade 101',
			'POST /head 202', 'POST /head/cut 202',
		],
	);
	for (const { host } of client) assert.match(host, /^127\.0\.0\.1:\d+$/);

	// Earlier versions report a request only when the program has written all of it.
	const [major, minor] = process.versions.node.split('.').map(Number);
	const first = events.find((e) => /^http/.test(e.event) && e.data.path === '/head');
	assert.strictEqual(first.event === 'http.client.begin', major > 22 || (major === 22 && minor >= 12));

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
	assert(accepted.filter(({ received }) => received > 0).length >= 4);
	for (const { sent, received, peer } of accepted) assert(received >= 0 && sent >= 0 && /.:\d+$/.test(peer), peer);
	// The program does not wait for the end of the connection that fetch() keeps. Two were refused.
	const begun = new Set(pick('net.client.begin').map(({ key }) => key));
	const ended = pick('net.client.end');
	for (const { key } of ended) assert(begun.has(key), key);
	const made = ended.filter(({ received, peer }) => received > 0 && /^127\.0\.0\.1:\d+$/.test(peer));
	assert(made.length >= 2);
	const refused = ended.filter(({ peer }) => peer === '');
	assert(refused.length >= 2);
	for (const { sent, received } of refused) assert(sent === 0 && received === 0);
	// Of the two connections of the span `over`, the second one was made after its end.
	const [{ key: over }] = pick('over.begin');
	assert.strictEqual([...parents.values()].filter((parent) => parent === over).length, 1);
}

if (!process.argv[2]) run();
else check(require('node:fs').readFileSync(0, 'utf8').trim().split('\n'));

// SPDX-License-Identifier: MIT
// Requests and connections as spans: require('posixtrace/subscribe') subscribes to what Node reports of them
// (diagnostics_channel). What throws here would end the program, so values of the program are converted to
// what their fields take.
'use strict';

const { subscribe } = require('node:diagnostics_channel');
const { event, isTraced, newKey } = require('./posixtrace.node');
const { beginWithin, current } = require('./spans.js');

// A status of 0 says that there was no response or, for a server, no complete one.
const status = (value) => value & 0xffff;

// ---- http and https: requests to a server of this process ----

const serverBegin = event('http.server.begin', 'u64 key, str method, str path');
const serverEnd = event('http.server.end', 'u64 key, u16 status');

subscribe('http.server.request.start', ({ request, response }) => {
	if (!isTraced()) return;
	const key = newKey();
	serverBegin(key, String(request.method), String(request.url));
	// Until the next request of the connection, all that the program does is within this span.
	const own = { key, hasEnded: false };
	current.enterWith(own);
	response.once('close', () => {
		own.hasEnded = true;
		serverEnd(key, response.writableFinished ? status(response.statusCode) : 0);
	});
});

// ---- http, https and undici, which is what fetch() uses: requests of this process ----

const clientBegin = event('http.client.begin', 'u64 key, str method, str host, str path');
const clientEnd = event('http.client.end', 'u64 key, u16 status');

function beginRequest(request, host) {
	return beginWithin(clientBegin, String(request.method), String(host), String(request.path));
}

// Requests of http and https that have begun.
const begun = new WeakSet();

function beginHttp({ request }) {
	if (!isTraced() || begun.has(request)) return;
	begun.add(request);
	const key = beginRequest(request, request.getHeader('host') ?? request.host);
	// The member res has the head of the response, also that of CONNECT and of upgrades.
	const end = () => clientEnd(key, status(request.res?.statusCode));
	// The server may have closed the connection before the program has written the whole request.
	if (request.destroyed) end();
	else request.once('close', end);
}

// Node 22.12 and later publish this when the program makes the request, earlier ones only when it has been written.
subscribe('http.client.request.created', beginHttp);
subscribe('http.client.request.start', beginHttp);

// The key and the status of requests of undici that have not ended.
const requests = new WeakMap();

function endUndici({ request }) {
	const found = requests.get(request);
	if (found) clientEnd(found.key, found.status);
	requests.delete(request);
}

subscribe('undici:request:create', ({ request }) => {
	if (!isTraced()) return;
	const key = beginRequest(request, String(request.origin).replace(/^\w+:\/\//, ''));
	requests.set(request, { key, status: 0 });
});
subscribe('undici:request:headers', ({ request, response }) => {
	const found = requests.get(request);
	if (found) found.status = status(response.statusCode);
});
subscribe('undici:request:trailers', endUndici);
subscribe('undici:request:error', endUndici);

// ---- net: connections ----

function connectionTypes(name) {
	return {
		begin: event(`${name}.begin`, 'u64 key'),
		end: event(`${name}.end`, 'u64 key, u64 sent B, u64 received B, str peer'),
	};
}

const toServer = connectionTypes('net.client');
const toClient = connectionTypes('net.server');

// The address of the other side, which a socket no longer knows when it is closed.
function peerOf({ remoteAddress, remoteFamily, remotePort }) {
	if (remoteAddress === undefined) return '';
	return remoteFamily === 'IPv6' ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}

subscribe('net.client.socket', ({ socket }) => {
	if (!isTraced()) return;
	// A pool may open a connection for a later request, in the context of a span that has ended.
	const isWithin = !current.getStore()?.hasEnded;
	const key = isWithin ? beginWithin(toServer.begin) : current.run(undefined, beginWithin, toServer.begin);
	let peer;
	socket.once('connect', () => (peer = peerOf(socket)));
	socket.once('close', () => {
		// Without a connection, what the program has written was not sent.
		if (peer === undefined) toServer.end(key, 0, 0, '');
		else toServer.end(key, socket.bytesWritten, socket.bytesRead, peer);
	});
});

subscribe('net.server.socket', ({ socket }) => {
	if (!isTraced()) return;
	const key = newKey();
	const peer = peerOf(socket);
	toClient.begin(key);
	socket.once('close', () => toClient.end(key, socket.bytesWritten, socket.bytesRead, peer));
});

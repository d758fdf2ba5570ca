// SPDX-License-Identifier: MIT
// Requests and connections as spans: require('posixtrace/subscribe') subscribes to what Node reports of them
// (diagnostics_channel). What throws here would end the program, so values of the program are converted to
// what their fields take.
'use strict';

const { subscribe } = require('node:diagnostics_channel');
const { event, isTraced, newKey } = require('./posixtrace.node');
const { beginWithin, current } = require('./spans.js');

// A status of 0 says that there was no complete response.
const status = (value) => value & 0xffff;

// ---- http and https: requests to a server of this process ----

const serverBegin = event('http.server.begin', 'u64 key, str method, str path');
const serverEnd = event('http.server.end', 'u64 key, u16 status');

subscribe('http.server.request.start', ({ request, response }) => {
	if (!isTraced()) return;
	const key = newKey();
	serverBegin(key, String(request.method), String(request.url));
	// Until the next request of the connection, all that the program does is within this span.
	current.enterWith(key);
	response.once('close', () => serverEnd(key, response.writableFinished ? status(response.statusCode) : 0));
});

// ---- http, https and undici, which is what fetch() uses: requests of this process ----

const clientBegin = event('http.client.begin', 'u64 key, str method, str host, str path');
const clientEnd = event('http.client.end', 'u64 key, u16 status');

// The key and the status of requests that have not ended.
const requests = new WeakMap();

function beginRequest(request, host) {
	const key = beginWithin(clientBegin, String(request.method), String(host), String(request.path));
	requests.set(request, { key, status: 0 });
}

function setStatus({ request, response }) {
	const found = requests.get(request);
	if (found) found.status = status(response.statusCode);
}

function endRequest(request) {
	const found = requests.get(request);
	if (found) clientEnd(found.key, found.status);
	requests.delete(request);
}

subscribe('http.client.request.start', ({ request }) => {
	if (!isTraced()) return;
	beginRequest(request, request.getHeader('host') ?? request.host);
	request.once('close', () => endRequest(request));
});
// Node publishes this when the head of the response has arrived.
subscribe('http.client.response.finish', setStatus);

subscribe('undici:request:create', ({ request }) => {
	if (isTraced()) beginRequest(request, String(request.origin).replace(/^\w+:\/\//, ''));
});
subscribe('undici:request:headers', setStatus);
subscribe('undici:request:trailers', ({ request }) => endRequest(request));
subscribe('undici:request:error', ({ request }) => {
	setStatus({ request, response: { statusCode: 0 } });
	endRequest(request);
});

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
	const key = beginWithin(toServer.begin);
	let peer = '';
	socket.once('connect', () => (peer = peerOf(socket)));
	socket.once('close', () => toServer.end(key, socket.bytesWritten, socket.bytesRead, peer));
});

subscribe('net.server.socket', ({ socket }) => {
	if (!isTraced()) return;
	const key = newKey();
	const peer = peerOf(socket);
	toClient.begin(key);
	socket.once('close', () => toClient.end(key, socket.bytesWritten, socket.bytesRead, peer));
});

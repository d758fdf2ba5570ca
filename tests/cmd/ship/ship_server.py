#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server for the tests of ptrace-ship that does what it is told, also what a real one seldom does.

    ship_server.py DIRECTORY

It answers the questions of ptrace-ship, and keeps the rows that it is sent, as JSON, a line each, in
DIRECTORY/events, DIRECTORY/hosts and DIRECTORY/processes; DIRECTORY/port says where it listens, and
DIRECTORY/requests has a line for each request. A line of DIRECTORY/script, if there is one, says what
happens to the next INSERT of events; the server takes it away:

    ok            nothing special, as without a script
    drop          the connection is closed before anything is read
    half          half of the rows are read, then the connection is closed
    silent        all rows are taken, then the connection is closed without an answer
    part N        the first N rows are taken, then the connection is closed without an answer
    hold          the rows are taken, and the answer comes, when DIRECTORY/release is there
    hold part N   as part, when DIRECTORY/release is there
    mute          no answer comes, and the connection stays
    drip          the answer comes, a byte in half a second, and never ends
    garbage       all rows are taken, the answer is nonsense
    endless       all rows are taken, the answer never ends
    code N TEXT   the answer is an exception of the server with this number
    status N TEXT the answer has this status and no number; redirects lead elsewhere

DIRECTORY/version is what `SELECT version()' answers (18.16.1), DIRECTORY/schema the version of the tables
(1), and with DIRECTORY/password that is needed. A dialect is told by how the rows come.
"""
import base64
import fcntl
import http.server
import json
import os
import re
import socketserver
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

DIRECTORY = sys.argv[1]
lock = threading.Lock()
rows = {}


def path(name):
    return os.path.join(DIRECTORY, name)


def content(name, default):
    try:
        with open(path(name), encoding='utf-8') as file:
            return file.read().strip()
    except FileNotFoundError:
        return default


def next_line():
    """Takes the first line from the script."""
    try:
        with open(path('script'), 'r+', encoding='utf-8') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            lines = file.read().splitlines()
            file.seek(0)
            file.truncate()
            file.write(''.join(line + '\n' for line in lines[1:]))
            return lines[0] if lines else 'ok'
    except FileNotFoundError:
        return 'ok'


def unpack(data):
    return subprocess.run(['zstd', '-dcq'], input=data, stdout=subprocess.PIPE, check=True).stdout


def unpack_blocks(body):
    """The blocks of the old server."""
    result = b''
    at = 0
    while at < len(body):
        method, packed, raw = struct.unpack_from('<BII', body, at + 16)
        block = body[at + 25:at + 16 + packed]
        assert method == 0x90 and len(block) == packed - 9, 'no block'
        plain = unpack(block)
        assert len(plain) == raw, 'a block of another size'
        result += plain
        at += 16 + packed
    return result


class Reader:
    """RowBinary."""
    def __init__(self, data, is_modern):
        self.data, self.at, self.is_modern = data, 0, is_modern

    def number(self, form):
        value, = struct.unpack_from('<' + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def string(self):
        size = self.varint()
        self.at += size
        assert self.at <= len(self.data), 'a string that does not end'
        return self.data[self.at - size:self.at].decode('utf-8', 'surrogateescape')

    def fields(self, value):
        count = self.varint()
        if self.is_modern:
            return {self.string(): value() for _ in range(count)}
        names = [self.string() for _ in range(count)]
        assert self.varint() == count, 'as many values as names'
        return {name: value() for name in names}

    def event(self):
        row = {name: self.string() for name in ('host', 'boot', 'log')}
        for name, form in (('seq', 'Q'), ('time', 'q'), ('bound', 'Q'), ('pid', 'i'), ('tid', 'i'),
                           ('process', 'Q')):
            row[name] = self.number(form)
        row['event'] = self.string()
        for name, form in (('ints', 'q'), ('uints', 'Q'), ('floats', 'd')):
            row[name] = self.fields(lambda: self.number(form))
        row['strings'] = self.fields(self.string)
        row['data'] = self.string()
        return row

    def host(self):
        return {name: self.string() for name in ('host', 'boot', 'machine', 'kernel', 'zone')}

    def process(self):
        row = {name: self.string() for name in ('host', 'boot', 'log')}
        for name, form in (('process', 'Q'), ('pid', 'i'), ('parent', 'i'), ('start', 'q'),
                           ('user', 'I')):
            row[name] = self.number(form)
        row.update({name: self.string() for name in ('program', 'command', 'build_id')})
        return row


def keep(table, new):
    with open(path(table), 'a', encoding='utf-8', errors='surrogateescape') as file:
        for row in new:
            file.write(json.dumps(row) + '\n')
    if table == 'events':
        for row in new:
            rows.setdefault(row['log'], {}).setdefault(row['seq'], []).append(row)


def literal(text):
    return int(re.search(r'-?\d{5,}|-?\d+(?!.*\d)', text).group())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def give(self, status, text, **headers):
        body = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        self.close_connection = True
        self.connection.shutdown(2)

    def drip(self):
        try:
            self.send_response(200)
            self.send_header('Content-Length', '1000000')
            self.end_headers()
            while True:
                self.wfile.write(b'x')
                time.sleep(0.5)
        except OSError:
            self.close_connection = True

    def do_POST(self):
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query,
                                                 keep_blank_values=True))
        query = parameters.get('query', '')
        size = int(self.headers['Content-Length'])
        table = re.search(r'INSERT INTO .*\.(\w+) FORMAT RowBinary', query)
        act = next_line() if table and table.group(1) == 'events' else 'ok'
        if act == 'drop':
            return self.cut()
        if act == 'half':
            self.rfile.read(size // 2)
            return self.cut()
        body = self.rfile.read(size)
        with open(path('requests'), 'a', encoding='utf-8') as file:
            file.write(f'{table.group(1) if table else body.decode()} {act} {len(body)} '
                       f'{parameters.get("query_id", "")}\n')
        password = content('password', '')
        given = (self.headers.get('Authorization') or ' ').split(' ', 1)[1]
        if password and base64.b64decode(given).decode().partition(':')[2] != password:
            return self.give(401, 'Code: 193, e.displayText() = DB::Exception: Wrong password\n')
        while act.startswith('hold') and not os.path.exists(path('release')):
            time.sleep(0.02)
        act = act.replace('hold ', '')
        while act == 'mute':
            time.sleep(1)
        if act == 'drip':
            return self.drip()
        with lock:
            if table:
                return self.insert(table.group(1), act, parameters, body)
            return self.answer(body.decode())

    def insert(self, table, act, parameters, body):
        is_modern = self.headers.get('Content-Encoding') == 'zstd'
        reader = Reader(unpack(body) if is_modern else unpack_blocks(body), is_modern)
        take = {'events': reader.event, 'hosts': reader.host, 'processes': reader.process}[table]
        word, _, rest = act.partition(' ')
        number, _, text = rest.partition(' ')
        new = []
        while reader.at < len(reader.data):
            new.append(take())
        if word == 'code':
            return self.give(500, f'Code: {number}, e.displayText() = DB::Exception: {text}\n')
        if word == 'status':
            return self.give(int(number), text, Location='http://127.0.0.1:1/elsewhere')
        keep(table, new[:int(number)] if word == 'part' else new)
        if word in ('silent', 'part'):
            return self.cut()
        if word == 'garbage':
            return self.give(200, '<html>It works!</html>\n')
        if word == 'endless':
            self.send_response(200)
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b'10000\r\n' + b'x' * 0x10000 + b'\r\n')
            except OSError:
                self.close_connection = True
                return None
        return self.give(200, '')

    def answer(self, query):
        if query == 'SELECT version()':
            return self.give(200, content('version', '18.16.1') + '\n')
        if query.startswith('SELECT version FROM '):
            schema = content('schema', '1')
            if schema == 'none':
                return self.give(404, 'Code: 60, e.displayText() = DB::Exception: Table '
                                      "posixtrace.schema doesn't exist.\n")
            return self.give(200, schema + '\n')
        if query.startswith('CREATE '):
            return self.give(200, '')
        host, log = re.search(r"host = '((?:\w|\\x..)*)' AND log = '(\w+)'", query).groups()
        host = re.sub(rb'\\x(..)', lambda found: bytes.fromhex(found[1].decode()), host.encode())
        has = {seq: found for seq, found in rows.get(log, {}).items()
               if found[0]['host'].encode(errors='surrogateescape') == host}
        if 'max(seq)' in query:
            return self.give(200, f'{max(has) + 1 if has else 0}\n')
        first, end = (int(re.search(r'seq %s (\d+)' % sign, query).group(1)) for sign in ('>=', '<'))
        times = [literal(re.search(r'time %s (.*?)(?: AND| ORDER|$)' % sign, query).group(1)
                         .replace("64Nano(toInt64", '').replace("'UTC'", ''))
                 for sign in ('>=', '<=')]
        there = sorted(seq for seq, found in has.items()
                       if first <= seq < end and times[0] <= found[0]['time'] <= times[1])
        return self.give(200, b''.join(struct.pack('<Q', seq) for seq in there))


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


try:
    with open(path('events'), encoding='utf-8') as old:
        for line in old:
            row = json.loads(line)
            rows.setdefault(row['log'], {}).setdefault(row['seq'], []).append(row)
except FileNotFoundError:
    pass
port = int(content('port', '0'))
server = Server(('127.0.0.1', port), Handler)
with open(path('port.new'), 'w', encoding='utf-8') as file:
    file.write(f'{server.server_port}\n')
os.rename(path('port.new'), path('port'))
server.serve_forever()

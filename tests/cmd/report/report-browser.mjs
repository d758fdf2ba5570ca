// SPDX-License-Identifier: MIT
// Opens reports of ptrace-report in Chromium from their files and uses them as a person does: TAP.
// report-browser.sh makes the reports and calls this: node report-browser.mjs CHROMIUM MODULES [SHOTS]
// With SHOTS, a directory, pictures are left there for people to look at.
import {createRequire} from 'node:module';
import assert from 'node:assert';
import {existsSync} from 'node:fs';
import path from 'node:path';

const [chromium, modules, shots] = process.argv.slice(2);
const {chromium: driver} = createRequire(path.join(path.resolve(modules), 'x'))('playwright-core');
const browser = await driver.launch({executablePath: chromium, args: ['--no-sandbox', '--disable-gpu']});
const problems = [];

// Opens a report; nothing may be asked of a network, and no error may happen.
async function open(file, options = {}) {
	const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
	const page = await context.newPage();
	problems.length = 0;
	page.on('console', message => ['error', 'warning'].includes(message.type()) &&
		!message.text().includes('willReadFrequently') && problems.push(message.text()));
	page.on('pageerror', error => problems.push(error.stack));
	page.on('request', request => request.url().startsWith('file:') || problems.push('asks for ' + request.url()));
	await page.goto('file://' + path.resolve(file));
	await drawn(page);
	return page;
}

const drawn = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));

async function picture(page, name) {
	if (shots)
		await page.screenshot({path: path.join(shots, name + '.png'), fullPage: true});
}

const view = page => page.evaluate(() => ({...ptraceReport.lanes.view}));
const current = page => page.evaluate(() => {
	const item = ptraceReport.current();
	return item && {name: ptraceReport.model.meta.classes[item.class].name, begin: item.begin,
		duration: item.duration, tid: item.lane.tid, fields: Object.fromEntries(ptraceReport.model
			.fieldsOf(item.class, item.row).map(f => [(f.isEnd ? 'end.' : '') + f.name, f.text]))};
});

// What a picture of the lanes has in one place, as red, green and blue.
const pixel = (page, x, y) => page.evaluate(([x, y]) => {
	const canvas = document.getElementById('lanes');
	const ratio = window.devicePixelRatio;
	return [...canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3);
}, [x, y]);

const cases = {
	async 'the summary says what, when, how long and that data is missing'() {
		const page = await open('work.html');
		const text = await page.textContent('#summary');
		assert.match(text, /work\.log/);
		assert.match(text, /2023-11-14 22:13:20\.000000000/);
		assert.match(text, /Events13 092/);
		assert.match(text, /6 of 2 processes/);
		assert.match(text, /Data is missing/);
		assert.equal(await page.textContent('#verdict'), 'incomplete');
		await picture(page, 'light');
	},
	async 'the model has what the log has'() {
		const page = await open('work.html');
		const found = await page.evaluate(() => {
			const {model} = ptraceReport;
			const sum = f => model.lanes.reduce((all, lane) => all + f(lane), 0);
			const of = name => model.meta.classes.find(c => c.name === name);
			return {
				lanes: model.lanes.length, events: model.meta.events,
				pairs: sum(l => l.rows.reduce((all, row) => all + row.count, 0)),
				runs: sum(l => l.runs.count), request: of('request').count, query: of('db.query').count,
				longest: of('request').max,
				measured: Math.max(...model.lanes.flatMap(l => l.rows.flatMap(row => [...row.duration].filter((d, i) =>
					model.meta.classes[row.class[i]].name === 'request')))),
				nested: model.lanes.every(l => l.rows.length <= 2),
				losses: model.meta.losses.length,
				fates: model.lanes.flatMap(l => [...l.events.fate]).filter(Boolean),
			};
		});
		assert.equal(found.lanes, 6);
		assert.equal(found.pairs, found.request + found.query);
		assert.equal(found.runs, 1000);
		assert.equal(found.measured, found.longest);
		assert.ok(found.nested);
		assert.equal(found.losses, 1);
		assert.deepEqual(found.fates.sort(), [2, 3]);
	},
	async 'wheel, drag and keys zoom and pan, to the nanosecond'() {
		const page = await open('work.html');
		const all = await view(page);
		await page.mouse.move(700, await lanesTop(page) + 100);
		await page.mouse.wheel(0, -300);
		await drawn(page);
		const near = await view(page);
		assert.ok(near.span < all.span && near.from > all.from);
		await page.mouse.down();
		await page.mouse.move(500, await lanesTop(page) + 100, {steps: 4});
		await page.mouse.up();
		const dragged = await view(page);
		assert.ok(dragged.from > near.from && dragged.span === near.span);
		await page.keyboard.press('d');
		assert.ok((await view(page)).from > dragged.from);
		for (let i = 0; i < 60; i++)
			await page.keyboard.press('w');
		await drawn(page);
		assert.equal((await view(page)).span, 20);
		await page.keyboard.press('0');
		assert.ok((await view(page)).span >= all.span * 0.99);
	},
	async 'a click selects a pair, and the panel shows its data'() {
		const page = await open('work.html');
		const box = await page.evaluate(() => {
			const {lanes, nearest, model} = ptraceReport;
			const item = nearest(model.meta.classes.findIndex(c => c.name === 'db.query'), 1e6);
			lanes.zoomTo(item);
			const row = lanes.rows().find(r => r.lane === item.lane);
			return {x: lanes.xOf(item.begin + item.duration / 2), begin: item.begin,
				y: row.y - lanes.view.scroll + 22 + 2 + row.runs + 15 * row.lane.rows.indexOf(item.track) + 7};
		});
		await drawn(page);
		await page.mouse.click(box.x, await lanesTop(page) + box.y);
		const item = await current(page);
		assert.equal(item.name, 'db.query');
		assert.equal(item.begin, box.begin);
		assert.equal(item.fields.id, item.fields['end.id']);
		assert.match(item.fields.rows, /^\d+ count$/);
		assert.match(item.fields.sql, /^(select|insert|update)/);
		const panel = await page.textContent('#details');
		assert.match(panel, /db\.query/);
		assert.ok(panel.includes(item.fields.sql));
		await page.keyboard.press('Escape');
		assert.equal(await current(page), null);
	},
	async 'a click on a row of the table of pairs goes to the longest one'() {
		const page = await open('work.html');
		await page.click('#table tbody tr:has-text("request")');
		const item = await current(page);
		const worst = await page.evaluate(() => ptraceReport.model.meta.classes.find(c => c.name === 'request'));
		assert.equal(item.name, 'request');
		assert.equal(item.begin, worst.longest);
		assert.equal(item.duration, worst.max);
		const shown = await view(page);
		assert.ok(shown.from < item.begin && shown.from + shown.span > item.begin + item.duration);
		assert.ok(shown.span < item.duration * 4);
		await picture(page, 'longest');
	},
	async 'histograms and quantiles are those of all events'() {
		const page = await open('work.html');
		const found = await page.evaluate(() => {
			const {model} = ptraceReport;
			const number = model.meta.classes.findIndex(c => c.name === 'request');
			const c = model.meta.classes[number];
			const lengths = model.lanes.flatMap(l => l.rows.flatMap(row => [...row.duration].filter((d, i) => row.class[i] === number)))
				.sort((a, b) => a - b);
			return {p50: c.p50, p99: c.p99, exact50: lengths[499], exact99: lengths[989],
				sum: c.histogram.reduce((a, b) => a + b), count: c.count,
				octave: lengths.filter(d => d >= 65536 && d < 131072).length, told: c.histogram[16]};
		});
		assert.equal(found.sum, found.count);
		assert.equal(found.told, found.octave);
		assert.ok(Math.abs(found.p50 / found.exact50 - 1) < 0.01);
		assert.ok(Math.abs(found.p99 / found.exact99 - 1) < 0.01);
	},
	async 'a search by name and by field finds what it should'() {
		const page = await open('work.html');
		const count = query => page.evaluate(q => ptraceReport.search(q).length, query);
		assert.equal(await count('request'), 1000);
		assert.equal(await count('cache.fill'), 1000);
		const both = await count('kind=get') + await count('kind=put') + await count('kind=list');
		assert.equal(both, 1000);
		const few = await count('db.query rows>=40');
		assert.equal(few, await page.evaluate(() => {
			const {model} = ptraceReport;
			const number = model.meta.classes.findIndex(c => c.name === 'db.query');
			return model.values(model.meta.classes[number].columns.find(c => c.name === 'rows'), number).filter(v => v >= 40).length;
		}));
		assert.equal(await count('request took>1ms'), await page.evaluate(() => {
			const {model} = ptraceReport;
			const number = model.meta.classes.findIndex(c => c.name === 'request');
			return model.lanes.flatMap(l => l.rows.flatMap(row => [...row.duration].filter((d, i) => row.class[i] === number && d > 1e6))).length;
		}));
		await page.fill('#query', 'request id=698');
		await page.press('#query', 'Enter');
		assert.equal((await current(page)).fields.id, '698');
		assert.equal(await page.textContent('#found'), '1 of 1');
	},
	async 'a search finds values as they are shown, times by any unit, and members of JSON'() {
		const page = await open('fields.html');
		const expected = {
			'latency>50ms': 1, 'latency>=50ms': 2, 'latency>50000': 1, 'latency=50ms': 1, 'latency="50000 us"': 1,
			'latency!=50ms': 1, 'neg<-5ms': 1, 'neg=-7ms': 1, 'fl>=2s': 1, 'fl>=2000ms': 1, 'rest>1ms': 1,
			'rest="1.235 ms"': 1, 'size=512': 1, 'size="512 B"': 1, 'size>100ms': 0, 'odd=true': 1, 'odd=false': 1,
			'odd=1': 1, 'f=0.1': 1, 'f<=0.1': 1, 'kind=put': 1, 'kind="put (1)"': 1, 'kind=bash': 1, 'event=v': 2,
			'job=7': 2, 'job>7': 1, 'event=job job!=7': 1, 'deep.list[1].ok=true': 1, 'deep.list[0]=1': 1, 'more.x=1': 1,
			'x=1': 0, 'end.data.status=3': 1, 'took="1.234 µs"': 1, 'took>1.2us': 1, 'took<1us': 0, 'bash': 1,
		};
		assert.deepEqual(await page.evaluate(queries => Object.fromEntries(queries.map(q => [q, ptraceReport.search(q).length])),
			Object.keys(expected)), expected);
	},
	async 'losses are red, in the lanes and in the overview'() {
		const page = await open('work.html');
		const at = await page.evaluate(() => {
			const {lanes, model} = ptraceReport, loss = model.meta.losses[0];
			const row = lanes.rows().find(r => r.lane && r.lane.tid === 100);
			return {x: lanes.xOf((loss.from + loss.to) / 2), y: row.y + 22 + 20};
		});
		const [red, green, blue] = await pixel(page, at.x, at.y);
		assert.ok(red > green + 30 && red > blue + 30, [red, green, blue].join());
		const [r, g, b] = await pixel(page, at.x - 200, at.y);
		assert.ok(!(r === red && g === green && b === blue));
	},
	async 'samples become a flame graph of the time that is shown'() {
		const page = await open('work.html');
		await page.click('#tabs button:has-text("Flame graph")');
		const all = await page.evaluate(() => ptraceReport.model.meta.classes.find(c => c.name === 'os.sample').count);
		assert.match(await page.textContent('#table'), new RegExp(String(all).replace(/(?=\d{3}$)/, ' ') + ' samples'));
		assert.equal(await page.textContent('.flame div:nth-child(2)'), '0x800');
		await page.click('.flame div:has-text("0x2100")');
		assert.match(await page.textContent('#table'), /samples of 0x2100/);
	},
	async 'samples of a program have the names of its functions'() {
		if (!existsSync('sampled.html'))
			return;
		const page = await open('sampled.html');
		await page.click('#tabs button:has-text("Flame graph")');
		await picture(page, 'samples');
		const bar = name => page.locator(`.flame div:text-is("${name}")`).first();
		const [inner, outer] = [await bar('work_inner').boundingBox(), await bar('work_outer').boundingBox()];
		// The inner function is below the outer one, and both took nearly all of the time.
		assert.ok(inner.y > outer.y && inner.width > 0.8 * outer.width, JSON.stringify([inner, outer]));
		assert.match(await bar('work_inner').getAttribute('title'), /^work_inner: \d+ samples, \d+\.\d %$/);
		await bar('work_middle').click();
		assert.match(await page.textContent('#table'), /samples of work_middle/);
		assert.equal(await bar('work_outer').count(), 0);
		await page.click('.flame div:has-text("work_middle")');
		assert.ok(await bar('work_outer').count() > 0);
	},
	async 'a report is light or dark, as the system is or as the button says'() {
		const page = await open('work.html', {colorScheme: 'dark'});
		const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		assert.equal(await back(), 'rgb(20, 23, 28)');
		await picture(page, 'dark');
		assert.deepEqual(await pixel(page, 1270, 40), [29, 34, 41]);
		await page.click('#theme');
		assert.equal(await back(), 'rgb(255, 255, 255)');
	},
	async 'on a screen of 400 pixels nothing is beside it'() {
		const page = await open('work.html', {viewport: {width: 400, height: 800}, hasTouch: true});
		const size = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
		assert.equal(size[0], size[1]);
		await picture(page, 'narrow');
	},
	async 'names and data that are markup stay text'() {
		const page = await open('names.html');
		await page.click('#tabs button:has-text("Event types")');
		const names = await page.$$eval('#table tbody td.name', all => all.map(td => td.textContent));
		assert.ok(names.includes('</script><script>window.broken=1</script>'));
		assert.ok(names.includes('<img src=x onerror=window.broken=1>'));
		assert.ok(names.includes('two\\nlines\\ttab\\x01\\x1b[31m'));
		assert.ok(names.includes('\\u202e\\u2028 turned round'));
		const found = await page.evaluate(() => {
			const {model, nearest} = ptraceReport;
			const number = model.meta.classes.findIndex(c => c.name === 'text');
			ptraceReport.select(nearest(number, 500));
			return {columns: model.meta.classes[number].kept, broken: window.broken, images: document.images.length,
				markup: document.querySelectorAll('#details b, #details script').length};
		});
		assert.deepEqual(found, {columns: 7, broken: undefined, images: 0, markup: 0});
		const item = await current(page);
		assert.equal(item.fields.text, '</script><script>window.broken=1</script>');
		assert.ok((await page.textContent('#details')).includes(item.fields.text));
	},
	async 'the policy of the page forbids scripts and requests that are not its own'() {
		const page = await open('names.html');
		assert.equal(await page.evaluate(() => {
			const script = document.createElement('script');
			script.textContent = 'window.broken = 1';
			document.body.append(script);
			return window.broken;
		}), undefined);
		const asked = await page.evaluate(() => fetch('http://127.0.0.1:9/').then(() => 'sent', error => String(error)));
		assert.match(asked, /TypeError/);
		assert.ok(problems.some(p => /Content Security Policy/.test(p)));
		problems.length = 0;
	},
	async 'ten thousand threads can be scrolled'() {
		const page = await open('threads.html');
		assert.equal(await page.evaluate(() => ptraceReport.model.lanes.length), 10000);
		for (let i = 0; i < 5; i++)
			await page.keyboard.press('PageDown');
		await drawn(page);
		assert.ok((await view(page)).scroll > 500);
		await page.evaluate(() => ptraceReport.lanes.scrollTo(ptraceReport.model.lanes[9999]));
		await drawn(page);
		await page.click('#tabs button:has-text("Threads")');
		assert.equal(await page.$$eval('#table tbody tr', all => all.length), 1000);
	},
	async 'pairs that the time cuts lie at its edges, and say that they are cut'() {
		const page = await open('part.html');
		const found = await page.evaluate(() => {
			const lane = ptraceReport.model.lanes.find(l => l.tid === 8);
			return lane.rows.flatMap(track => [...track.begin].map((begin, i) => {
				const item = ptraceReport.lanes.itemOf(lane, track, i);
				ptraceReport.select(item);
				return [begin, item.duration, item.fate, document.getElementById('details').textContent];
			}));
		});
		assert.deepEqual(found.map(f => f.slice(0, 3)), [[0, 1000, 2], [2000, 2000, 3]]);
		assert.match(found[0][3], /This pair has no begin among the selected events\..*Tookat least 1 µs/);
		assert.match(found[1][3], /This pair has no end among the selected events\..*Tookat least 2 µs/);
		assert.match(await page.textContent('#table thead'), /Cut/);
		await page.evaluate(() => ptraceReport.goToWorst(ptraceReport.model.meta.classes.findIndex(c => c.name === 'open')));
		assert.equal((await current(page)).duration, 2000);
	},
	async 'a wait says what it is for, and who held the lock'() {
		const page = await open('waits.html');
		await picture(page, 'waits');
		const found = await page.evaluate(() => {
			const {model, lanes} = ptraceReport;
			return model.lanes.flatMap(lane => lane.rows.flatMap(track => [...track.begin].map((begin, i) => {
				const wait = model.waitOf(lane, track.class[i], track.row[i]);
				return [lane.tid, begin, track.duration[i], wait && wait.text, wait && wait.holder && wait.holder.tid, track.fate[i]];
			}))).sort((a, b) => a[1] - b[1]);
		});
		assert.deepEqual(found, [[7, 0, 4000, 'read /etc/passwd', undefined, 0], [9, 5000, 3000, null, null, 0],
			[8, 6000, 2500, 'pthread_mutex_lock 0xabc0', 9, 0], [9, 8600, 400, 'pthread_mutex_lock 0xabc0', 8, 3],
			[6, 8700, 20, 'pthread_mutex_lock 0xabc01', undefined, 0], [6, 8730, 10, 'read /etc', undefined, 0],
			[6, 8750, 10, null, null, 0]]);
		// Each kind has its colour.
		const at = (tid, begin) => page.evaluate(([tid, begin]) => {
			const {lanes} = ptraceReport, row = lanes.rows().find(r => r.lane && r.lane.tid === tid);
			return {x: lanes.xOf(begin), y: row.y - lanes.view.scroll + 22 + 3};
		}, [tid, begin]);
		const io = await at(7, 3900), lock = await at(8, 8000);
		assert.deepEqual(await pixel(page, io.x, io.y), [217, 165, 82]);
		assert.deepEqual(await pixel(page, lock.x, lock.y), [224, 120, 122]);
		// An arrow goes from the wait to the holder's lane.
		const start = await at(8, 6000), to = await at(9, 6000);
		const dark = await pixel(page, start.x + 1, (start.y + 14 + to.y) / 2);
		assert.ok(dark[0] < 200, dark.join());
		await page.mouse.move(lock.x, await lanesTop(page) + lock.y);
		assert.match(await page.textContent('#tip'), /pthread_mutex_lock 0xabc0\nheld by thread 9 clerk/);
		await page.mouse.click(lock.x, await lanesTop(page) + lock.y);
		assert.match(await page.textContent('#details'), /Held by/);
		await page.click('#details button:has-text("thread 9 clerk")');
		const item = await current(page);
		assert.deepEqual([item.name, item.tid, item.begin], ['work', 9, 5000]);
		await page.click('#tabs button:has-text("Waits")');
		const tables = await page.textContent('#table');
		for (const part of ['Still waiting at the end', 'thread 9 clerk7400 nspthread_mutex_lock0xabc0thread 8 teller0x300', '0xabc072',
			'thread 9 clerk (50 %), thread 8 teller (50 %)', '/etc/passwd'])
			assert.ok(tables.includes(part), part + ' in ' + tables);
		await picture(page, 'waits-table');
		// A click on a row searches for the waits of exactly this file, lock or call.
		const click = async (table, row) => {
			await page.click(`#table h2:has-text("${table}") + * tr:has(td:text-is("${row}"))`);
			return [(await current(page)).fields, await page.textContent('#found')];
		};
		let [fields, matches] = await click('Files', '/etc');
		assert.deepEqual([fields.path, matches], ['/etc', '1 of 1']);
		[fields, matches] = await click('Locks', '0xabc0');
		assert.deepEqual([fields.lock, matches], ['0xabc0', '1 of 2']);
		// A wait without an end says so.
		await page.click('#table h2:has-text("Locks") + * tr:has(td:text-is("0xabc0"))');
		await page.evaluate(() => ptraceReport.goToMatch(1));
		assert.match(await page.textContent('#details'), /NoteThis wait has no end among the selected events\./);
	},
	async 'without waits, the page says that it is not known why threads did not run'() {
		const page = await open('switches.html');
		assert.match(await page.textContent('#notes'), /Why threads did not run is not known/);
		assert.equal(await page.$$eval('#tabs button', all => all.filter(b => b.textContent === 'Waits').length), 0);
	},
	async 'halves of pairs are there, and say what they are'() {
		const page = await open('halves.html');
		const fates = await page.evaluate(() => [...ptraceReport.model.lanes.find(l => l.pid).events.fate]);
		assert.equal(fates.filter(f => f === 2).length, 1000);
		assert.equal(fates.filter(f => f === 3).length, 1000);
		await page.evaluate(() => {
			const lane = ptraceReport.model.lanes.find(l => l.pid);
			ptraceReport.select(ptraceReport.lanes.itemOf(lane, lane.events, 0));
		});
		assert.match(await page.textContent('#details'), /This event has no end/);
	},
	async 'a trace of years says how exact its times are'() {
		const page = await open('years.html');
		assert.match(await page.textContent('#notes'), /rounded to \d+ ns/);
	},
	async 'a report that is smaller than its log says what it leaves out'() {
		const page = await open('small.html');
		assert.match(await page.textContent('#notes'), /others are counted in the tables and drawn as grey stretches/);
		const found = await page.evaluate(() => {
			const {model, goToWorst, current} = ptraceReport;
			const number = model.meta.classes.findIndex(c => c.name === 'request');
			goToWorst(number);
			const item = current();
			const dropped = model.lanes.reduce((all, l) => all + l.dropped.reduce((sum, d) => sum + d.count, 0), 0);
			return {count: model.meta.classes[number].count, worst: model.meta.classes[number].max, selected: item.duration,
				dropped, told: model.meta.dropped, kept: model.meta.kept};
		});
		assert.equal(found.count, 20000);
		assert.equal(found.selected, found.worst);
		assert.equal(found.dropped, found.told);
		assert.ok(found.kept > 1000);
		await picture(page, 'left-out');
	},
	async 'a log without user events, or cut in the middle, is shown, too'() {
		for (const file of ['empty.html', 'cut.html']) {
			const page = await open(file);
			assert.equal(await page.textContent('#verdict'), file === 'empty.html' ? 'complete' : 'incomplete');
			assert.deepEqual(problems, [], file);
		}
	},
	async 'a million events are drawn, however near one looks'() {
		const page = await open('million.html');
		assert.equal(await page.evaluate(() => {
			const {lanes, model} = ptraceReport;
			for (let span = model.span; span > 1000; span /= 3) {
				lanes.show(model.span / 2, span);
				lanes.drawNow();
			}
			return model.meta.events;
		}), 1000867);
		await picture(page, 'million');
	},
};

const lanesTop = page => page.evaluate(() => document.getElementById('lanes').getBoundingClientRect().top);

const names = Object.keys(cases);
let failed = 0;
console.log('1..' + names.length);
for (const [i, name] of names.entries()) {
	try {
		await cases[name]();
		assert.deepEqual(problems, []);
		console.log('ok ' + (i + 1) + ' - ' + name);
	} catch (error) {
		failed++;
		console.log('not ok ' + (i + 1) + ' - ' + name);
		console.log(String(error.stack).replace(/^/gm, '# '));
	}
	for (const context of browser.contexts())
		await context.close();
}
await browser.close();
process.exit(failed ? 1 : 0);

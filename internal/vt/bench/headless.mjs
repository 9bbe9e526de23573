// What main.go does, for @xterm/headless:
//
//   node --expose-gc headless.mjs NODE-MODULES-PARENT speed PAYLOAD-FILE MILLISECONDS
//   node --expose-gc headless.mjs NODE-MODULES-PARENT memory PAYLOAD-FILE
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [folder, what, file, milliseconds] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(folder), 'package.json'));
const { Terminal } = require('@xterm/headless');
const { Unicode11Addon } = require('@xterm/addon-unicode11');

const cols = 80, rows = 24, history = 10_000, chunk = 16 << 10;
const payload = readFileSync(file);
const newlines = payload.reduce((n, byte) => n + (byte === 10 ? 1 : 0), 0);

function open() {
  const terminal = new Terminal({ cols, rows, scrollback: history, allowProposedApi: true, logLevel: 'off' });
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = '11';
  return terminal;
}

const write = (terminal, data) => new Promise((resolve) => terminal.write(data, resolve));

function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

async function feed(terminal, done) {
  const start = processorTime();
  let written = 0;
  for (;;) {
    for (let at = 0; at < payload.length; at += chunk) {
      const piece = payload.subarray(at, at + chunk);
      await write(terminal, piece);
      written += piece.length;
      const spent = processorTime() - start;
      if (done(written, spent)) return { bytes: written, ns: Math.round(spent) };
    }
  }
}

async function speed() {
  const terminal = open();
  const enough = Number(milliseconds) * 1e6;
  const kept = newlines * 20 < history ? 0 : history;
  // Compiling takes a while; the others are compiled already.
  await feed(terminal, (written, spent) => spent >= 2 * enough && written * newlines >= kept * payload.length);
  return feed(terminal, (_, spent) => spent >= enough);
}

function heap() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function memory() {
  const several = 4;
  open().dispose();
  const before = heap();
  const terminals = Array.from({ length: several }, open);
  const empty = heap();
  const need = Math.floor((history + rows) * payload.length / Math.max(1, newlines));
  for (const terminal of terminals) {
    for (let written = 0; written < need;) {
      const piece = payload.subarray(0, Math.min(chunk, need - written));
      await write(terminal, piece);
      written += piece.length;
    }
  }
  const full = heap();
  const share = (bytes) => Math.round((bytes - before) / several);
  return { empty: share(empty), full: share(full), lines: terminals[0].buffer.active.baseY };
}

console.log(JSON.stringify(what === 'memory' ? await memory() : await speed()));

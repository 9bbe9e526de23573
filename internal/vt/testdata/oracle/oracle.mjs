// Runs streams through @xterm/headless and prints what it knows afterwards, for
// the differential tests. Started as
//
//   node oracle.mjs FOLDER        with FOLDER/node_modules
//
// Each line of input is a JSON case {cols, rows, scrollback, runs}, a run being
// a list of operations: {w: base64} writes, {r: [cols, rows]} resizes, {z: true}
// resets as the browser does before a repaint, {d: true}
// dumps, {d: true, p: true} with rows above the screen as a page shows them: an
// empty cell there is a space, nothing is protected, and a blank end is not told.
// Each line of output is {dumps: [[…] per run]} or {error}.
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const require = createRequire(path.join(path.resolve(process.argv[2]), 'package.json'));
const { Terminal } = require('@xterm/headless');
const { Unicode11Addon } = require('@xterm/addon-unicode11');

// Keeps xterm.js from what makes it hang (huge counts), throw or change the wrong
// row (ED 1 in the last column). Whoever shows hostile output has to.
function guard(core) {
  const handler = core._inputHandler;
  for (const [final, limit] of [['L', 1000], ['M', 1000], ['S', 1000], ['T', 1000], ['I', 1000], ['Z', 1000], ['b', 0]]) {
    handler._parser.registerCsiHandler({ final }, (params) => {
      params.params[0] = Math.min(params.params[0], limit || Math.min(1000, Math.max(16, core.cols)));
      return false;
    });
  }
  handler._parser.registerEscHandler({ intermediates: '#', final: '8' }, () => {
    // In origin mode DECALN runs past the last row, which in a full list is the
    // first one of the scrollback.
    const { lines, ybase } = core.buffers.active;
    const kept = [];
    for (let y = 0; y < Math.min(core.rows, ybase); y++) kept.push(lines.get(y).clone());
    handler.screenAlignmentPattern();
    kept.forEach((line, y) => lines.set(y, line));
    return true;
  });
  for (const prefix of ['', '?']) {
    handler._parser.registerCsiHandler({ prefix, final: 'J' }, (params) => {
      const buffer = core.buffers.active;
      if (params.params[0] !== 1 || buffer.x + 1 < core.cols) return false;
      handler._restrictCursor(core.cols);
      handler._eraseInBufferLine(buffer.y, 0, buffer.x + 1, true, prefix === '?');
      if (buffer.y + 1 < core.rows) buffer.lines.get(buffer.ybase + buffer.y + 1).isWrapped = false;
      for (let y = 0; y < buffer.y; y++) handler._resetBufferLine(y, prefix === '?');
      return true;
    });
  }
}

function open(cols, rows, scrollback) {
  const term = new Terminal({ cols, rows, scrollback, allowProposedApi: true, logLevel: 'off',
    windowOptions: { pushTitle: true, popTitle: true } });
  term.loadAddon(new Unicode11Addon());
  term.unicode.activeVersion = '11';
  // When rewrapping overflows the scrollback, xterm.js writes to negative
  // indexes, which wrap around and overwrite the bottom of the screen.
  const list = Object.getPrototypeOf(term._core.buffers.normal.lines);
  if (!list.patched) {
    const set = list.set;
    list.set = function (index, value) { if (index >= 0) set.call(this, index, value); };
    list.patched = true;
  }
  guard(term._core);
  let pending = Buffer.alloc(0);
  const seen = { title: '', replies: '' };
  term.onTitleChange((title) => { seen.title = title; });
  term.onData((data) => { seen.replies += data; });
  return {
    term,
    seen,
    reset() {
      pending = Buffer.alloc(0);
      term.reset();
      term._core.writeSync('\x18');
      // The title and its stack outlive a reset; in the browser the stack is off.
      term._core._inputHandler._windowTitleStack.length = 0;
      term._core._inputHandler._windowTitle = '';
      seen.title = seen.replies = '';
    },
    // xterm.js misreads a character cut behind a byte 0x80, so its callers
    // must not cut characters: the browser holds back as this does.
    write(data) {
      data = Buffer.concat([pending, data]);
      let keep = 0;
      for (let n = 1; n <= 3 && n <= data.length; n++) {
        const b = data[data.length - n];
        if ((b & 0xc0) === 0x80) continue;
        if ((b >= 0xc0 && n < 2) || (b >= 0xe0 && n < 3) || (b >= 0xf0 && b < 0xf8 && n < 4)) keep = b < 0xf8 ? n : 0;
        break;
      }
      pending = data.subarray(data.length - keep);
      term._core.writeSync(new Uint8Array(data.subarray(0, data.length - keep)));
    },
  };
}

// A palette colour leaves bits of an earlier RGB colour behind it.
const attrs = (v) => ([0x1000000, 0x2000000].includes(v & 0x3000000) ? v & ~0xffff00 : v) >>> 0;

const color = (mode, value) => {
  switch (mode) {
    case 0x1000000: case 0x2000000: return String(value & 255);
    case 0x3000000: return '#' + (value & 0xffffff).toString(16).padStart(6, '0');
    default: return '';
  }
};

// Whether a cell has a link is told here, which one by links.
function cellText(cell) {
  const fg = cell.fg, bg = cell.bg;
  const extended = (bg & 0x10000000) !== 0;
  let underline = 0, underlineColor = '', link = '';
  if (fg & 0x10000000) underline = extended ? (cell.extended._ext & 0x1c000000) >> 26 : 1;
  if (underline) {
    const c = cell.extended._ext;
    if (extended) underlineColor = color(c & 0x3000000, c & 0xffffff);
  }
  if (extended && cell.extended.urlId) link = 'L';
  let flags = '';
  if (fg & 0x8000000) flags += 'b';
  if (bg & 0x8000000) flags += 'd';
  if (bg & 0x4000000) flags += 'i';
  if (fg & 0x20000000) flags += 'k';
  if (fg & 0x4000000) flags += 'r';
  if (fg & 0x40000000) flags += 'h';
  if (fg & 0x80000000) flags += 's';
  if (bg & 0x40000000) flags += 'o';
  if (bg & 0x20000000) flags += 'p';
  const style = [color(fg & 0x3000000, fg), color(bg & 0x3000000, bg), flags, underline || '', underlineColor, link].join(',');
  const chars = cell.getChars();
  return `${chars}/${cell.getWidth()}${style === ',,,,,' ? '' : '/' + style}`;
}

function row(term, line, cols, asPage) {
  if (!line) return 'none';
  const cell = term.buffer.active.getNullCell();
  const out = [];
  let last = null, count = 0;
  const flush = () => {
    if (last !== null) out.push(count > 1 ? `${last}×${count}` : last);
  };
  while (asPage && cols > 0 && line.loadCell(cols - 1, cell).getChars().trim() === '' && cell.getWidth() === 1) cols--;
  for (let x = 0; x < cols; x++) {
    line.loadCell(x, cell);
    if (asPage) cell.bg &= ~0x20000000;
    let text = cellText(cell);
    if (asPage && text.startsWith('/1')) text = ' ' + text;
    if (text === last) { count++; continue; }
    flush();
    last = text; count = 1;
  }
  if (last !== (asPage ? ' /1' : '/1')) flush();
  return (line.isWrapped ? '~' : '') + out.join('|');
}

// A charset is told by what some characters become.
function charsetName(c) {
  return c ? ['#', '@', '[', '`', 'q', '~'].map((k) => (c[k] ?? k)[0]).join('') : '';
}

// The targets of links by row (from the screen's top) and column, where xterm.js
// still knows them: it forgets those of lines that were erased.
function links(term, name, buffer, cols, rows, out) {
  const cell = term.buffer.active.getNullCell();
  const service = term._core._oscLinkService;
  for (let y = 0; y < rows; y++) {
    const line = buffer.lines.get(buffer.ybase + y);
    for (let x = 0; line && x < cols; x++) {
      line.loadCell(x, cell);
      if (!(cell.bg & 0x10000000) || !cell.extended.urlId) continue;
      const uri = service.getLinkData(cell.extended.urlId)?.uri;
      if (uri !== undefined) out[`${name} ${y},${x}`] = uri;
    }
  }
}

function screen(term, buffer, cols, rows, history, asPage) {
  const lines = [];
  if (buffer.lines.length > 0) {
    for (let y = history ? 0 : buffer.ybase; y < buffer.ybase + rows; y++) {
      lines.push(row(term, buffer.lines.get(y), cols, asPage && y < buffer.ybase));
    }
  }
  const tabs = [];
  for (let x = 0; x < cols; x++) if (buffer.tabs[x]) tabs.push(x);
  return {
    lines, top: buffer.scrollTop, bottom: buffer.scrollBottom, tabs: tabs.join(),
    saved: [Math.min(buffer.savedX, cols - 1), Math.min(rows - 1, Math.max(buffer.savedY - buffer.ybase, 0)),
      attrs(buffer.savedCurAttrData.fg), attrs(buffer.savedCurAttrData.bg), charsetName(buffer.savedCharset)].join(),
  };
}

function dump(term, seen, asPage) {
  const core = term._core;
  const { normal, alt, active } = core.buffers;
  const m = core.coreService.decPrivateModes;
  const pen = core._inputHandler._curAttrData;
  const penCell = term.buffer.active.getNullCell();
  penCell.fg = pen.fg; penCell.bg = pen.bg; penCell.extended = pen.extended; penCell.content = 1 << 22;
  const charset = core._charsetService;
  const join = core._inputHandler._parser.precedingJoinState;
  const replies = seen.replies;
  seen.replies = '';
  const targets = {};
  links(term, 'main', normal, term.cols, term.rows, targets);
  if (alt.lines.length > 0) links(term, 'alt', alt, term.cols, term.rows, targets);
  return {
    title: seen.title, replies, links: targets,
    main: screen(term, normal, term.cols, term.rows, true, asPage),
    alt: screen(term, alt, term.cols, term.rows, false),
    ybase: normal.ybase,
    alternate: active === alt,
    x: active.x, y: active.y,
    pen: cellText(penCell),
    modes: [core.coreService.modes.insertMode, m.applicationCursorKeys, m.applicationKeypad, m.bracketedPasteMode,
      m.origin, m.reverseWraparound, m.sendFocus, m.synchronizedOutput, m.wraparound, core.coreService.isCursorHidden,
      term.options.convertEol, term.options.cursorBlink,
      core.coreMouseService.activeProtocol, core.coreMouseService.activeEncoding, m.cursorStyle ?? '', m.cursorBlink ?? ''].join(),
    charset: charsetName(charset.charset) + '/' + charset.glevel + '/' + [0, 1, 2, 3].map((i) => charsetName(charset._charsets[i])).join(),
    join: (join >> 1) & 3,
    state: core._inputHandler._parser.currentState,
  };
}

const lines = readline.createInterface({ input: process.stdin });
for await (const text of lines) {
  let result;
  try {
    const job = JSON.parse(text);
    result = { dumps: job.runs.map((run) => {
      const { term, seen, write, reset } = open(job.cols, job.rows, job.scrollback);
      const dumps = [];
      for (const op of run) {
        if (op.w !== undefined) write(Buffer.from(op.w, 'base64'));
        if (op.z) reset();
        if (op.r) {
          term.resize(...op.r);
          // xterm.js forgets to bound a hidden alternate screen that shrinks,
          // which then gets a scrollback.
          const { alt } = term._core.buffers;
          if (alt.lines.length === 0) alt.lines.maxLength = op.r[1];
        }
        if (op.d) dumps.push(dump(term, seen, op.p));
      }
      term.dispose();
      return dumps;
    }) };
  } catch (e) {
    result = { error: String(e?.stack ?? e) };
  }
  process.stdout.write(JSON.stringify(result) + '\n');
}

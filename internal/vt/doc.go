// Package vt is a headless terminal: it reads what a program prints and knows
// what its screen looks like.
//
// It owns the parser, both screens, the history, the modes, the answers to
// terminal queries, and what can be observed from outside (title, bell, program
// status, the prompt on the screen). It never does input or output, starts no
// goroutine, reads no clock and keeps no reference to anything outside. The
// holder, the server, attach and logs call it; each Terminal belongs to one
// goroutine at a time and lives as long as its session.
//
// # The oracle
//
// The browser shows the same bytes through xterm.js 6.0.0 with
// addon-unicode11, so xterm.js is the definition of right, its surprises
// included: a screen that differs from the browser's is a defect even where
// another terminal would agree with us. The tests compare with @xterm/headless.
// Deliberate differences, all of them where xterm.js throws, hangs or grows
// without bound:
//
//   - ED 1 in the last column clears the wrap flag of the row below; xterm.js
//     addresses a wrong line, or throws.
//   - Repeat counts of IL, DL, SU, SD, CHT and CBT stop having an effect at the
//     size of the screen, that of REP at its width.
//   - Strings (OSC, DCS) above 1 MiB and clusters above 32 code points are cut.
//   - A character split over two writes is put together correctly always, and a
//     run of characters is one run however it was cut into writes.
//   - Rewrapping never throws, and never writes below index 0.
//   - CPR never reports a column beyond the last.
//
// # The parser
//
// The states are those of Paul Williams' parser for DEC terminals
// (https://vt100.net/emu/dec_ansi_parser), as xterm.js's EscapeSequenceParser.ts
// has them, on code points instead of bytes:
//
//	ground ─ESC→ escape ─[→ CSI entry → parameters → intermediates → final: csi.go
//	                    ─]→ OSC … BEL or ST: osc.go
//	                    ─P→ DCS entry → parameters → intermediates → payload … ST: reply.go
//	                    ─X ^ _→ SOS, PM, APC: swallowed
//	                    ─0x20…0x2f→ intermediates → final: charset.go, modes.go
//	CAN and SUB end any of them; ESC begins anew; BEL ends OSC only
//
// Where a rule has another source than ECMA-48 and xterm's ctlseqs, it is
// xterm.js's InputHandler.ts (functions), Buffer.ts and BufferReflow.ts (resize),
// Charsets.ts, or OptionsService's defaults, and stands beside the code. DESIGN.md
// says what was tried instead.
//
// # Determinism
//
// The same bytes and resizes in the same order give equal terminals, however
// the bytes were cut into writes. Holder and server rely on it.
//
// # Two histories
//
// The scrollback is what xterm.js would hold: rows as wide as the screen,
// rewrapped on resize, erased by ED 3 and RIS. The archive holds logical lines
// that no program can erase, each with a LineID that never changes; Page reads
// it. Both keep lines encoded, a few dozen bytes each.
//
// # Trust
//
// Everything a program prints is hostile. No input makes Write panic, hang or
// hold unbounded memory; replies hold constants and numbers only; a Repaint
// carries nothing that could act (no bell, query, clipboard or notification).
// Observed text is the program's word: callers cap, clean and label it.
package vt

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/untrusted"
)

// app is what every command has: the three streams, the environment, and the
// exit code of a command that did its work.
type app struct {
	stdin          *os.File
	stdout, stderr *os.File
	getenv         func(string) string
	now            func() time.Time

	// code is set by a command that passes on the code of a program.
	code int
}

func newApp(stdin, stdout, stderr *os.File, getenv func(string) string) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv, now: time.Now}
}

// dirs finds the installation. Whether it exists is each command's affair.
func (a *app) dirs() (daemon.Dirs, error) { return daemon.ResolveDirs(a.getenv) }

// Styles of text on a terminal.
const (
	styleDim   = "2"
	styleBold  = "1"
	styleRed   = "31"
	styleGreen = "32"
	styleAmber = "33"
)

// style wraps text in a style where w is a terminal and NO_COLOR is not set.
func (a *app) style(w *os.File, style, text string) string {
	if a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" || !term.IsTerminal(int(w.Fd())) {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// print writes a line to standard output.
func (a *app) print(format string, arguments ...any) {
	fmt.Fprintf(a.stdout, format+"\n", arguments...)
}

// note writes a dim line to standard error: what a person may want to know and
// a script does not.
func (a *app) note(format string, arguments ...any) {
	fmt.Fprintln(a.stderr, a.style(a.stderr, styleDim, fmt.Sprintf(format, arguments...)))
}

// printError says what went wrong, a line for each of several errors.
func (a *app) printError(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		for _, err := range joined.Unwrap() {
			a.printError(err)
		}
		return
	}
	fmt.Fprintln(a.stderr, a.style(a.stderr, styleRed, "agent-helm:"), clean(err.Error(), 2000))
}

// interactive says that a person sits at standard input and output.
func (a *app) interactive() bool {
	return term.IsTerminal(int(a.stdin.Fd())) && term.IsTerminal(int(a.stdout.Fd()))
}

// clean makes text of a program, a file or another host safe to print.
func clean(text string, limit int) string {
	cleaned := untrusted.Clean(text, limit+1)
	if utf8.RuneCountInString(cleaned) > limit {
		return string([]rune(cleaned)[:max(limit-1, 0)]) + "…"
	}
	return cleaned
}

// columns is the width of the terminal, or unlimited when it is none.
func (a *app) columns() int {
	cols, _, err := term.GetSize(int(a.stdout.Fd()))
	if err != nil || cols <= 0 {
		return 0
	}
	return cols
}

// table prints rows in columns. The widest cells are cut so that a row fits
// the terminal; into a file nothing is cut.
type table struct {
	header []string
	rows   [][]cell
	// flexible is the column that gives way first.
	flexible int
}

type cell struct {
	text  string
	style string
}

// drop removes columns, given in ascending order.
func (t *table) drop(columns ...int) {
	for i := len(columns) - 1; i >= 0; i-- {
		column := columns[i]
		t.header = slices.Delete(t.header, column, column+1)
		for j := range t.rows {
			t.rows[j] = slices.Delete(t.rows[j], column, column+1)
		}
		if column < t.flexible {
			t.flexible--
		}
	}
}

func (t *table) print(a *app) {
	widths := make([]int, len(t.header))
	for i, name := range t.header {
		widths[i] = utf8.RuneCountInString(name)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	if cols := a.columns(); cols > 0 {
		total := 2 * (len(widths) - 1)
		for _, w := range widths {
			total += w
		}
		if excess := total - cols; excess > 0 {
			widths[t.flexible] = max(widths[t.flexible]-excess, 10)
		}
	}
	line := func(cells []cell) {
		var b strings.Builder
		for i, c := range cells {
			text := clean(c.text, widths[i])
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if c.style != "" {
				text = a.style(a.stdout, c.style, text)
			}
			b.WriteString(text)
			if i < len(cells)-1 {
				b.WriteString(padding + "  ")
			}
		}
		a.print("%s", strings.TrimRight(b.String(), " "))
	}
	header := make([]cell, len(t.header))
	for i, name := range t.header {
		header[i] = cell{name, styleDim}
	}
	line(header)
	for _, row := range t.rows {
		line(row)
	}
}

// age says how long something took or is ago, in one unit and a half.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// readAll reads standard input up to a limit.
func (a *app) readAll(limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(a.stdin, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, usage("standard input is larger than %d KiB", limit>>10)
	}
	return data, nil
}

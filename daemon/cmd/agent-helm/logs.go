package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/internal/vt"
)

type logsCommand struct {
	Session string `arg:"" optional:"" predictor:"session" help:"Name, id or the beginning of one; may be left out when there is only one."`

	Lines  int    `short:"n" placeholder:"N" help:"Only the last N lines."`
	Follow bool   `short:"f" help:"Go on printing until the program ends."`
	Raw    bool   `help:"The bytes as the program printed them. They can do anything to a terminal."`
	Search string `placeholder:"TEXT" help:"Only the lines that hold TEXT, whatever its case."`
	Regexp bool   `help:"TEXT is a regular expression (RE2)."`
	JSON   bool   `name:"json" help:"With --search: print a list of matches with their positions."`
	Cast   string `placeholder:"FILE" type:"path" help:"Write a recording that plays (asciicast v2) to FILE, or to standard output for -."`
	Color  string `default:"auto" enum:"auto,always,never" help:"Keep colours: auto, always or never. Auto is on a terminal without NO_COLOR."`
}

func (logsCommand) Help() string {
	return `It prints what a terminal would have kept: text and colours, nothing that moves, clears or asks, and also what the program erased from its own history. It works for ended sessions until they are forgotten.

A search takes lines that wrapped on the screen as one, and ends with code 1 when no line matches. A recording has what the program printed and when, as far as the log goes back, and nothing that was typed.`
}

func (logsCommand) Examples() string {
	return `agent-helm logs build
agent-helm logs -n 50 --follow api
agent-helm logs --search 'error|warning' --regexp build
agent-helm logs --cast build.cast build && asciinema play build.cast
agent-helm logs --raw build > build.typescript`
}

func (c *logsCommand) Run(ctx context.Context, app *app) error {
	if c.Lines < 0 {
		return usage("-n %d: give a positive number", c.Lines)
	}
	if c.Raw && c.Color == "always" {
		return usage("--raw prints what there is: leave --color out")
	}
	if err := c.checkModes(); err != nil {
		return err
	}
	session, err := app.findOnly(ctx, c.Session, anySession)
	if err != nil {
		return err
	}
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	if c.Cast != "" {
		return c.writeCast(app, dirs, session)
	}
	source, err := openLog(ctx, dirs, session, c.Follow)
	if err != nil {
		return err
	}
	defer source.Close()
	out := bufio.NewWriterSize(app.stdout, 64<<10)
	switch {
	case c.Raw:
		err = c.printRaw(source, out)
	case c.Search != "":
		err = c.printSearch(app, source, out)
	default:
		err = c.printText(source, out, c.colours(app))
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil && ctx.Err() != nil && c.Follow {
		return nil // ^C is how following ends
	}
	return err
}

func (c *logsCommand) colours(app *app) bool {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return term.IsTerminal(int(app.stdout.Fd())) && app.getenv("NO_COLOR") == "" && app.getenv("TERM") != "dumb"
}

// printRaw prints the bytes, or those of the last lines.
func (c *logsCommand) printRaw(source logSource, out *bufio.Writer) error {
	var tail []byte
	live := c.Lines == 0
	for {
		piece, err := source.Next()
		if errors.Is(err, io.EOF) {
			_, err = out.Write(lastLines(tail, c.Lines))
			return err
		}
		if err != nil {
			return err
		}
		switch {
		case piece.live:
			if _, err := out.Write(lastLines(tail, c.Lines)); err != nil {
				return err
			}
			tail, live = nil, true
		case live:
			if _, err := out.Write(piece.data); err != nil {
				return err
			}
		default:
			tail = append(tail, piece.data...)
			if len(tail) > 1<<20 {
				tail = lastLines(tail, c.Lines)
			}
		}
		if live {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// lastLines is the end of data that holds n lines, or all of it for 0.
func lastLines(data []byte, n int) []byte {
	if n <= 0 {
		return data
	}
	end := len(data)
	if end > 0 && data[end-1] == '\n' {
		end--
	}
	for ; n > 0; n-- {
		end = bytes.LastIndexByte(data[:end], '\n')
		if end < 0 {
			return data
		}
	}
	return data[end+1:]
}

// printText draws the log in a terminal of our own and prints what that kept;
// what follows live is printed as it comes, without what moves the cursor.
func (c *logsCommand) printText(source logSource, out *bufio.Writer, colours bool) error {
	cols, rows := source.Size()
	terminal := vt.New(vt.Options{Cols: int(cols), Rows: int(rows), Scrollback: -1, Archive: maxRendered})
	var live *textFilter
	for {
		piece, err := source.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil || piece.live {
			if live != nil {
				return nil
			}
			if text := c.render(terminal, colours); text != "" {
				// What follows continues the last line, unless that has ended.
				if column, _ := terminal.Cursor(); piece.live && column > 0 {
					text = strings.TrimSuffix(text, "\n")
				}
				if _, err := out.WriteString(text); err != nil {
					return err
				}
			}
			if err != nil {
				return nil
			}
			live = &textFilter{colours: colours}
			if err := out.Flush(); err != nil {
				return err
			}
			continue
		}
		switch {
		case live != nil:
			if _, err := out.Write(live.filter(piece.data)); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		case piece.state != nil:
			restored, err := vt.Restore(piece.state)
			if err != nil {
				return fmt.Errorf("read last screen: %w", err)
			}
			terminal = restored
		case piece.cols > 0:
			terminal.Resize(int(piece.cols), int(piece.rows))
		default:
			_, _ = terminal.Write(piece.data) // never fails
			terminal.TakeReplies()
		}
	}
}

// maxRendered bounds the memory of the lines that logs prints, in bytes; older
// ones are left out.
const maxRendered = 64 << 20

// render is everything that the terminal kept, or its last lines.
func (c *logsCommand) render(terminal *vt.Terminal, colours bool) string {
	options := vt.TextOptions{History: -1, Join: true}
	if c.Lines > 0 {
		options.History = c.Lines
	}
	text := terminal.Text
	if colours {
		text = terminal.ANSI
	}
	// Text of the screen may still turn its own direction.
	filter := textFilter{colours: colours}
	all := string(filter.filter([]byte(text(options))))
	if c.Lines > 0 {
		return string(lastLines([]byte(all), c.Lines))
	}
	return all
}

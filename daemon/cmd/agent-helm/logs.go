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

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

type logsCommand struct {
	Session string `arg:"" optional:"" predictor:"session" help:"Name, id or the beginning of one; may be left out when only one session runs."`

	Lines  int    `short:"n" placeholder:"N" help:"Only the last N lines."`
	Follow bool   `short:"f" help:"Go on printing until the program ends."`
	Raw    bool   `help:"The bytes as the program printed them. They can do anything to a terminal."`
	Color  string `default:"auto" enum:"auto,always,never" help:"Keep colours: auto, always or never. Auto is on a terminal without NO_COLOR."`
}

func (logsCommand) Help() string {
	return `It prints what a terminal would have kept: text and colours, nothing that moves, clears or asks, and also what the program erased from its own history. It works for ended sessions until they are forgotten.`
}

func (logsCommand) Examples() string {
	return `agent-helm logs build
agent-helm logs -n 50 --follow api
agent-helm logs --raw build > build.typescript`
}

func (c *logsCommand) Run(ctx context.Context, app *app) error {
	if c.Lines < 0 {
		return usage("-n %d: give a positive number", c.Lines)
	}
	if c.Raw && c.Color == "always" {
		return usage("--raw prints what there is: leave --color out")
	}
	_, session, err := app.findOnly(ctx, c.Session, anySession)
	if err != nil {
		return err
	}
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	source, err := openLog(ctx, dirs, session, c.Follow)
	if err != nil {
		return err
	}
	defer source.Close()
	out := bufio.NewWriterSize(app.stdout, 64<<10)
	if c.Raw {
		err = c.printRaw(source, out)
	} else {
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

// logSource is a session's output in order. io.EOF ends it.
type logSource interface {
	// Size is the terminal's size at the first piece.
	Size() (cols, rows uint16)
	Next() (logPiece, error)
	Close() error
}

// logPiece is a run of output, a new size, or the moment when everything that
// was there has been given and new output follows.
type logPiece struct {
	data       []byte
	cols, rows uint16
	live       bool
	// state replaces everything before it: it fell out of the log.
	state []byte
}

// openLog opens the log of a running session at its holder, else on disk.
func openLog(ctx context.Context, dirs daemon.Dirs, session daemon.Session, follow bool) (logSource, error) {
	if session.State == daemon.StateRunning {
		source, err := openRunningLog(ctx, dirs, session.ID, follow)
		if err == nil || !errors.Is(err, holder.ErrNoHolder) {
			return source, err
		}
		// It may have ended since it was listed.
	}
	record, err := holder.OpenRecord(dirs, session.ID)
	if errors.Is(err, holder.ErrNotEnded) {
		return nil, unreachable(holder.ErrNoHolder)
	}
	if err != nil {
		return nil, err
	}
	return &endedLog{record: record, position: record.Start(), buffer: make([]byte, 256<<10)}, nil
}

// endedLog reads what an ended session left.
type endedLog struct {
	record   *holder.Record
	position wire.Position
	buffer   []byte
	stated   bool
}

func (l *endedLog) Size() (cols, rows uint16) { return l.record.SizeAt(l.position) }

func (l *endedLog) Next() (logPiece, error) {
	n, mark, next, err := l.record.Read(l.position, l.buffer)
	switch {
	case errors.Is(err, ring.ErrDropped):
		return l.lastScreen()
	case err != nil:
		return logPiece{}, err
	case mark != nil:
		l.position = next
		return logPiece{cols: mark.Cols, rows: mark.Rows}, nil
	case n > 0:
		l.position = next
		return logPiece{data: l.buffer[:n]}, nil
	}
	return logPiece{}, io.EOF
}

// lastScreen stands in for output that the disk did not take.
func (l *endedLog) lastScreen() (logPiece, error) {
	if l.stated {
		return logPiece{}, io.EOF
	}
	l.stated, l.position = true, l.record.End()
	state, err := l.record.State()
	if err != nil {
		return logPiece{}, err
	}
	if state == nil {
		return logPiece{}, io.EOF
	}
	return logPiece{state: state}, nil
}

func (l *endedLog) Close() error { return l.record.Close() }

// runningLog reads from a holder.
type runningLog struct {
	client *holder.Client
	stop   func() bool
	follow bool
	size   [2]uint16
	caught wire.Position // where "everything that was there" ends
	live   bool
	state  []byte // pieces of one that is arriving
	taken  uint64
}

func openRunningLog(ctx context.Context, dirs daemon.Dirs, id string, follow bool) (*runningLog, error) {
	client, err := holder.Dial(ctx, dirs, id, wire.RoleTool)
	if err != nil {
		return nil, err
	}
	welcome := client.Welcome().Session
	l := &runningLog{client: client, follow: follow, caught: welcome.End, size: [2]uint16{welcome.Cols, welcome.Rows}}
	l.stop = context.AfterFunc(ctx, func() { client.Close() })
	// The log does not say its first size; a stream that begins with a mark
	// does. Wrapped lines are joined again anyway.
	if err := client.Send(&wire.HolderAttach{Want: wire.WantStream, From: welcome.Start}); err != nil {
		return nil, errors.Join(unreachable(err), client.Close())
	}
	return l, nil
}

func (l *runningLog) Size() (cols, rows uint16) { return l.size[0], l.size[1] }

func (l *runningLog) Next() (logPiece, error) {
	for {
		if !l.live && l.taken >= l.caught.Offset {
			l.live = true
			if !l.follow {
				return logPiece{}, io.EOF
			}
			return logPiece{live: true}, nil
		}
		frame, err := l.client.Receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return logPiece{}, io.EOF
			}
			return logPiece{}, unreachable(err)
		}
		switch f := frame.(type) {
		case *wire.Output:
			l.taken = f.Offset + uint64(len(f.Data))
			if err := l.client.Send(&wire.Ack{Offset: l.taken}); err != nil {
				return logPiece{}, unreachable(err)
			}
			return logPiece{data: f.Data}, nil
		case *wire.Resize:
			return logPiece{cols: f.Cols, rows: f.Rows}, nil
		case *wire.State:
			if l.state = append(l.state, f.Data...); f.Last {
				state := l.state
				l.state, l.taken = nil, f.Position.Offset
				return logPiece{state: state}, nil
			}
		case *wire.Exit:
			return logPiece{}, io.EOF
		}
	}
}

func (l *runningLog) Close() error {
	l.stop()
	return l.client.Close()
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
				// What follows continues the last line.
				if piece.live {
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

package attach

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon/attach/tty"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// Connection is an open connection to a holder, past its welcome.
type Connection interface {
	// Welcome is what the holder said first.
	Welcome() *wire.HolderWelcome
	// Send sends frames in order. Several goroutines may call it.
	Send(frames ...wire.Frame) error
	// Receive waits for the next frame. It fails once the connection is closed.
	Receive() (wire.Frame, error)
	// Close ends Receive.
	Close() error
}

// Options say how to attach.
type Options struct {
	// Name is how messages call the session; it must be clean.
	Name string
	// ReadOnly sends no input and claims no size.
	ReadOnly bool
	// Take claims the size even from an owner who is present.
	Take bool
	// Clipboard lets the session write to the terminal's clipboard.
	Clipboard bool
	// Detach is the detach key; the zero Key is none.
	Detach Key
	// History is how many lines that scrolled off the session's screen are
	// printed into the terminal's own history at the start.
	History int
	// Hint shows on the last row, for a moment, how to detach.
	Hint bool
}

// Reason is why an attachment ended.
type Reason int

// Reasons.
const (
	Detached Reason = iota + 1 // the person pressed the detach key
	Exited                     // the program ended
	Closed                     // the terminal went away, or a signal asked us to end
	Broken                     // the connection to the holder ended; Err says how
)

// Outcome is how an attachment ended.
type Outcome struct {
	Reason Reason
	// ExitCode and ExitSignal are set for Exited.
	ExitCode   int
	ExitSignal string
	// Dropped counts input bytes that the program did not take.
	Dropped int
	// Err is set for Broken.
	Err error
}

const (
	// heldTime is how long the start of a sequence waits for its rest.
	heldTime = 25 * time.Millisecond
	// resizeTime gathers the many sizes of a window that is being dragged.
	resizeTime = 50 * time.Millisecond
	// claimTime is how often typing asks for the size at most.
	claimTime = time.Second
	// presenceTime is how often a sign of life is sent.
	presenceTime = wire.PresenceLifetime / 3
	// finishTime is how long a slow terminal may take to show the last output.
	finishTime = 5 * time.Second
	// answerTime is how long the holder may take to describe the screen.
	answerTime = 300 * time.Millisecond
)

// takeKey claims the size in the cut-out view.
var takeKey = Key{letter: 't', code: 't' & 0x1f}

// Run attaches terminal to the session behind connection, until the person
// detaches, the program ends, or the context is done. It owns both meanwhile,
// and closes connection. The terminal is as it was when Run returns, also by a
// panic.
func Run(ctx context.Context, terminal *tty.Terminal, connection Connection, options Options) (outcome Outcome, err error) {
	c := newClient(terminal, connection, options)
	if err := terminal.Raw(); err != nil {
		return Outcome{}, errors.Join(err, connection.Close())
	}
	signal.Notify(c.signals, unix.SIGWINCH, unix.SIGHUP, unix.SIGTSTP)
	defer signal.Stop(c.signals)
	defer func() {
		failure := recover()
		err = errors.Join(err, c.stop(outcome.Reason))
		if failure != nil {
			panic(failure)
		}
	}()
	c.start()
	outcome = c.loop(ctx)
	outcome.Dropped = c.inputs.dropped
	return outcome, nil
}

// client is one attachment. Its fields belong to the goroutine of Run unless
// they say otherwise.
type client struct {
	terminal   *tty.Terminal
	connection Connection
	options    Options
	opened     time.Time

	frames   chan wire.Frame // closed by the receiver, after receiveErr is set
	received error
	typed    chan []byte // closed by the reader when the terminal is gone
	signals  chan os.Signal
	panics   chan any // of the goroutines below; capacity for each
	workers  sync.WaitGroup
	quit     chan struct{} // closed by stop: nobody listens any more

	outbox  *outbox
	scanner scanner
	inputs  *inputs
	output  pipeline

	cols, rows int // of the window
	// grid is the session's size at the present position of the stream.
	gridCols, gridRows int
	view               *view  // of another size than the window; nil when direct
	drawing            bool   // a state was asked for and has not come yet
	state              []byte // what has come of it
	foreign            bool   // the holder's states are of another version
	again              bool   // and another is needed after it
	hint               *hint
	hintOver           <-chan time.Time // when the hint goes
	focused            bool
	owner              wire.OwnerKind
	mine               bool             // the size is ours
	claimed            time.Time        // when typing last asked for the size
	draw               <-chan time.Time // when the view is to be drawn
	exit               *wire.Exit
	lineStart          bool // the program's cursor is in the first column, as far as we see
}

func newClient(terminal *tty.Terminal, connection Connection, options Options) *client {
	c := &client{
		terminal: terminal, connection: connection, options: options, opened: time.Now(),
		frames: make(chan wire.Frame, 16), typed: make(chan []byte), signals: make(chan os.Signal, 8),
		panics: make(chan any, 3), quit: make(chan struct{}),
		inputs: newInputs(), output: newPipeline(options.Clipboard), focused: true,
	}
	c.scanner.detach, c.scanner.take = options.Detach, takeKey
	c.cols, c.rows = terminal.Size()
	session := connection.Welcome().Session
	c.gridCols, c.gridRows = int(session.Cols), int(session.Rows)
	c.foreign = connection.Welcome().VT != vt.StateVersion
	return c
}

// start makes room on the screen, claims the size and asks for the session.
func (c *client) start() {
	c.openOutbox()
	c.work(c.receive)
	c.work(c.read)
	c.makeRoom()
	if !c.options.ReadOnly {
		c.claim(wire.ClaimAttach)
		if c.options.Take {
			c.claim(wire.ClaimFit)
		}
	}
	c.sendPresence(true)
	c.repaint()
}

// work runs f in a goroutine that stop waits for.
func (c *client) work(f func()) {
	c.workers.Add(1)
	go func() {
		defer c.workers.Done()
		defer func() {
			if failure := recover(); failure != nil {
				c.panics <- failure
			}
		}()
		f()
	}()
}

func (c *client) receive() {
	defer close(c.frames)
	for {
		frame, err := c.connection.Receive()
		if err != nil {
			c.received = err
			return
		}
		select {
		case c.frames <- frame:
		case <-c.quit:
			return
		}
	}
}

func (c *client) read() {
	defer close(c.typed)
	buffer := make([]byte, maxInputChunk)
	for {
		n, err := c.terminal.Read(buffer)
		if n > 0 {
			select {
			case c.typed <- append([]byte(nil), buffer[:n]...):
			case <-c.quit:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loop handles whatever happens, one thing at a time.
func (c *client) loop(ctx context.Context) Outcome {
	presence := time.NewTicker(presenceTime)
	defer presence.Stop()
	var held, resized <-chan time.Time
	for {
		c.flushInput()
		select {
		case frame, open := <-c.frames:
			if !open {
				return c.ended()
			}
			c.take(frame)
			if c.exit != nil {
				return Outcome{Reason: Exited, ExitCode: int(c.exit.Code), ExitSignal: c.exit.Signal}
			}
		case p, open := <-c.typed:
			if !open {
				return Outcome{Reason: Closed}
			}
			if reason := c.scan(p); reason != 0 {
				return Outcome{Reason: reason}
			}
			held = nil
			if c.scanner.waiting() {
				held = time.After(heldTime)
			}
		case <-held:
			held = nil
			c.pass(c.scanner.flush())
		case received := <-c.signals:
			switch received {
			case unix.SIGWINCH:
				resized = time.After(resizeTime)
			case unix.SIGTSTP:
				c.suspend()
			default:
				return Outcome{Reason: Closed}
			}
		case <-resized:
			resized = nil
			c.windowChanged()
		case <-c.hintOver:
			c.hideHint()
		case <-c.draw:
			c.drawView()
		case <-presence.C:
			c.sendPresence(true)
		case failure := <-c.panics:
			panic(failure)
		case <-c.outbox.done:
			// The terminal takes nothing more.
			return Outcome{Reason: Closed}
		case <-ctx.Done():
			return Outcome{Reason: Closed}
		}
	}
}

// ended is the outcome when the holder said nothing more.
func (c *client) ended() Outcome {
	select {
	case failure := <-c.panics:
		panic(failure)
	default:
	}
	err := c.received
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("the holder closed the connection")
	}
	return Outcome{Reason: Broken, Err: err}
}

// take handles one frame of the holder.
func (c *client) take(frame wire.Frame) {
	switch f := frame.(type) {
	case *wire.Output:
		c.takeOutput(f)
	case *wire.State:
		c.takeState(f)
	case *wire.Repaint:
		session := vt.New(vt.Options{Cols: int(f.Cols), Rows: int(f.Rows)})
		_, _ = session.Write(f.Data) // never fails
		c.show(session, f.Position.Offset)
	case *wire.Resize:
		c.gridCols, c.gridRows = int(f.Cols), int(f.Rows)
		if !c.drawing {
			// Terminal and holder fold lines differently; a repaint makes them equal.
			c.repaint()
		} else {
			c.again = true
		}
	case *wire.Gap:
		if !c.drawing {
			c.repaint()
		}
	case *wire.SizeOwner:
		c.mine = f.Client == c.inputs.client && f.Kind == wire.OwnerLocal
		c.owner = f.Kind
		c.planDraw()
	case *wire.InputAck:
		if retired, lost := c.inputs.acknowledge(f); lost {
			c.retire(retired)
		}
	case *wire.Ping:
		c.send(&wire.Pong{Nonce: f.Nonce, Sent: milliseconds(time.Since(c.opened))})
	case *wire.Exit:
		c.exit = f
	}
}

// send sends a frame. The writer calls it as well, for acknowledgements.
func (c *client) send(frame wire.Frame) {
	// The receiver reports a connection that is broken.
	_ = c.connection.Send(frame)
}

// scan takes in what the terminal sent.
func (c *client) scan(p []byte) (end Reason) {
	c.scanner.takeArmed = c.view != nil && !c.options.ReadOnly
	c.scanner.feed(p, c.pass, func(e event) bool {
		switch e {
		case eventDetach:
			end = Detached
			return false
		case eventTake:
			c.claim(wire.ClaimFit)
		case eventFocusIn, eventFocusOut:
			c.focused = e == eventFocusIn
			c.sendPresence(true)
		}
		return true
	})
	return end
}

// pass queues input for the program.
func (c *client) pass(p []byte) {
	if c.options.ReadOnly || len(p) == 0 {
		return
	}
	now := time.Now()
	if !c.inputs.add(p, now) {
		c.outbox.put("\a")
	}
	// Who types while no owner is present gets the size; the holder decides.
	if !c.mine && now.Sub(c.claimed) >= claimTime {
		c.claimed = now
		c.claim(wire.ClaimTyping)
	}
}

func (c *client) flushInput() {
	for {
		input := c.inputs.next(time.Now(), c.opened)
		if input == nil {
			return
		}
		c.send(input)
	}
}

// retire gives up a client id of which something was not applied, and takes
// the size along to the new one.
func (c *client) retire(client wire.ClientID) {
	c.send(&wire.Retire{Client: client})
	c.outbox.put("\a")
	if c.mine {
		c.send(&wire.ReleaseSize{Client: client})
		c.claim(wire.ClaimAttach)
	}
	c.sendPresence(true)
}

func (c *client) claim(reason wire.ClaimReason) {
	c.send(&wire.ClaimSize{Client: c.inputs.client, Reason: reason, Cols: size16(c.cols), Rows: size16(c.rows)})
}

func (c *client) sendPresence(visible bool) {
	if !c.options.ReadOnly {
		c.send(&wire.Presence{Client: c.inputs.client, Visible: visible, Focused: visible && c.focused})
	}
}

// windowChanged tells the holder of the window's new size when the size is
// ours, and draws anew.
func (c *client) windowChanged() {
	cols, rows := c.terminal.Size()
	if cols == c.cols && rows == c.rows {
		return
	}
	c.cols, c.rows = cols, rows
	if c.mine {
		c.claim(wire.ClaimResize)
	}
	if c.view != nil {
		c.drawView()
	}
	// Direct and view may have changed places.
	if c.drawing {
		c.again = true
	} else {
		c.repaint()
	}
}

func size16(n int) uint16 { return uint16(min(max(n, 1), wire.MaxColumns)) }

// openOutbox starts a writer.
func (c *client) openOutbox() {
	c.outbox = newOutbox(c.terminal, func(offset uint64) {
		c.send(&wire.Ack{Offset: offset})
	})
	c.work(c.outbox.run)
}

// Sequences of our own.
const (
	watchFocus = "\x1b[?1004h"
	pushTitle  = "\x1b[22;0t"
)

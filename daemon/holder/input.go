package holder

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// writeStep is how much is given to the PTY at once, so that progress shows.
	writeStep = 4 << 10
	// writeTick is how often a write that is stuck looks around: for retired
	// clients, for input that grew too old, for the end.
	writeTick = 250 * time.Millisecond
	// blockedAfter is how long the PTY may take nothing before people are told
	// that the program does not read.
	blockedAfter = time.Second
)

// inputSink is where input goes: the PTY, or a test's stand-in.
type inputSink interface {
	// Write returns the exact number of bytes accepted also with an error.
	Write(p []byte) (int, error)
	SetWriteDeadline(t time.Time) error
}

// promptSink is a sink that says at once how much it takes. Most input is a key
// that is taken so, and a deadline costs more than writing it.
type promptSink interface{ TryWrite(p []byte) int }

// ackTarget is the connection that hears what became of an input. It must not
// block.
type ackTarget interface{ sendAck(wire.InputAck) }

// inputRules are what the session knows and the queue does not.
type inputRules struct {
	// encode turns an input into its bytes by the terminal's modes of this moment.
	encode func(kind wire.InputKind, data []byte) ([]byte, error)
	// pause is the time between a submitted text of this many bytes and Enter.
	pause func(bytes int) time.Duration
	// blocked is told when the program stops reading, and when it reads again.
	blocked func(bool)
}

// inputClient is the one record of what was applied of a client's input.
type inputClient struct {
	id      wire.ClientID
	applied uint64
	// pending is how many of its inputs wait or are being written.
	pending uint64
	retired bool
	// target is the connection the client spoke on last.
	target ackTarget
	// asked is set when an answer to Retire is due once the present input is decided.
	asked bool
	used  uint64
}

// inputItem is one input that waits or is being written.
type inputItem struct {
	client  *inputClient // nil for what the holder itself writes
	seq     uint64
	kind    wire.InputKind
	data    []byte
	age     time.Duration
	arrived time.Time
	// begun: the PTY accepted a byte; from here on it is finished whatever happens.
	begun bool
	// rest is what is left to write of an input that has begun; nil before.
	rest []byte
}

func (i *inputItem) late(now time.Time) bool {
	return i.client != nil && !i.begun && i.age+now.Sub(i.arrived) > wire.InputLifetime
}

// inputs applies every input at most once, in order, none too late, and never
// one inside another (DESIGN §3 "Input"). One goroutine, run, writes, but for
// keys that add writes while run has nothing; all other methods return at once.
type inputs struct {
	// Static.
	sink  inputSink
	rules inputRules
	wake  chan struct{}
	done  chan struct{} // closed by end

	// Guarded by mu, which is never held while writing or calling rules.
	mu      sync.Mutex
	clients map[wire.ClientID]*inputClient
	uses    uint64
	urgent  [][]byte // the holder's own: interrupt keys, focus
	replies []byte   // the terminal's answers
	queue   []*inputItem
	queued  int // bytes in queue
	current *inputItem
	writing bool // somebody writes: run, or add for an input that is taken at once
	// handed is the current input when add leaves the rest of it to run.
	handed *inputItem
	ended  bool
	stuck  bool // for rules.blocked; only run writes it
}

func newInputs(sink inputSink, rules inputRules) *inputs {
	return &inputs{
		sink: sink, rules: rules,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		clients: make(map[wire.ClientID]*inputClient),
	}
}

// add takes an input, or says at once why not. age is its age on arrival. Keys
// that the PTY takes at once are written here, without the way through run.
func (w *inputs) add(frame *wire.Input, age time.Duration, target ackTarget) {
	if item := w.queueUp(frame, age, target); item != nil {
		w.writeNow(item)
	}
}

// queueUp queues an input, and returns it instead when it may be written now.
func (w *inputs) queueUp(frame *wire.Input, age time.Duration, target ackTarget) *inputItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq, status, refused := w.admit(frame, target); refused {
		target.sendAck(wire.InputAck{Client: frame.Client, Seq: seq, Status: status})
		return nil
	}
	client := w.clients[frame.Client]
	if frame.Seq <= client.applied+client.pending {
		return nil // it waits already; the answer goes to where the client speaks now
	}
	client.pending++
	item := &inputItem{
		client: client, seq: frame.Seq, kind: frame.Kind, data: frame.Data, age: age, arrived: time.Now(),
	}
	_, prompt := w.sink.(promptSink)
	typed := frame.Kind == wire.InputBytes || frame.Kind == wire.InputKeys
	if prompt && typed && !w.writing && !w.stuck && len(w.queue) == 0 && len(w.replies) == 0 && len(w.urgent) == 0 && !item.late(item.arrived) {
		w.writing, w.current = true, item
		return item
	}
	w.queue = append(w.queue, item)
	w.queued += len(frame.Data)
	w.signal()
	return nil
}

// writeNow writes an input that is the current one. What the PTY does not take
// at once is left to run.
func (w *inputs) writeNow(item *inputItem) {
	data, err := w.rules.encode(item.kind, item.data)
	if err != nil {
		w.finish(item, wire.InputInvalid)
		return
	}
	n := w.sink.(promptSink).TryWrite(data[:min(len(data), writeStep)]) //nolint:forcetypeassert // queueUp looked
	if n == len(data) {
		w.finish(item, wire.InputApplied)
		return
	}
	w.mu.Lock()
	item.begun, item.rest = n > 0, data[n:]
	if item.begun && item.client.asked {
		w.answerRetired(item.client, item.seq)
	}
	ended := w.ended
	if !ended {
		w.handed = item
		w.signal()
	}
	w.mu.Unlock()
	if ended {
		w.finish(item, wire.InputEnded)
	}
}

// admit says whether an input may be queued, or the answer it gets instead.
func (w *inputs) admit(frame *wire.Input, target ackTarget) (seq uint64, status wire.InputStatus, refused bool) {
	client := w.clients[frame.Client]
	switch {
	case client == nil && w.ended:
		return frame.Seq, wire.InputEnded, true
	case client == nil && frame.Seq != 1:
		return frame.Seq, wire.InputUnknownClient, true
	case client == nil:
		client = w.remember(frame.Client)
	}
	w.uses++
	client.used, client.target = w.uses, target
	switch expected := client.applied + client.pending + 1; {
	case client.retired:
		return client.applied, wire.InputRetired, true
	case frame.Seq <= client.applied:
		return frame.Seq, wire.InputApplied, true
	case w.ended:
		return frame.Seq, wire.InputEnded, true
	case frame.Seq > expected:
		return client.applied, wire.InputGap, true
	case frame.Seq < expected:
		return 0, 0, false
	case w.behind() >= daemon.MaxQueuedInput || len(w.queue) >= daemon.MaxQueuedInputs:
		return frame.Seq, wire.InputBlocked, true
	}
	return 0, 0, false
}

// behind is how many bytes wait behind the input that is being written, or is
// about to be.
func (w *inputs) behind() int {
	if w.current == nil && len(w.queue) > 0 {
		return w.queued - len(w.queue[0].data)
	}
	return w.queued
}

// remember makes the record of a new client, in place of the one that was
// silent longest when there are too many. A forgotten client is refused as
// unknown from its second input on, and by age from the first.
func (w *inputs) remember(id wire.ClientID) *inputClient {
	if len(w.clients) >= daemon.MaxInputClients {
		var oldest *inputClient
		for _, c := range w.clients {
			if c.pending == 0 && !c.asked && (oldest == nil || c.used < oldest.used) {
				oldest = c
			}
		}
		if oldest != nil {
			delete(w.clients, oldest.id)
		}
	}
	client := &inputClient{id: id}
	w.clients[id] = client
	return client
}

// retire refuses a client's input for ever and answers with what was applied
// of it. An input of which the PTY has taken a byte counts as applied; one that
// waits is dropped.
func (w *inputs) retire(id wire.ClientID, target ackTarget) {
	w.mu.Lock()
	defer w.mu.Unlock()
	client := w.clients[id]
	if client == nil {
		client = w.remember(id)
	}
	w.uses++
	client.used, client.target, client.retired = w.uses, target, true
	w.drop(func(i *inputItem) bool { return i.client == client }, nil)
	switch current := w.current; {
	case current == nil || current.client != client:
		w.answerRetired(client, client.applied)
	case current.begun:
		w.answerRetired(client, current.seq)
	default:
		client.asked = true // the writer knows within a tick
	}
}

func (w *inputs) answerRetired(client *inputClient, applied uint64) {
	client.asked = false
	client.target.sendAck(wire.InputAck{Client: client.id, Seq: applied, Status: wire.InputRetired})
}

// drop removes waiting items; answer, if any, says with which status.
func (w *inputs) drop(which func(*inputItem) bool, answer func(*inputItem) wire.InputAck) {
	w.queue = slices.DeleteFunc(w.queue, func(i *inputItem) bool {
		if !which(i) {
			return false
		}
		w.queued -= len(i.data)
		i.client.pending--
		if answer != nil {
			i.client.target.sendAck(answer(i))
		}
		return true
	})
}

// dropLate answers what has waited too long, and what followed it.
func (w *inputs) dropLate(now time.Time) {
	missing := make(map[*inputClient]bool)
	late := func(i *inputItem) bool { return missing[i.client] || i.late(now) }
	w.drop(late, func(i *inputItem) wire.InputAck {
		if missing[i.client] {
			return wire.InputAck{Client: i.client.id, Seq: i.client.applied, Status: wire.InputGap}
		}
		missing[i.client] = true
		return wire.InputAck{Client: i.client.id, Seq: i.seq, Status: wire.InputLate}
	})
}

// reply queues the terminal's answers; what exceeds the bound is dropped as a
// whole, so that no answer is cut.
func (w *inputs) reply(answers []byte) {
	if len(answers) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || len(w.replies)+len(answers) > daemon.MaxReplyBytes {
		return
	}
	w.replies = append(w.replies, answers...)
	w.signal()
}

// interject writes the holder's own bytes before anything that waits.
func (w *inputs) interject(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || len(w.urgent) >= 16 {
		return
	}
	w.urgent = append(w.urgent, data)
	w.signal()
}

// isStuck says that the program does not read.
func (w *inputs) isStuck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stuck
}

func (w *inputs) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// end refuses everything from here on and makes run return.
func (w *inputs) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	close(w.done)
	if item := w.handed; item != nil {
		w.handed, w.current, w.writing = nil, nil, false
		item.client.pending--
		item.client.target.sendAck(wire.InputAck{Client: item.client.id, Seq: item.seq, Status: wire.InputEnded})
	}
	w.drop(func(*inputItem) bool { return true }, func(i *inputItem) wire.InputAck {
		return wire.InputAck{Client: i.client.id, Seq: i.seq, Status: wire.InputEnded}
	})
	_ = w.sink.SetWriteDeadline(time.Unix(1, 0)) // a closed PTY refuses by itself
}

// run writes until end, whatever may have to wait for the sink.
func (w *inputs) run() {
	for {
		item, own := w.next()
		switch {
		case own != nil:
			w.write(&inputItem{begun: true}, own)
			w.rest()
		case item != nil:
			w.finish(item, w.apply(item))
		default:
			select {
			case <-w.wake:
			case <-w.done:
				return
			}
		}
	}
}

// next takes what is to be written now: answers first, they are overdue.
func (w *inputs) next() (item *inputItem, own []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.handed != nil:
		item, w.handed = w.handed, nil
	case w.ended, w.writing:
	case len(w.replies) > 0:
		own, w.replies = w.replies, nil
	case len(w.urgent) > 0:
		own, w.urgent = w.urgent[0], w.urgent[1:]
	case len(w.queue) > 0:
		w.dropLate(time.Now())
		if len(w.queue) == 0 {
			return nil, nil
		}
		item = w.queue[0]
		w.queue = slices.Delete(w.queue, 0, 1)
		w.queued -= len(item.data)
		w.current = item
	}
	w.writing = w.writing || item != nil || own != nil
	return item, own
}

// rest says that nobody writes.
func (w *inputs) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = false
}

// apply writes one input and says what became of it.
func (w *inputs) apply(item *inputItem) wire.InputStatus {
	if item.rest != nil {
		return w.write(item, item.rest)
	}
	data, err := w.rules.encode(item.kind, item.data)
	if err != nil {
		return wire.InputInvalid
	}
	if status := w.write(item, data); status != wire.InputApplied || item.kind != wire.InputSubmit {
		return status
	}
	if pause := w.rules.pause(len(item.data)); pause > 0 && len(data) > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-w.done:
		}
	}
	return w.write(item, []byte{'\r'})
}

// write gives the sink all of data, however long that takes, unless the item
// has not begun and has become void.
func (w *inputs) write(item *inputItem, data []byte) wire.InputStatus {
	progress := time.Now()
	prompt, _ := w.sink.(promptSink)
	for len(data) > 0 {
		var n int
		var err error
		if prompt != nil {
			n = prompt.TryWrite(data[:min(len(data), writeStep)])
		}
		if n == 0 {
			if w.sink.SetWriteDeadline(time.Now().Add(writeTick)) != nil {
				return wire.InputEnded
			}
			n, err = w.sink.Write(data[:min(len(data), writeStep)])
		}
		data = data[n:]
		now := time.Now()
		w.mu.Lock()
		if n > 0 {
			item.begun, progress = true, now
			if item.client != nil && item.client.asked {
				w.answerRetired(item.client, item.seq)
			}
		}
		status, void := w.void(item, now)
		if err != nil && !w.ended {
			w.dropLate(now)
		}
		w.mu.Unlock()
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return wire.InputEnded
		case void:
			return status
		}
		w.setStuck(now.Sub(progress) >= blockedAfter)
	}
	w.setStuck(false)
	return wire.InputApplied
}

// void says whether the item is to be given up, and with which answer.
func (w *inputs) void(item *inputItem, now time.Time) (wire.InputStatus, bool) {
	switch {
	case w.ended:
		return wire.InputEnded, true
	case item.begun:
		return 0, false
	case item.client.retired:
		return wire.InputRetired, true
	case item.late(now):
		return wire.InputLate, true
	}
	return 0, false
}

func (w *inputs) setStuck(stuck bool) {
	w.mu.Lock()
	changed := w.stuck != stuck && !w.ended
	if changed {
		w.stuck = stuck
	}
	w.mu.Unlock()
	if changed {
		w.rules.blocked(stuck)
	}
}

// finish records what became of an input and answers it.
func (w *inputs) finish(item *inputItem, status wire.InputStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current, w.writing = nil, false
	if len(w.queue) > 0 || len(w.replies) > 0 || len(w.urgent) > 0 {
		w.signal() // it may have come while run was not the one who writes
	}
	client := item.client
	client.pending--
	if status == wire.InputApplied {
		client.applied = item.seq
	} else {
		// What the client sent after it cannot follow any more.
		w.drop(func(i *inputItem) bool { return i.client == client }, func(*inputItem) wire.InputAck {
			return wire.InputAck{Client: client.id, Seq: client.applied, Status: wire.InputGap}
		})
	}
	if status != wire.InputRetired {
		client.target.sendAck(wire.InputAck{Client: client.id, Seq: item.seq, Status: status})
	}
	if client.asked {
		w.answerRetired(client, client.applied)
	}
}

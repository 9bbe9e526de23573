package attach

import (
	"crypto/rand"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// maxInFlight is how many bytes of input may await the holder's word. It
	// is less than the holder queues for a program, so that a large paste
	// waits here instead of being refused there.
	maxInFlight = 32 << 10
	// maxInputChunk is the most that one Input of ours carries.
	maxInputChunk = 16 << 10
	// maxWaiting bounds what waits here; more is dropped with a bell.
	maxWaiting = 4 << 20
)

// typed is input with the moment at which it was typed.
type typed struct {
	at   time.Time
	data []byte
}

// inputs gives each piece of input its number and keeps at most maxInFlight
// bytes unacknowledged. One goroutine uses it.
type inputs struct {
	client wire.ClientID
	seq    uint64

	inFlight []int // sizes by seq, the oldest first
	flying   int   // their sum
	queue    []typed
	waiting  int

	// dropped counts bytes that the program will never see.
	dropped int
}

func newInputs() *inputs {
	in := &inputs{}
	in.renew()
	return in
}

// renew takes a fresh client id: the old one was retired or never used.
func (in *inputs) renew() {
	rand.Read(in.client[:]) // never fails
	in.seq, in.inFlight, in.flying = 0, nil, 0
}

// add queues what was typed. It says false when there is no room.
func (in *inputs) add(p []byte, now time.Time) bool {
	if in.waiting+len(p) > maxWaiting {
		in.dropped += len(p)
		return false
	}
	in.waiting += len(p)
	in.queue = append(in.queue, typed{at: now, data: append([]byte(nil), p...)})
	return true
}

// next is the next Input to send, nil when there is none or enough is in
// flight. opened is when the connection was opened.
func (in *inputs) next(now, opened time.Time) *wire.Input {
	if len(in.queue) == 0 || in.flying >= maxInFlight {
		return nil
	}
	head := &in.queue[0]
	n := min(len(head.data), maxInputChunk)
	input := &wire.Input{
		Client: in.client, Kind: wire.InputBytes, Data: head.data[:n],
		Age: milliseconds(now.Sub(head.at)), Sent: milliseconds(now.Sub(opened)),
	}
	in.seq++
	input.Seq = in.seq
	in.inFlight = append(in.inFlight, n)
	in.flying += n
	in.waiting -= n
	if head.data = head.data[n:]; len(head.data) == 0 {
		in.queue = in.queue[1:]
	}
	return input
}

// acknowledge takes in the holder's word. When something was not applied it
// says which client is to be retired; everything that waits is given up,
// because it was typed in the belief that what came before had arrived.
func (in *inputs) acknowledge(ack *wire.InputAck) (retire wire.ClientID, lost bool) {
	if ack.Client != in.client {
		return wire.ClientID{}, false
	}
	if ack.Status == wire.InputApplied {
		first := in.seq - uint64(len(in.inFlight)) + 1
		for len(in.inFlight) > 0 && first <= ack.Seq {
			in.flying -= in.inFlight[0]
			in.inFlight = in.inFlight[1:]
			first++
		}
		return wire.ClientID{}, false
	}
	retire = in.client
	in.dropped += in.flying + in.waiting
	in.queue, in.waiting = nil, 0
	in.renew()
	return retire, true
}

func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), 1<<31))
}

package uplink

import (
	"fmt"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// left is what a queue still keeps, in short.
func left(q *inputQueue) string {
	var text string
	for _, w := range q.list {
		switch f := w.frame.(type) {
		case *wire.Input:
			text += fmt.Sprintf("%d:%d ", f.Client[0], f.Seq)
		case *wire.Retire:
			text += fmt.Sprintf("%d:retire ", f.Client[0])
		}
	}
	return text
}

func TestInputQueue_AnswersSettle(t *testing.T) {
	one, two := wire.ClientID{1}, wire.ClientID{2}
	for name, c := range map[string]struct {
		ack  wire.InputAck
		want string
	}{
		"applied settles what came before": {wire.InputAck{Client: one, Seq: 2}, "1:3 2:1 1:retire "},
		"a stranger's":                     {wire.InputAck{Client: wire.ClientID{9}, Seq: 2}, "1:1 1:2 1:3 2:1 1:retire "},
		"late names itself":                {wire.InputAck{Client: one, Seq: 2, Status: wire.InputLate}, "1:1 1:3 2:1 1:retire "},
		"gap names the last applied":       {wire.InputAck{Client: one, Seq: 1, Status: wire.InputGap}, "1:1 1:3 2:1 1:retire "},
		"gap from the start":               {wire.InputAck{Client: one, Seq: 0, Status: wire.InputGap}, "1:2 1:3 2:1 1:retire "},
		"retired settles the client":       {wire.InputAck{Client: one, Seq: 1, Status: wire.InputRetired}, "2:1 "},
	} {
		t.Run(name, func(t *testing.T) {
			q := newInputQueue()
			now := time.Now()
			for seq := range uint64(3) {
				q.add(&wire.Input{Client: one, Seq: seq + 1, Data: []byte("abc")}, now)
			}
			q.add(&wire.Input{Client: two, Seq: 1, Data: []byte("d")}, now)
			q.add(&wire.Retire{Client: one}, now)
			for q.next() != nil {
			}
			q.answered(&c.ack)
			if got := left(q); got != c.want {
				t.Errorf("left is %q, want %q", got, c.want)
			}
			bytes := 0
			for _, w := range q.drain() {
				bytes += inputBytes(w.frame)
			}
			if q.bytes != 0 {
				t.Errorf("%d bytes are counted in an empty queue, %d were", q.bytes, bytes)
			}
		})
	}
}

func TestInputQueue_RepeatsAndBounds(t *testing.T) {
	q := newInputQueue()
	now := time.Now()
	client := wire.ClientID{1}
	q.add(&wire.Input{Client: client, Seq: 1}, now)
	q.add(&wire.Presence{Client: client}, now)
	for q.next() != nil {
	}
	if len(q.list) != 1 {
		t.Errorf("%d frames are kept, a presence needs no answer", len(q.list))
	}
	q.repeat()
	if w := q.next(); w == nil || w.frame.(*wire.Input).Seq != 1 {
		t.Error("an unanswered input is not repeated")
	}
	// One that is larger than the bound passes alone, the next has to wait.
	q.drain()
	if !q.add(&wire.Input{Client: client, Seq: 2, Data: make([]byte, wire.MaxInput)}, now) {
		t.Error("the largest input is refused by an empty queue")
	}
	accepted := 0
	for q.add(&wire.Input{Client: client, Seq: 3, Data: make([]byte, wire.MaxInput)}, now) {
		accepted++
	}
	if q.bytes > maxWaitingBytes || accepted == 0 {
		t.Errorf("%d bytes wait", q.bytes)
	}
	if !q.add(&wire.Retire{Client: client}, now) {
		t.Error("a retirement is refused")
	}
	// What was never answered does not block for ever.
	for q.next() != nil {
	}
	if !q.add(&wire.Input{Client: client, Seq: 9, Data: make([]byte, wire.MaxInput)}, now.Add(answerTime+time.Second)) || len(q.list) != 1 {
		t.Errorf("%d old inputs still wait", len(q.list))
	}
}

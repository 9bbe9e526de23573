package session

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// An idle session with a screen of text and one viewer costs at most 250 KiB,
// its terminal, its ring and its goroutine's stack together (PERF).
func TestSession_idleMemory(t *testing.T) {
	const sessions, limit = 100, 250 << 10
	measure := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := measure()
	list := make([]*Session, sessions)
	for i := range list {
		info := wire.SessionInfo{ID: testID, Cols: 80, Rows: 24, Meta: wire.SessionMeta{Name: "idle", State: "running"}}
		s := New(Config{Key: testKey}, KnownFrom(testKey, info, time.Now()))
		t.Cleanup(s.Close)
		if _, err := s.Connect(context.Background(), &testHost{}, info); err != nil {
			t.Fatal(err)
		}
		var offset uint64
		for n := range 24 {
			text := fmt.Sprintf("\x1b[3%dmline %d of an agent's answer, which fills half a row\x1b[0m\r\n", n%8, n)
			s.Feed(output(offset, text))
			offset += uint64(len(text))
		}
		if _, err := s.Attach(context.Background(), AttachOptions{Sink: discard{}, Handle: 1}); err != nil {
			t.Fatal(err)
		}
		list[i] = s
	}
	per := (measure() - before) / sessions
	t.Logf("%d KiB per session", per>>10)
	if per > limit {
		t.Errorf("%d bytes per idle session, want at most %d", per, limit)
	}
	runtime.KeepAlive(list)
}

// discard is a viewer that has taken a message and not asked for the next.
type discard struct{}

func (discard) Room() bool       { return true }
func (discard) Send([]byte) bool { return false }

// BenchmarkSession_Feed is the server's cost of one read of a PTY.
func BenchmarkSession_Feed(b *testing.B) {
	s := New(Config{Key: testKey}, Known{Record: server.SessionRecord{SessionKey: testKey, Cols: 80, Rows: 24}})
	b.Cleanup(s.Close)
	if _, err := s.Connect(b.Context(), &testHost{}, wire.SessionInfo{Cols: 80, Rows: 24}); err != nil {
		b.Fatal(err)
	}
	block := make([]byte, 1400) // what a PTY read gives on average
	for i := range block {
		block[i] = "the quick brown fox\r\n"[i%21]
	}
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	var offset uint64
	for b.Loop() {
		s.Feed(&wire.Output{Offset: offset, Data: block})
		offset += uint64(len(block))
	}
	if position, err := s.Position(b.Context()); err != nil || position.Offset != offset {
		b.Fatalf("fed %d, session at %+v (%v)", offset, position, err)
	}
}

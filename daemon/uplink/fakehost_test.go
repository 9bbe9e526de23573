package uplink

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// fakeHost is this host's sessions in memory. Its holders keep the rules of
// the holder dialect that the uplink relies on: positions, windows, gaps with
// a state behind them, and inputs applied once.
type fakeHost struct {
	mu      sync.Mutex
	holders map[string]*fakeHolder
	changes []chan struct{}
	calls   []string
	page    json.RawMessage
}

func newFakeHost() *fakeHost { return &fakeHost{holders: make(map[string]*fakeHolder)} }

func (h *fakeHost) add(t testing.TB) *fakeHolder {
	t.Helper()
	holder := &fakeHolder{
		id: daemon.NewSessionID(), log: ring.New(64 << 20), wake: make(chan struct{}),
		applied: make(map[wire.ClientID]uint64), cols: 80, rows: 24,
	}
	h.mu.Lock()
	h.holders[holder.id] = holder
	h.mu.Unlock()
	h.signal()
	return holder
}

func (h *fakeHost) remove(id string) {
	h.mu.Lock()
	delete(h.holders, id)
	h.mu.Unlock()
	h.signal()
}

func (h *fakeHost) signal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.changes {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (h *fakeHost) List(context.Context) ([]daemon.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []daemon.Session
	for _, holder := range h.holders {
		list = append(list, holder.session())
	}
	slices.SortFunc(list, func(a, b daemon.Session) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return list, nil
}

func (h *fakeHost) Subscribe() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changes = slices.DeleteFunc(h.changes, func(other chan struct{}) bool { return other == c })
	}
}

func (h *fakeHost) holder(id string) *fakeHolder {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holders[id]
}

func (h *fakeHost) Dial(ctx context.Context, id string) (Conn, error) {
	holder := h.holder(id)
	if holder == nil {
		return nil, ErrNoHolder
	}
	for {
		holder.mu.Lock()
		frozen, wake := holder.frozen, holder.wake
		holder.mu.Unlock()
		if !frozen {
			return holder.dial()
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (h *fakeHost) Record(_ context.Context, id string) (Record, error) {
	holder := h.holder(id)
	if holder == nil {
		return nil, errUnknownSession
	}
	return fakeRecord{holder}, nil
}

// fakeRecord is what a fakeHolder left.
type fakeRecord struct{ *fakeHolder }

func (r fakeRecord) Info() wire.SessionInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wire.SessionInfo{ID: r.id, Start: r.log.Start(), End: r.log.End(), Cols: r.cols, Rows: r.rows}
}

func (r fakeRecord) Exit() *daemon.Exit {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exit == nil {
		return nil
	}
	return &daemon.Exit{Code: int(r.exit.Code), Signal: r.exit.Signal}
}

func (r fakeRecord) End() wire.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.End()
}

func (r fakeRecord) Read(position wire.Position, buffer []byte) (int, *ring.Mark, wire.Position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunk, err := r.log.Read(position, len(buffer))
	return copy(buffer, chunk.Data), chunk.Mark, chunk.Next, err
}

func (r fakeRecord) State() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state(), nil
}

func (r fakeRecord) Close() error { return nil }

func (h *fakeHost) called(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
}

func (h *fakeHost) made() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func (h *fakeHost) Start(_ context.Context, params wire.StartParams) (string, error) {
	h.called("start " + params.Agent)
	return daemon.NewSessionID(), nil
}

func (h *fakeHost) Rename(_ context.Context, id, name string) error {
	h.called("rename " + name)
	return nil
}

func (h *fakeHost) Kill(context.Context, string) error { h.called("kill"); return nil }
func (h *fakeHost) Signal(_ context.Context, _, signal string) error {
	h.called("signal " + signal)
	return nil
}
func (h *fakeHost) Forget(context.Context, string) error { h.called("forget"); return nil }
func (h *fakeHost) Page(context.Context, wire.PageParams) (json.RawMessage, error) {
	h.called("page")
	return h.page, nil
}
func (h *fakeHost) Search(context.Context, wire.SearchParams) (json.RawMessage, error) {
	h.called("search")
	return json.RawMessage(`{}`), nil
}
func (h *fakeHost) Recording(context.Context, wire.RecordingParams) (wire.RecordingResult, error) {
	h.called("recording")
	return wire.RecordingResult{}, nil
}

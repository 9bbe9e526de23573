package holder

import (
	"io"
	"testing"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// FuzzConnection gives a session whatever bytes a client may send. The session
// must live on, and the connection end.
func FuzzConnection(f *testing.F) {
	greeting := wire.AppendPreamble(nil)
	hello, err := wire.Append(greeting, &wire.HolderHello{Role: wire.RoleLocal})
	if err != nil {
		f.Fatal(err)
	}
	seed := func(frames ...wire.Frame) {
		b, err := wire.AppendAll(append([]byte(nil), hello...), frames...)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	me := wire.ClientID{1}
	f.Add([]byte{})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(greeting)
	seed(&wire.HolderAttach{Want: wire.WantStream}, &wire.Ack{Offset: 1 << 60})
	seed(&wire.HolderAttach{Want: wire.WantState, History: -1}, &wire.HolderAttach{Want: wire.WantRepaint, Window: 1, LagMS: 1})
	seed(&wire.HolderAttach{Want: wire.WantStream, From: wire.Position{Offset: 1 << 63, Marks: 1 << 31}, History: 1 << 30})
	seed(&wire.Input{Client: me, Seq: 1, Data: []byte("x")}, &wire.Input{Client: me, Seq: 1 << 63}, &wire.Retire{Client: me})
	seed(&wire.Input{Client: me, Seq: 1, Kind: wire.InputKeys, Data: []byte("up  ctrl+ up")}, &wire.Input{Client: me, Seq: 2, Kind: wire.InputSubmit})
	seed(&wire.ClaimSize{Client: me, Reason: 9, Cols: 1, Rows: 1}, &wire.ClaimSize{Client: me, Cols: 1000, Rows: 1000}, &wire.ReleaseSize{})
	seed(&wire.Presence{Client: me, Focused: true}, &wire.Ping{Nonce: 1 << 63}, &wire.Repaint{Cols: 1, Rows: 1})
	for _, method := range []string{wire.MethodInfo, wire.MethodPage, wire.MethodText, wire.MethodRename, wire.MethodSignal, "?"} {
		seed(&wire.RPC{ID: 1, Method: method}, &wire.RPC{Method: method, Params: []byte(`{"max":-1,"before":18446744073709551615,"history":-9,"name":"","signal":"esc"}`)})
	}
	s, end := localSession(f)
	defer end()
	f.Fuzz(func(t *testing.T, sent []byte) {
		client, server := socketPair(t)
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.serve(server, false)
		}()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, client) // until serve closes it
		}()
		_, _ = client.Write(sent) // serve may have refused it already
		_ = client.CloseWrite()
		<-served
		client.Close()
		<-drained
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.exit != nil || len(s.connections) > 0 {
			t.Fatalf("the session suffered: exit %v, %d connections", s.exit, len(s.connections))
		}
	})
}

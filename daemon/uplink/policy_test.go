package uplink

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// reply asks the host and waits for its answer.
func (r *rig) reply(t *testing.T, id uint64, method string, params any) *wire.RPCReply {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	r.server.send(t, &wire.RPC{ID: id, Method: method, Params: raw})
	var reply *wire.RPCReply
	r.server.wait(t, "a reply", func() bool {
		for _, f := range r.server.live.frames {
			if candidate, ok := f.(*wire.RPCReply); ok && candidate.ID == id {
				reply = candidate
				return true
			}
		}
		return false
	})
	return reply
}

func TestPolicy_Matrix(t *testing.T) {
	base := daemon.DefaultPolicy()
	with := func(change func(*daemon.Policy)) daemon.Policy {
		p := base
		change(&p)
		return p
	}
	policies := map[string]daemon.Policy{
		"default":   base,
		"no input":  with(func(p *daemon.Policy) { p.Input = false }),
		"no start":  with(func(p *daemon.Policy) { p.Start = daemon.StartOff }),
		"any start": with(func(p *daemon.Policy) { p.Start = daemon.StartAny }),
		"locked":    with(func(p *daemon.Policy) { p.Locked, p.Start = true, daemon.StartAny }),
	}
	type outcome map[string]bool // what is allowed
	want := map[string]outcome{
		"default":   {"input": true, "size": true, "known": true, "argv": false, "act": true},
		"no input":  {"input": false, "size": false, "known": true, "argv": false, "act": false},
		"no start":  {"input": true, "size": true, "known": false, "argv": false, "act": true},
		"any start": {"input": true, "size": true, "known": true, "argv": true, "act": true},
		"locked":    {"input": false, "size": false, "known": false, "argv": false, "act": false},
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				path := filepath.Join(t.TempDir(), "audit.log")
				audit, err := OpenAudit(path)
				if err != nil {
					t.Fatal(err)
				}
				r.uplink.options.Audit = audit
				r.setPolicy(policy)
				r.host.page = json.RawMessage(`{"lines":[]}`)
				h := r.host.add(t)
				h.print([]byte("watched"))
				r.start(t)
				r.server.wait(t, "the output", func() bool { return r.server.copies[h.id] != nil && len(r.server.copies[h.id].data) == 7 })
				handle, client := r.server.handle(h.id), wire.ClientID{1}
				allowed := make(outcome)

				r.server.send(t, &wire.Input{Handle: handle, Client: client, Seq: 1, Data: []byte("x")},
					&wire.ClaimSize{Handle: handle, Client: client, Cols: 10, Rows: 10},
					&wire.Presence{Handle: handle, Client: client, Visible: true},
					&wire.ReleaseSize{Handle: handle, Client: client},
					&wire.Retire{Handle: handle, Client: client})
				r.server.wait(t, "two answers", func() bool { return len(r.server.live.acks) == 2 })
				synctest.Wait()
				allowed["input"] = r.server.acks()[0].Status == wire.InputApplied
				if got := r.server.acks()[0].Status; !allowed["input"] && got != wire.InputForbidden {
					t.Errorf("input was answered by %d", got)
				}
				if got := r.server.acks()[1]; got.Status != wire.InputRetired {
					t.Errorf("retirement was answered by %+v", got)
				}
				h.mu.Lock()
				allowed["size"] = len(h.sizes) == 3
				if n := len(h.sizes); !allowed["size"] && n != 0 || (len(h.inputs) == 1) != allowed["input"] {
					t.Errorf("%d frames and %d inputs reached the holder", n, len(h.inputs))
				}
				h.mu.Unlock()

				allowed["known"] = r.reply(t, 1, wire.MethodStart, wire.StartParams{Agent: "claude"}).Error == nil
				allowed["argv"] = r.reply(t, 2, wire.MethodStart, wire.StartParams{Argv: []string{"rm"}}).Error == nil
				allowed["act"] = true
				for i, method := range []string{wire.MethodRename, wire.MethodKill, wire.MethodSignal, wire.MethodForget} {
					reply := r.reply(t, uint64(10+i), method, wire.SessionParams{ID: h.id, Name: "n", Signal: "esc"})
					if reply.Error != nil {
						allowed["act"] = false
						if reply.Error.Code != wire.CodeForbidden {
							t.Errorf("%s: %+v", method, reply.Error)
						}
					}
				}
				if reply := r.reply(t, 20, wire.MethodPage, wire.PageParams{ID: h.id, Max: 1}); reply.Error != nil {
					t.Errorf("history is watching: %+v", reply.Error)
				}
				if reply := r.reply(t, 21, wire.MethodSearch, wire.SearchParams{ID: h.id, Query: "x"}); reply.Error != nil {
					t.Errorf("searching is watching: %+v", reply.Error)
				}
				if reply := r.reply(t, 22, wire.MethodRecording, wire.RecordingParams{ID: h.id}); reply.Error != nil {
					t.Errorf("a recording is watching: %+v", reply.Error)
				}
				watching := []string{"page", "search", "recording"}
				for what, may := range want[name] {
					if allowed[what] != may {
						t.Errorf("%s is allowed: %t", what, allowed[what])
					}
				}
				if made := r.host.made(); !allowed["act"] && slices.ContainsFunc(made, func(call string) bool { return !slices.Contains(watching, call) && !strings.HasPrefix(call, "start") }) {
					t.Errorf("calls were made: %q", made)
				}
				r.stop()
				if err := audit.Close(); err != nil {
					t.Fatal(err)
				}
				checkAudit(t, path, allowed["act"], h.id)
			})
		})
	}
}

// checkAudit looks for what the server had the host do.
func checkAudit(t *testing.T, path string, acted bool, id string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	result := wire.CodeForbidden
	if acted {
		result = "ok"
	}
	for line := range bytes.Lines(text) {
		var entry auditLine
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatalf("audit line %q: %v", line, err)
		}
		if entry.What == wire.MethodKill {
			if entry.Result != result || acted && entry.Session != id {
				t.Errorf("the kill is recorded as %+v", entry)
			}
			return
		}
	}
	t.Errorf("no line tells of the kill: %s", text)
}

func TestPolicy_LockHoldsFromTheNextFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		handle := r.server.handle(h.id)
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 1, Data: []byte("x")})
		r.server.wait(t, "an answer", func() bool { return len(r.server.live.acks) == 1 })
		policy := daemon.DefaultPolicy()
		policy.Locked = true
		r.setPolicy(policy)
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 2, Data: []byte("y")})
		r.server.wait(t, "a refusal", func() bool { return len(r.server.live.acks) == 2 })
		if got := r.server.acks()[1].Status; got != wire.InputForbidden || len(h.written()) != 1 {
			t.Errorf("answered %d, %d written", got, len(h.written()))
		}
		if r.net.dialled() != 1 {
			t.Error("the lock cut the link")
		}
	})
}

func TestPolicy_WatchOffEndsTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t)
		r.connected(t)
		r.setPolicy(daemon.Policy{Start: daemon.StartOff})
		time.Sleep(2 * wire.Heartbeat)
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateRefused || !strings.Contains(status.LastError, "policy") {
			t.Errorf("status is %+v", status)
		}
		dialled := r.net.dialled()
		time.Sleep(time.Hour)
		if r.net.dialled() != dialled {
			t.Error("it dials although nothing may be watched")
		}
	})
}

func TestCall_HostileParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		policy := daemon.DefaultPolicy()
		policy.Start = daemon.StartAny
		r.setPolicy(policy)
		r.start(t)
		r.connected(t)
		for i, c := range []struct {
			method string
			params any
			code   string
		}{
			{"exec.run", nil, wire.CodeUnsupported},
			{wire.MethodInfo, nil, wire.CodeUnsupported},
			{wire.MethodText, nil, wire.CodeUnsupported},
			{wire.MethodKill, "text", wire.CodeInvalid},
			{wire.MethodKill, wire.SessionParams{ID: "../../../etc"}, wire.CodeUnknownSession},
			{wire.MethodForget, wire.SessionParams{ID: ""}, wire.CodeUnknownSession},
			{wire.MethodPage, wire.PageParams{ID: strings.Repeat("a", 26) + "/"}, wire.CodeUnknownSession},
			{wire.MethodSearch, wire.SearchParams{ID: "../x", Query: "x"}, wire.CodeUnknownSession},
			{wire.MethodSearch, []int{1}, wire.CodeInvalid},
			{wire.MethodRecording, wire.RecordingParams{ID: "../x"}, wire.CodeUnknownSession},
			{wire.MethodRecording, "text", wire.CodeInvalid},
			{wire.MethodStart, wire.StartParams{}, wire.CodeInvalid},
			{wire.MethodStart, wire.StartParams{Agent: "claude", Argv: []string{"x"}}, wire.CodeInvalid},
			{wire.MethodStart, []int{1}, wire.CodeInvalid},
		} {
			reply := r.reply(t, uint64(i+1), c.method, c.params)
			if reply.Error == nil || reply.Error.Code != c.code {
				t.Errorf("%s %v: %+v", c.method, c.params, reply.Error)
			}
		}
		if made := r.host.made(); len(made) != 0 {
			t.Errorf("calls were made: %q", made)
		}
	})
}

func TestPolicyFile_FollowsTheFile(t *testing.T) {
	root := t.TempDir()
	dirs := daemon.Dirs{Config: root + "/c", State: root + "/s", Run: root + "/s/run"}
	file := NewPolicyFile(dirs)
	if p, err := file.Policy(); err != nil || p != daemon.DefaultPolicy() {
		t.Errorf("without a file: %+v, %v", p, err)
	}
	locked := daemon.DefaultPolicy()
	locked.Locked = true
	for _, want := range []daemon.Policy{locked, daemon.DefaultPolicy(), locked} {
		if err := want.Save(dirs); err != nil {
			t.Fatal(err)
		}
		if p, err := file.Policy(); err != nil || p != want {
			t.Errorf("after saving %+v: %+v, %v", want, p, err)
		}
	}
	if err := os.WriteFile(dirs.PolicyPath(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := file.Policy(); err == nil || p.Input || p.Watch {
		t.Errorf("a damaged file allows %+v, %v", p, err)
	}
	if err := os.Remove(dirs.PolicyPath()); err != nil {
		t.Fatal(err)
	}
	if p, err := file.Policy(); err != nil || p != daemon.DefaultPolicy() {
		t.Errorf("after removal: %+v, %v", p, err)
	}
}

func TestInput_AgesOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		handle := r.server.handle(h.id)
		sent := func() uint32 { return milliseconds(time.Since(r.server.current().opened)) }
		send := func(seq uint64, age uint32, delay time.Duration) {
			stamp := sent()
			time.Sleep(delay) // virtual: the network holds it up
			r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: seq, Age: age, Sent: stamp, Data: []byte("x")})
			r.server.wait(t, "an answer", func() bool { return len(r.server.live.acks) == int(seq) })
		}
		send(1, 5, 0)
		send(2, 5, 3*time.Second)
		if got := h.written(); len(got) != 2 || got[0].Age != 5 || got[1].Age < 3004 || got[1].Age > 3006 {
			t.Errorf("the ages are %d and %d", got[0].Age, got[1].Age)
		}
		// Waiting for a stopped holder counts as well.
		h.freeze(true)
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 3, Sent: sent(), Data: []byte("blocks")})
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 4, Sent: sent(), Data: []byte("waits")})
		synctest.Wait()
		time.Sleep(wire.InputLifetime + time.Second)
		h.freeze(false)
		r.server.wait(t, "the answers", func() bool { return len(r.server.live.acks) == 4 })
		if last := r.server.acks()[3]; last.Status != wire.InputLate && last.Status != wire.InputGap {
			t.Errorf("a late input was answered by %+v", last)
		}
		if got := h.written(); string(got[len(got)-1].Data) == "waits" {
			t.Error("a late input was written")
		}
	})
}

package uplink

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/coder/websocket"
)

// dialTimes runs an uplink for a while and returns when it dialled.
func dialTimes(t *testing.T, r *rig, during time.Duration) []time.Duration {
	t.Helper()
	begin := time.Now()
	var times []time.Duration
	r.net.onDial = func() { times = append(times, time.Since(begin)) }
	r.start(t)
	timer := time.NewTimer(during)
	<-timer.C
	synctest.Wait()
	r.stop()
	return times
}

func TestRun_BacksOffForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.setRefuse(errors.New("no route"))
		times := dialTimes(t, r, 24*time.Hour)
		if len(times) < int(24*time.Hour/redialMax) {
			t.Fatalf("only %d attempts in a day", len(times))
		}
		for i := 1; i < len(times); i++ {
			wait := times[i] - times[i-1]
			if wait > redialMax || wait < redialFirst/2 {
				t.Fatalf("wait %d is %v", i, wait)
			}
		}
		if first := times[1] - times[0]; first > redialFirst {
			t.Errorf("the first wait is %v", first)
		}
	})
}

func TestRun_ServerThatNeverProvesItselfIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.server.closeCode = websocket.StatusGoingAway
		r.server.noPongs = true
		if times := dialTimes(t, r, 10*time.Minute); len(times) > 90 {
			t.Errorf("%d attempts in ten minutes", len(times))
		}
	})
}

func TestRun_ProvedLinkMakesTheNextAttemptQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.setRefuse(errors.New("no route"))
		r.start(t)
		time.Sleep(10 * time.Minute) // virtual: the backoff is at its end
		r.net.setRefuse(nil)
		r.connected(t)
		r.server.wait(t, "a proof", func() bool { return hasFrame(r.server.live, wire.TypePing) })
		synctest.Wait()
		before := time.Now()
		old := r.server.current()
		r.net.last().Close()
		r.server.wait(t, "another link", func() bool { return r.server.live != old })
		if wait := time.Since(before); wait > redialFirst {
			t.Errorf("it took %v to come back", wait)
		}
	})
}

func hasFrame(l *serverLink, kind wire.Type) bool {
	for _, f := range l.order {
		if f.Type() == kind {
			return true
		}
	}
	return false
}

func TestRun_BlackholedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		synctest.Wait()
		r.net.last().blackhole()
		before := time.Now()
		for range 100 {
			h.print(make([]byte, 64<<10)) // the program never waits
		}
		if time.Since(before) != 0 {
			t.Error("the program was slowed")
		}
		time.Sleep(wire.HeartbeatTimeout + time.Second)
		synctest.Wait()
		if status := r.uplink.Status(); status.State == StateConnected && r.net.dialled() < 2 {
			t.Errorf("after %v of silence the status is %+v", wire.HeartbeatTimeout, status)
		}
		r.server.wait(t, "the rest over a new link", func() bool { return len(r.server.copies[h.id].data) == 100*64<<10 })
	})
}

func TestRun_SilentServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.server.silent = true
		r.start(t)
		time.Sleep(wire.AuthTimeout + time.Millisecond)
		synctest.Wait()
		status := r.uplink.Status()
		if status.State != StateReconnecting || !strings.Contains(status.LastError, "welcome") {
			t.Errorf("status is %+v", status)
		}
	})
}

func TestRun_StopsWhileTheServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.buffer = 1024
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		synctest.Wait()
		r.net.last().blackhole()
		h.print(make([]byte, 1<<20))
		synctest.Wait()
		before := time.Now()
		r.stop()
		if wait := time.Since(before); wait > 0 {
			t.Errorf("the end took %v", wait)
		}
	})
}

func TestRun_HeartbeatKeepsAnIdleLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.host.add(t)
		r.start(t)
		r.connected(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		if r.net.dialled() != 1 {
			t.Errorf("an idle link was dialled %d times", r.net.dialled())
		}
		pings := 0
		for _, f := range r.server.current().order {
			if f.Type() == wire.TypePing {
				pings++
			}
		}
		if want := int(time.Hour / wire.Heartbeat); pings < want || pings > want+2 {
			t.Errorf("%d pings in an hour", pings)
		}
	})
}

func TestRun_Restarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t)
		r.connected(t)
		r.server.send(t, &wire.Restarting{AfterMS: 3000})
		synctest.Wait()
		before, old := time.Now(), r.server.current()
		r.net.last().Close()
		r.server.wait(t, "another link", func() bool { return r.server.live != old })
		if wait := time.Since(before); wait < 3*time.Second || wait > 4*time.Second {
			t.Errorf("it came back after %v", wait)
		}
	})
}

func TestRun_CloseCodes(t *testing.T) {
	for code, want := range map[websocket.StatusCode]struct {
		state State
		text  string
	}{
		wire.CloseUnauthorized:        {StateRefused, "pair again"},
		wire.CloseDuplicate:           {StateRefused, "another running daemon"},
		wire.CloseVersion:             {StateRefused, "different versions"},
		wire.CloseForbidden:           {StateRefused, "does not let this host in"},
		wire.CloseLimit:               {StateRefused, "limit"},
		wire.CloseSlow:                {StateReconnecting, "4006"},
		wire.CloseRestarting:          {StateReconnecting, "4009"},
		websocket.StatusInternalError: {StateReconnecting, "1011"},
	} {
		t.Run(code.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.server.closeCode = code
				r.start(t)
				r.connected(t)
				synctest.Wait()
				status := r.uplink.Status()
				if status.State != want.state || !strings.Contains(status.LastError, want.text) || !strings.Contains(status.LastError, "scripted") {
					t.Errorf("status is %+v", status)
				}
				// It goes on trying, slowly, and recovers by itself.
				dialled := r.net.dialled()
				r.server.mu.Lock()
				r.server.closeCode = 0
				r.server.mu.Unlock()
				if want.state == StateRefused {
					time.Sleep(refusedFirst/2 - time.Millisecond)
					synctest.Wait()
					if r.net.dialled() != dialled {
						t.Error("a refusal was answered by another attempt at once")
					}
				}
				r.server.wait(t, "another link", func() bool { return r.server.links == 2 })
				synctest.Wait()
				if status := r.uplink.Status(); status.State != StateConnected || status.LastError != "" || status.Attempts != 0 {
					t.Errorf("afterwards the status is %+v", status)
				}
			})
		})
	}
}

func TestRun_HTTPAnswers(t *testing.T) {
	answer := func(status int, body string, header ...string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			w.Write([]byte(body))
			return true
		}
	}
	for name, c := range map[string]struct {
		refuse func(http.ResponseWriter) bool
		state  State
		text   string
	}{
		"401":          {answer(401, ""), StateRefused, "pair again"},
		"problem":      {answer(409, `{"title":"Conflict","detail":"host \"laptop\" is connected as \"desk\"","code":"duplicate"}`), StateRefused, `"desk"`},
		"426":          {answer(426, `{"detail":"update agent-helm"}`), StateRefused, "update agent-helm"},
		"500":          {answer(500, "<html>"), StateReconnecting, "500"},
		"503":          {answer(503, `{"detail":"starting"}`, "Retry-After", "7"), StateReconnecting, "starting"},
		"429":          {answer(429, ""), StateReconnecting, "429"},
		"redirect":     {answer(302, "", "Location", "https://elsewhere.example/"), StateRefused, "elsewhere.example"},
		"not found":    {answer(404, ""), StateRefused, "no agent-helm server"},
		"hostile text": {answer(403, `{"detail":"\u001b]0;pwned\u0007\u202e`+strings.Repeat("x", 700)+`"}`), StateRefused, "pwned"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.server.refuse = c.refuse
				r.start(t)
				synctest.Wait()
				status := r.uplink.Status()
				if status.State != c.state || !strings.Contains(status.LastError, c.text) {
					t.Errorf("status is %+v", status)
				}
				if strings.ContainsAny(status.LastError, "\x1b\x07\u202e") || len(status.LastError) > 600 {
					t.Errorf("the server's text is passed on as it is: %q", status.LastError)
				}
			})
		})
	}
	t.Run("Retry-After is kept", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.server.refuse = answer(503, "", "Retry-After", "7")
			times := dialTimes(t, r, 20*time.Second)
			if wait := times[1] - times[0]; wait < 7*time.Second {
				t.Errorf("it came back after %v", wait)
			}
		})
	})
}

func TestRun_Unpaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		paired := false
		config := r.uplink.options.Config
		r.uplink.options.Config = func() (daemon.HostConfig, error) {
			if !paired {
				return daemon.HostConfig{}, daemon.ErrNotPaired
			}
			return config()
		}
		r.start(t)
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateUnpaired || r.net.dialled() != 0 {
			t.Errorf("status is %+v after %d dials", status, r.net.dialled())
		}
		paired = true
		r.uplink.Nudge()
		r.connected(t)
	})
}

func TestRun_PlainHTTPOffLoopback(t *testing.T) {
	for _, server := range []string{"http://192.0.2.1:8080", "ws://192.0.2.1", "ws://127.0.0.1", "http://server.example", "ftp://x"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.uplink.options.Config = func() (daemon.HostConfig, error) {
				return daemon.HostConfig{Server: server, HostID: "h", Name: "n", Token: testToken}, nil
			}
			r.start(t)
			synctest.Wait()
			if status := r.uplink.Status(); status.State != StateRefused || !strings.Contains(status.LastError, "https") || r.net.dialled() != 0 {
				t.Errorf("%s: status is %+v after %d dials", server, status, r.net.dialled())
			}
		})
	}
}

func TestRun_PairedAnewWhileConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var mu sync.Mutex
		config, pairing := daemon.HostConfig{Server: "http://127.0.0.1:1", HostID: "h", Name: "n", Token: testToken}, error(nil)
		set := func(c daemon.HostConfig, err error) {
			mu.Lock()
			defer mu.Unlock()
			config, pairing = c, err
			r.uplink.Nudge()
		}
		r.uplink.options.Config = func() (daemon.HostConfig, error) {
			mu.Lock()
			defer mu.Unlock()
			return config, pairing
		}
		r.start(t)
		r.connected(t)
		synctest.Wait()
		// A nudge for another reason, or a file that cannot be read, changes nothing.
		r.uplink.Nudge()
		synctest.Wait()
		set(config, errors.New("damaged"))
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateConnected || r.net.dialled() != 1 {
			t.Fatalf("status is %+v", status)
		}
		before, old := time.Now(), r.server.current()
		other := config
		other.Server = "http://127.0.0.1:2"
		set(other, nil)
		r.server.wait(t, "another link", func() bool { return r.server.live != old })
		synctest.Wait()
		if status := r.uplink.Status(); status.Server != other.Server || time.Since(before) > 0 {
			t.Errorf("after %v the status is %+v", time.Since(before), status)
		}
		set(daemon.HostConfig{}, daemon.ErrNotPaired)
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateUnpaired || status.Server != "" {
			t.Errorf("after unpairing the status is %+v", status)
		}
	})
}

func TestRun_ProblemBeforeTheCloseIsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const reason = "another daemon uses this host's token: connected is version 1 at desk, refused is version 1 at laptop"
		r.server.afterHello = []wire.Frame{&wire.Problem{Code: "duplicate_host", Message: reason + "\x1b[2J"}}
		r.server.closeCode = wire.CloseDuplicate
		r.start(t)
		r.connected(t)
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateRefused || status.LastError != reason+"[2J" {
			t.Errorf("status is %+v", status)
		}
	})
}

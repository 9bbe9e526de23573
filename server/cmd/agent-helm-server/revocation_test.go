package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/httpapi"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
)

const testSession = "01kb9fvz3m8q4t6w2x5y7r0s1a"

// assembled is the server as serve wires it, with a network in memory.
type assembled struct {
	t       *testing.T
	dir     string
	data    *console
	network *sockettest.Network
}

func assemble(t *testing.T) *assembled {
	t.Helper()
	a := &assembled{t: t, dir: t.TempDir()}
	var err error
	if a.data, err = (dataFlag{Data: a.dir}).open(t.Context()); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	registry, err := fleet.Open(t.Context(), fleet.Config{Store: a.data.store, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	sites := &httpapi.Sites{Listen: netip.MustParseAddrPort("127.0.0.1:7777")}
	ends := newSockets(registry, a.data.auth, sites.Link, logger)
	api, err := httpapi.New(httpapi.Config{Auth: a.data.auth, Fleet: fleetAdapter{registry}, Sockets: ends, Sites: sites, Log: logger, Version: "test",
		App: fstest.MapFS{"index.html": {Data: []byte("app")}}})
	if err != nil {
		t.Fatal(err)
	}
	a.network = sockettest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1:7777"
		api.ServeHTTP(w, r)
	}))
	lifetime, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var background sync.WaitGroup
	background.Go(func() { a.data.auth.Run(lifetime) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ends.shutdown(ctx)
		end()
		background.Wait()
		if err := a.data.close(registry.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	code, _, err := a.data.auth.CreateCode(t.Context(), auth.Console(), server.PrincipalHost, 0)
	if err != nil {
		t.Fatal(err)
	}
	host, token, err := a.data.auth.EnrolHost(t.Context(), code, "laptop", "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	registry.AddHost(host)
	link := a.network.Dial(t, "/api/hosts/link", bearer(token))
	link.AnswerPings()
	link.Send(&wire.HostHello{Instance: "i", Version: "1", Sessions: []wire.SessionInfo{{Handle: 1, ID: testSession, Cols: 80, Rows: 24,
		Meta: wire.SessionMeta{Name: "test", Command: "sh", State: "running"}}}})
	sockettest.Await[*wire.HostWelcome](link)
	return a
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// held is something that somebody has open. ended is closed with it, and how
// says in what way.
type held struct {
	ended chan struct{}
	how   string
}

func (h *held) over() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// viewer opens a socket that shows the session.
func (a *assembled) viewer(token string) *held {
	a.t.Helper()
	p := a.network.Dial(a.t, "/api/ws", bearer(token))
	p.AnswerPings()
	p.Send(&wire.ViewerHello{Version: "1", Visible: true})
	sockettest.Await[*wire.ViewerWelcome](p)
	h := &held{ended: make(chan struct{})}
	go func() {
		h.how = fmt.Sprint("close code ", int(p.Closed()))
		close(h.ended)
	}()
	return h
}

// request makes a call and reads its answer to the end.
func (a *assembled) request(token, method, path, body string) *held {
	h := &held{ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		request, err := http.NewRequestWithContext(a.t.Context(), method, "http://memory"+path, strings.NewReader(body))
		if err != nil {
			h.how = err.Error()
			return
		}
		request.Header = bearer(token)
		request.Header.Set("Content-Type", "application/json")
		response, err := a.network.Client().Do(request)
		if err != nil {
			h.how = err.Error()
			return
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		var problem struct{ Code string }
		_ = json.Unmarshal(answer, &problem) // events are none
		h.how = strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", problem.Code))
		if err != nil {
			h.how = err.Error()
		}
	}()
	return h
}

// Hundreds of sockets, event streams and waiting calls end within a second of a
// command's revocation, each as its kind does, and nobody else's (THREATS S-35).
func TestRevocation_under_load(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := assemble(t)
		open := func(token string) map[string][]*held {
			return map[string][]*held{
				"close code 4003": {a.viewer(token), a.viewer(token), a.viewer(token)},
				"200":             {a.request(token, http.MethodGet, "/api/events", ""), a.request(token, http.MethodGet, "/api/events", "")},
				"401 revoked": {a.request(token, http.MethodPost, "/api/sessions/"+testSession+"/input", `{"text":"x"}`),
					a.request(token, http.MethodPost, "/api/sessions/"+testSession+"/input", `{"text":"y"}`)},
			}
		}
		const crowd = 50
		var ids []string
		var all []map[string][]*held
		for i := range crowd {
			record, text, err := a.data.auth.CreateToken(t.Context(), auth.Console(), auth.TokenRequest{Name: fmt.Sprint("t", i), Scopes: server.ScopeRead | server.ScopeInput})
			if err != nil {
				t.Fatal(err)
			}
			ids, all = append(ids, record.ID), append(all, open(text))
		}
		_, text, err := a.data.auth.CreateToken(t.Context(), auth.Console(), auth.TokenRequest{Name: "stays", Scopes: server.ScopeRead | server.ScopeInput})
		if err != nil {
			t.Fatal(err)
		}
		stays := open(text)
		synctest.Wait()
		count := func(held map[string][]*held) (open, ended int) {
			for how, list := range held {
				for _, h := range list {
					if !h.over() {
						open++
						continue
					}
					ended++
					if h.how != how {
						t.Errorf("ended with %q, want %q", h.how, how)
					}
				}
			}
			return open, ended
		}
		for i, held := range all {
			if open, _ := count(held); open != 7 {
				t.Fatalf("%d has %d open, want 7", i, open)
			}
		}
		command, err := (dataFlag{Data: a.dir}).openConsole(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if err := command.auth.RevokeToken(t.Context(), auth.Console(), id); err != nil {
				t.Fatal(err)
			}
		}
		if err := command.close(nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i, held := range all {
			if open, _ := count(held); open > 0 {
				t.Errorf("a second later %d has %d open", i, open)
			}
		}
		if open, ended := count(stays); open != 7 {
			t.Errorf("of somebody else %d ended", ended)
		}
	})
}

// What has an end, ends at its moment, with the close code that makes the app
// ask what became of it.
func TestExpiry_while_connected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime = 30 * time.Second
		a := assemble(t)
		_, text, err := a.data.auth.CreateToken(t.Context(), auth.Console(), auth.TokenRequest{Name: "short", Scopes: server.ScopeRead | server.ScopeInput, Lifetime: lifetime})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		watching, events := a.viewer(text), a.request(text, http.MethodGet, "/api/events", "")
		time.Sleep(lifetime - time.Since(begin) - time.Second)
		typing := a.request(text, http.MethodPost, "/api/sessions/"+testSession+"/input", `{"text":"x"}`)
		synctest.Wait()
		for what, h := range map[string]*held{"a viewer": watching, "events": events, "a call": typing} {
			if h.over() {
				t.Errorf("%s ended early: %s", what, h.how)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for how, h := range map[string]*held{"close code 4003": watching, "200": events, "401 revoked": typing} {
			if !h.over() || h.how != how {
				t.Errorf("over: %v, %q; want %q", h.over(), h.how, how)
			}
		}
	})
}

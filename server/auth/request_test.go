package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

// host enrols a host and is its principal.
func (b *bench) host(name string) server.Principal {
	b.t.Helper()
	code, _ := b.code(server.PrincipalHost)
	others, err := b.store.Hosts(b.t.Context())
	b.ok(err)
	record, _, err := b.EnrolHost(b.t.Context(), code, name, fmt.Sprintf("192.0.2.%d", len(others))) // five tries from one
	b.ok(err)
	return server.Principal{Kind: server.PrincipalHost, ID: record.ID, Name: record.Name}
}

// awaited is what AwaitPairing came to.
type awaited struct {
	code string
	err  error
}

func (b *bench) await(ctx context.Context, id string) <-chan awaited {
	done := make(chan awaited, 1)
	go func() {
		code, _, err := b.AwaitPairing(ctx, id)
		done <- awaited{code, err}
	}()
	return done
}

func (b *bench) codesMade() (made int) {
	for _, action := range b.actions() {
		if action == server.AuditCodeMade {
			made++
		}
	}
	return made
}

func TestRequestPairing_makes_nothing_before_somebody_confirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		laptop := b.host("laptop")
		made := b.codesMade()
		ctx := server.WithAddress(t.Context(), "192.0.2.7")
		request, err := b.RequestPairing(ctx, laptop, server.ScopeRead|server.ScopeInput)
		b.ok(err)
		result := b.await(t.Context(), request.ID)
		time.Sleep(PairingLifetime - time.Second)
		synctest.Wait()
		if b.codesMade() != made || len(result) > 0 {
			t.Fatal("something was made although nobody confirmed")
		}
		waiting, err := b.Pairings(t.Context())
		b.ok(err)
		if len(waiting) != 1 || waiting[0].HostName != "laptop" || waiting[0].Address != "192.0.2.7" || waiting[0].Scopes != server.ScopeRead|server.ScopeInput {
			t.Fatalf("waiting %+v", waiting)
		}
		phone := b.pair(TransportTLS).paired.Device
		_, err = b.ConfirmPairing(t.Context(), MinterOf(devicePrincipal(phone)), strings.ToLower(request.ID), 0)
		b.ok(err)
		got := <-result
		b.ok(got.err)
		paired, err := b.PairWithCode(t.Context(), got.code, from("198.51.100.4"))
		b.ok(err)
		if paired.Device.Scopes != server.ScopeRead|server.ScopeInput {
			t.Errorf("the device may %s", paired.Device.Scopes)
		}
		actions := b.actions()
		want := []string{server.AuditPairingAsked, server.AuditLinkMade, server.AuditDevicePaired, server.AuditPairingGiven, server.AuditCodeMade, server.AuditDevicePaired}
		if got := actions[len(actions)-len(want):]; !slices.Equal(got, want) {
			t.Errorf("audit %v, want %v", got, want)
		}
		_, err = b.ConfirmPairing(t.Context(), Console(), request.ID, 0)
		b.fails(server.CodeUnknownPairing, err)
	})
}

func TestRequestPairing_ends(t *testing.T) {
	for _, test := range []struct {
		name string
		act  func(b *bench, id string, withdraw func())
		want server.Code
	}{
		{"denied on the console", func(b *bench, id string, _ func()) {
			_, err := b.DenyPairing(b.t.Context(), Console(), id)
			b.ok(err)
		}, server.CodeForbidden},
		{"denied by another process", func(b *bench, id string, _ func()) {
			other := benchIn(b.t, b.dir)
			_, err := other.DenyPairing(b.t.Context(), Console(), id)
			b.ok(err)
		}, server.CodeForbidden},
		{"nobody decides", func(*bench, string, func()) { time.Sleep(PairingLifetime + time.Second) }, server.CodeTimeout},
		{"the host is gone", func(_ *bench, _ string, withdraw func()) { withdraw() }, server.CodeUnknownPairing},
		{"the host asks anew", func(b *bench, id string, _ func()) {
			record, err := b.store.Pairing(b.t.Context(), id)
			b.ok(err)
			_, err = b.RequestPairing(b.t.Context(), server.Principal{Kind: server.PrincipalHost, ID: record.Host}, server.ScopeRead)
			b.ok(err)
		}, server.CodeUnknownPairing},
		{"too many codes are live", func(b *bench, id string, _ func()) {
			for range MaxLiveCodes {
				b.code(server.PrincipalDevice)
			}
			_, err := b.ConfirmPairing(b.t.Context(), Console(), id, 0)
			b.ok(err)
		}, server.CodeLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				request, err := b.RequestPairing(t.Context(), b.host("laptop"), server.ScopeRead)
				b.ok(err)
				ctx, withdraw := context.WithCancel(t.Context())
				defer withdraw()
				result := b.await(ctx, request.ID)
				synctest.Wait()
				test.act(b, request.ID, withdraw)
				before := b.codesMade()
				time.Sleep(time.Second) // a decision shows within a second
				synctest.Wait()
				if len(result) == 0 {
					t.Fatal("still waits")
				}
				got := <-result
				b.fails(test.want, got.err)
				if got.code != "" || b.codesMade() != before {
					t.Error("there is a code")
				}
				_, err = b.ConfirmPairing(t.Context(), Console(), request.ID, 0)
				b.fails(server.CodeUnknownPairing, err)
			})
		})
	}
}

// Whoever may not make codes may not confirm one either, and nobody gives more
// than they have.
func TestConfirmPairing_who(t *testing.T) {
	b := newBench(t)
	laptop := b.host("laptop")
	request, err := b.RequestPairing(t.Context(), laptop, server.AllScopes)
	b.ok(err)
	guest := server.Principal{Kind: server.PrincipalDevice, ID: "d", Scopes: server.AllScopes,
		Binding: server.Binding{Sessions: []server.SessionKey{{Host: laptop.ID, ID: "01jdq0000000000000000000aa"}}}}
	whole := laptop
	whole.Scopes = server.AllScopes // as if a host's token had grown scopes
	for name, p := range map[string]server.Principal{
		"the host itself":             laptop,
		"a host with scopes":          whole,
		"a device that may not":       {Kind: server.PrincipalDevice, ID: "d", Scopes: server.AllScopes &^ server.ScopeAdmin},
		"a device over plain HTTP":    {Kind: server.PrincipalDevice, ID: "d", Scopes: server.InsecureScopes, Insecure: true},
		"an admin of single sessions": guest,
	} {
		_, err := b.ConfirmPairing(t.Context(), MinterOf(p), request.ID, 0)
		if server.CodeOf(err) != server.CodeForbidden {
			t.Errorf("%s confirms: %v", name, err)
		}
		if _, err = b.DenyPairing(t.Context(), MinterOf(p), request.ID); server.CodeOf(err) != server.CodeForbidden {
			t.Errorf("%s denies: %v", name, err)
		}
	}
	for _, id := range []string{"", "ZZZZ", request.ID + "A", "' OR 1=1"} {
		_, err := b.ConfirmPairing(t.Context(), Console(), id, 0)
		b.fails(server.CodeUnknownPairing, err)
	}
	// Less than what was asked for is the person's choice.
	confirmed, err := b.ConfirmPairing(t.Context(), Console(), request.ID, server.ScopeRead)
	b.ok(err)
	if confirmed.Scopes != server.ScopeRead {
		t.Errorf("granted %s", confirmed.Scopes)
	}
	_, record, err := b.AwaitPairing(t.Context(), request.ID)
	b.ok(err)
	if record.Scopes != server.ScopeRead || record.CreatedBy != "console for host laptop" {
		t.Errorf("code %+v", record)
	}
}

// A hostile host can ask, seldom, and nothing else comes of it.
func TestRequestPairing_flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		hostile, other := b.host("hostile"), b.host("other")
		before := len(b.actions())
		taken := 0
		for range 1000 {
			_, err := b.RequestPairing(t.Context(), hostile, server.AllScopes)
			if err == nil {
				taken++
			} else if !errors.Is(err, server.NewError(server.CodeLimit)) {
				t.Fatal(err)
			}
		}
		if lines := len(b.actions()) - before; taken != pairingsPerHost || lines != pairingsPerHost+1 {
			t.Errorf("1000 requests: %d taken, %d audit lines", taken, lines)
		}
		if waiting, err := b.Pairings(t.Context()); err != nil || len(waiting) != 1 {
			t.Errorf("%d wait (%v)", len(waiting), err)
		}
		_, err := b.RequestPairing(t.Context(), other, server.ScopeRead)
		b.ok(err) // others are not hurt
		time.Sleep(pairingWindow)
		_, err = b.RequestPairing(t.Context(), hostile, server.ScopeRead)
		b.ok(err)
	})
}

func TestRequestPairing_many_hosts(t *testing.T) {
	b := newBench(t)
	for i := range maxPairings {
		_, err := b.RequestPairing(t.Context(), b.host(fmt.Sprint("host ", i)), server.ScopeRead)
		b.ok(err)
	}
	_, err := b.RequestPairing(t.Context(), b.host("one more"), server.ScopeRead)
	b.fails(server.CodeLimit, err)
	_, err = b.RequestPairing(t.Context(), server.Principal{Kind: server.PrincipalDevice, Scopes: server.AllScopes}, server.ScopeRead)
	b.fails(server.CodeForbidden, err)
	_, err = b.RequestPairing(t.Context(), server.Principal{Kind: server.PrincipalHost, ID: "nobody"}, server.ScopeRead)
	b.fails(server.CodeUnknownHost, err)
	_, err = b.RequestPairing(t.Context(), server.Principal{Kind: server.PrincipalHost, ID: "nobody"}, 0)
	b.fails(server.CodeInvalid, err)
}

package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon/uplink"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// pairingServer serves only requests for codes.
func pairingServer(t *testing.T, pair func(context.Context, []string, func(uplink.Asked) error) (uplink.Answer, error)) *Client {
	t.Helper()
	dirs := testDirs(t)
	s, err := Listen(dirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, Handler{Pair: pair}) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return NewClient(dirs)
}

func TestClient_Pair(t *testing.T) {
	decided := make(chan struct{})
	client := pairingServer(t, func(_ context.Context, scopes []string, noted func(uplink.Asked) error) (uplink.Answer, error) {
		if err := noted(uplink.Asked{ID: strings.Join(scopes, "+"), Left: time.Minute}); err != nil {
			return uplink.Answer{}, err
		}
		<-decided
		return uplink.Answer{Code: "ABC234", URL: "https://x", Scopes: scopes, Left: time.Minute}, nil
	})
	answer, err := client.Pair(t.Context(), []string{"read", "input"}, func(asked uplink.Asked) {
		if asked.ID != "read+input" || asked.Left != time.Minute {
			t.Errorf("noted %+v", asked)
		}
		close(decided)
	})
	if err != nil || answer.Code != "ABC234" || answer.URL != "https://x" || len(answer.Scopes) != 2 || answer.Left != time.Minute {
		t.Errorf("answer %+v, %v", answer, err)
	}
}

func TestClient_Pair_fails(t *testing.T) {
	denied := &wire.Fault{Code: wire.CodeForbidden, Message: "denied by device Pixel"}
	for name, early := range map[string]bool{"before it was noted": true, "after it was noted": false} {
		client := pairingServer(t, func(_ context.Context, _ []string, noted func(uplink.Asked) error) (uplink.Answer, error) {
			if !early {
				if err := noted(uplink.Asked{ID: "K7QP"}); err != nil {
					return uplink.Answer{}, err
				}
			}
			return uplink.Answer{}, denied
		})
		if _, err := client.Pair(t.Context(), nil, func(uplink.Asked) {}); err == nil || err.Error() != denied.Message {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewClient(testDirs(t)).Pair(t.Context(), nil, nil); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a daemon: %v", err)
	}
}

// A command that ends withdraws its request: nobody else gets its code.
func TestServer_pairing_ends_with_its_command(t *testing.T) {
	withdrawn := make(chan error, 1)
	client := pairingServer(t, func(ctx context.Context, _ []string, noted func(uplink.Asked) error) (uplink.Answer, error) {
		if err := noted(uplink.Asked{ID: "K7QP"}); err != nil {
			return uplink.Answer{}, err
		}
		<-ctx.Done()
		withdrawn <- ctx.Err()
		return uplink.Answer{}, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := client.Pair(ctx, nil, func(uplink.Asked) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("the command ended with %v", err)
	}
	<-withdrawn
}

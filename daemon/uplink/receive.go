package uplink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/coder/websocket"
)

// read is the only goroutine that reads from the socket. It waits for nobody.
func (l *link) read(ctx context.Context) error {
	first := true
	for {
		limit := wire.HeartbeatTimeout
		if first {
			limit = wire.AuthTimeout
		}
		reading, cancel := context.WithTimeout(ctx, limit)
		kind, message, err := l.socket.Read(reading)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			if first {
				return fmt.Errorf("the server did not say welcome within %v", limit)
			}
			return errSilent
		case err != nil:
			return fmt.Errorf("read from server: %w", err)
		case kind != websocket.MessageBinary:
			return &errProtocol{errors.New("a message that is not binary")}
		}
		if first {
			if message, _, err = wire.CutPreamble(message); err != nil {
				return &errProtocol{err}
			}
			first = false
		}
		arrived := time.Now()
		if l.sleep.slept(elapsed(l.opened, arrived)) {
			return errSlept
		}
		if err := wire.DecodeAll(message, func(f wire.Frame) error { return l.take(ctx, f, arrived) }); err != nil {
			if errors.Is(err, wire.ErrTruncated) || errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed) {
				return &errProtocol{err}
			}
			return err
		}
	}
}

// take acts on one frame of the server.
func (l *link) take(ctx context.Context, f wire.Frame, arrived time.Time) error {
	if welcome, ok := f.(*wire.HostWelcome); ok {
		return l.welcome(welcome)
	}
	switch f := f.(type) {
	case *wire.Ping:
		l.delay.Observe(f.Sent, arrived.Sub(l.opened))
		return l.box.send(&wire.Pong{Nonce: f.Nonce})
	case *wire.Pong:
		l.pong(f, arrived)
		return nil
	case *wire.Restarting:
		l.restart = min(max(time.Duration(f.AfterMS)*time.Millisecond, 0), refusedMax)
		return nil
	case *wire.Problem:
		message := untrusted.Clean(f.Message, 400)
		if f.Handle == 0 {
			l.problem = message // the close that follows says what kind it is
			return nil
		}
		l.u.log.Warn("server reported a problem", "session", l.sessionID(f.Handle), "problem", untrusted.Clean(f.Code, 64), "message", message)
		return nil
	}
	if !l.welcomed {
		if _, unknown := f.(*wire.Unknown); unknown {
			return nil
		}
		return &errProtocol{fmt.Errorf("%s before the welcome", f.Type())}
	}
	switch f := f.(type) {
	case *wire.SessionResume:
		return l.resume(*f)
	case *wire.Ack:
		if s := l.session(f.Handle); s != nil {
			l.box.acknowledge(s.lane, f.Offset)
		}
	case *wire.Input:
		return l.input(f, arrived)
	case *wire.Retire:
		return l.retire(f, arrived)
	case *wire.ClaimSize:
		l.passOn(f.Handle, f, arrived)
	case *wire.ReleaseSize:
		l.passOn(f.Handle, f, arrived)
	case *wire.Presence:
		l.passOn(f.Handle, f, arrived)
	case *wire.RPC:
		return l.call(ctx, f)
	case *wire.RPCReply:
		l.answered(f)
	}
	// Anything else is of a newer version, or not for a host: ignored.
	return nil
}

func (l *link) welcome(f *wire.HostWelcome) error {
	if l.welcomed {
		return &errProtocol{errors.New("a second welcome")}
	}
	l.welcomed = true
	name := untrusted.Clean(f.Host, daemon.MaxNameRunes)
	l.u.change(func(s *Status) {
		s.State = StateConnected
		if name != "" {
			s.Host = name
		}
	})
	l.u.log.Info("uplink connected", "server_version", untrusted.Clean(f.Version, 64))
	for _, resume := range f.Resume {
		if err := l.resume(resume); err != nil {
			return err
		}
	}
	l.serverCan = f.Capabilities
	close(l.ready)
	return nil
}

func (l *link) resume(r wire.SessionResume) error {
	s := l.session(r.Handle)
	if s == nil {
		return nil // closed meanwhile
	}
	if r.Refused != "" {
		l.u.warn("session "+s.id, "the server refuses it: "+untrusted.Clean(r.Refused, 200))
		return nil
	}
	l.u.warn("session "+s.id, "")
	s.resumeFrom(r)
	return nil
}

func (l *link) pong(f *wire.Pong, arrived time.Time) {
	if isProbe(f.Nonce) {
		l.box.settle(f.Nonce)
		return
	}
	l.mu.Lock()
	sent, waiting := l.pings[f.Nonce]
	// Later pings prove the earlier ones.
	maps.DeleteFunc(l.pings, func(nonce uint64, _ time.Time) bool { return nonce <= f.Nonce })
	l.mu.Unlock()
	if !waiting {
		return
	}
	l.proved()
	l.box.roundTrip(arrived.Sub(sent))
	l.u.change(func(s *Status) {
		s.RTTMS = float64(arrived.Sub(sent).Microseconds()) / 1000
		s.LastError, s.Attempts = "", 0
	})
}

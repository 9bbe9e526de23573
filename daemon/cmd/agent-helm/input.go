package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// dialTime is how long a holder may take to greet. It does nothing else
// meanwhile, so a longer silence means that it is stopped.
const dialTime = 10 * time.Second

// dialHolder connects to a session's holder.
func dialHolder(ctx context.Context, dirs daemon.Dirs, id, role string) (*holder.Client, error) {
	dialling, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	client, err := holder.Dial(dialling, dirs, id, role)
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		err = errors.New("the session's holder does not answer; it may be stopped")
	}
	return nil, unreachable(err)
}

// sendInput gives a session one input and waits for the holder's word on it.
// The client that names it is used for nothing else.
func (a *app) sendInput(ctx context.Context, dirs daemon.Dirs, id string, input *wire.Input) (wire.InputStatus, error) {
	client, err := dialHolder(ctx, dirs, id, wire.RoleTool)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	rand.Read(input.Client[:]) // never fails
	input.Sent = client.Sent()
	if err := client.Send(input); err != nil {
		return 0, unreachable(err)
	}
	for {
		frame, err := client.Receive()
		if err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return wire.InputBlocked, nil
			}
			return 0, unreachable(fmt.Errorf("the session ended before it took the input: %w", err))
		}
		if ack, ok := frame.(*wire.InputAck); ok && ack.Client == input.Client {
			return ack.Status, nil
		}
	}
}

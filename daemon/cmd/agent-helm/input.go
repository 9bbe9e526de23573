package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// sendInput gives a session one input and waits for the holder's word on it.
// The client that names it is used for nothing else.
func (a *app) sendInput(ctx context.Context, dirs daemon.Dirs, id string, input *wire.Input) (wire.InputStatus, error) {
	client, err := holder.Dial(ctx, dirs, id, wire.RoleTool)
	if err != nil {
		return 0, unreachable(err)
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

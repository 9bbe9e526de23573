package uplink

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/supervisor"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// FromSupervisor makes a supervisor the uplink's Sessions. Its Run has to run,
// for otherwise nobody signals changes.
func FromSupervisor(s *supervisor.Supervisor) Sessions { return supervised{s} }

type supervised struct{ s *supervisor.Supervisor }

func (a supervised) List(ctx context.Context) ([]daemon.Session, error) { return a.s.List(ctx) }
func (a supervised) Subscribe() (<-chan struct{}, func())               { return a.s.Subscribe() }

func (a supervised) Dial(ctx context.Context, id string) (Conn, error) {
	client, err := a.s.Dial(ctx, id, wire.RoleDaemon)
	if errors.Is(err, supervisor.ErrEnded) {
		return nil, ErrNoHolder
	}
	if err != nil {
		return nil, err
	}
	return client, nil
}

func (a supervised) Record(ctx context.Context, id string) (Record, error) {
	record, err := a.s.Record(ctx, id)
	if err != nil {
		return nil, err
	}
	return record, nil
}

func (a supervised) Start(ctx context.Context, params wire.StartParams) (string, error) {
	session, err := a.s.StartRemote(ctx, params)
	return session.ID, err
}

func (a supervised) Rename(ctx context.Context, id, name string) error {
	return a.s.Rename(ctx, id, name)
}

func (a supervised) Kill(ctx context.Context, id string) error { return a.s.Kill(ctx, id) }
func (a supervised) Signal(ctx context.Context, id, signal string) error {
	return a.s.Signal(ctx, id, signal)
}
func (a supervised) Forget(ctx context.Context, id string) error { return a.s.Forget(ctx, id) }
func (a supervised) Page(ctx context.Context, params wire.PageParams) (json.RawMessage, error) {
	return a.s.Page(ctx, params)
}
func (a supervised) Search(ctx context.Context, params wire.SearchParams) (json.RawMessage, error) {
	return a.s.Search(ctx, params)
}
func (a supervised) Recording(ctx context.Context, params wire.RecordingParams) (wire.RecordingResult, error) {
	return a.s.Recording(ctx, params)
}

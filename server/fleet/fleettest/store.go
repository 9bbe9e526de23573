// Package fleettest is a store in memory for tests of what a Fleet does. Only
// tests import it.
package fleettest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/agent-helm/agent-helm/server"
)

// Store keeps hosts and sessions in memory. The zero value is empty and ready.
type Store struct {
	mu        sync.Mutex
	hosts     map[string]server.HostRecord
	sessions  map[server.SessionKey]server.SessionRecord
	snapshots map[server.SessionKey]server.SessionSnapshot
	writes    int
	fault     error
}

// AddHost enrols a host.
func (s *Store) AddHost(record server.HostRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts = map[string]server.HostRecord{}
	}
	s.hosts[record.ID] = record
}

// Fail makes every write fail with err until it is nil again.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
}

// Writes is how many writes there were.
func (s *Store) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// begin counts a write and returns what it fails with. The caller holds mu.
func (s *Store) begin() error {
	s.writes++
	return s.fault
}

// Host implements server.HostStore.
func (s *Store) Host(_ context.Context, id string) (server.HostRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, ok := s.hosts[id]
	if !ok {
		return record, server.NewError(server.CodeUnknownHost)
	}
	return record, nil
}

// Hosts implements server.HostStore.
func (s *Store) Hosts(context.Context) ([]server.HostRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []server.HostRecord
	for _, record := range s.hosts {
		list = append(list, record)
	}
	slices.SortFunc(list, func(a, b server.HostRecord) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// SeeHosts implements server.HostStore.
func (s *Store) SeeHosts(_ context.Context, seen []server.HostSeen) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	for _, entry := range seen {
		if record, ok := s.hosts[entry.ID]; ok {
			record.LastSeenAt, record.Version = entry.At, entry.Version
			s.hosts[entry.ID] = record
		}
	}
	return nil
}

// DeleteHost implements server.HostStore.
func (s *Store) DeleteHost(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.hosts[id]; !ok {
		return server.NewError(server.CodeUnknownHost)
	}
	delete(s.hosts, id)
	for key := range s.sessions {
		if key.Host == id {
			delete(s.sessions, key)
			delete(s.snapshots, key)
		}
	}
	return s.begin()
}

// PutSession implements server.SessionStore.
func (s *Store) PutSession(_ context.Context, record server.SessionRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	if _, ok := s.hosts[record.Host]; !ok {
		return server.NewError(server.CodeUnknownHost)
	}
	if s.sessions == nil {
		s.sessions = map[server.SessionKey]server.SessionRecord{}
	}
	s.sessions[record.SessionKey] = record
	return nil
}

// Session implements server.SessionStore.
func (s *Store) Session(_ context.Context, key server.SessionKey) (server.SessionRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, ok := s.sessions[key]
	if !ok {
		return record, server.NewError(server.CodeUnknownSession)
	}
	return record, nil
}

// Sessions implements server.SessionStore.
func (s *Store) Sessions(context.Context) ([]server.SessionRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []server.SessionRecord
	for _, record := range s.sessions {
		list = append(list, record)
	}
	slices.SortFunc(list, func(a, b server.SessionRecord) int { return cmp.Compare(b.ID, a.ID) })
	return list, nil
}

// PutSnapshot implements server.SessionStore.
func (s *Store) PutSnapshot(_ context.Context, key server.SessionKey, snapshot server.SessionSnapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	if _, ok := s.sessions[key]; !ok {
		return server.NewError(server.CodeUnknownSession)
	}
	if s.snapshots == nil {
		s.snapshots = map[server.SessionKey]server.SessionSnapshot{}
	}
	s.snapshots[key] = snapshot
	return nil
}

// Snapshot implements server.SessionStore.
func (s *Store) Snapshot(_ context.Context, key server.SessionKey) (server.SessionSnapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, ok := s.snapshots[key]
	if !ok {
		return snapshot, server.NewError(server.CodeUnknownSession)
	}
	return snapshot, nil
}

// DeleteSession implements server.SessionStore.
func (s *Store) DeleteSession(_ context.Context, key server.SessionKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	if _, ok := s.sessions[key]; !ok {
		return server.NewError(server.CodeUnknownSession)
	}
	delete(s.sessions, key)
	delete(s.snapshots, key)
	return nil
}

package uplink

import (
	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// What one link knew of a session's positions is kept for the next hello, in
// which a holder that is slow to answer would otherwise have none and the
// server would ask for a state where it could resume.

func (u *Uplink) remember(id string, start, end wire.Position) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.places[id] = wire.SessionInfo{Start: start, End: end}
}

// reached notes how far a session's stream was forwarded.
func (u *Uplink) reached(id string, position wire.Position) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if place, ok := u.places[id]; ok && place.End.Before(position) {
		place.End = position
		u.places[id] = place
	}
}

func (u *Uplink) remembered(id string) wire.SessionInfo {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.places[id]
}

// forgetOthers drops what is not listed any more.
func (u *Uplink) forgetOthers(list []daemon.Session) {
	present := make(map[string]bool, len(list))
	for _, session := range list {
		present[session.ID] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id := range u.places {
		if !present[id] {
			delete(u.places, id)
		}
	}
}

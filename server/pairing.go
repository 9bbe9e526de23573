package server

import "time"

// Pairing is a host's request for the code of a new device, as it is shown to
// those who may confirm it.
type Pairing struct {
	ID        string   `json:"id" doc:"Four characters, to be compared with the host's terminal" example:"K7QP"`
	Host      string   `json:"host" doc:"The host's id"`
	HostName  string   `json:"host_name"`
	Address   string   `json:"address" doc:"Where the host is connected from; for display only"`
	Scopes    []string `json:"scopes" nullable:"false" doc:"What the new device shall be able to do"`
	CreatedMS int64    `json:"created_ms" doc:"How long ago it was asked for"`
	ExpiresMS int64    `json:"expires_ms" doc:"How long it still waits"`
}

// Shown is the request as it is shown.
func (r PairingRecord) Shown(now time.Time) Pairing {
	return Pairing{ID: r.ID, Host: r.Host, HostName: r.HostName, Address: r.Address, Scopes: r.Scopes.Names(),
		CreatedMS: max(0, now.Sub(r.CreatedAt).Milliseconds()), ExpiresMS: max(0, r.ExpiresAt.Sub(now).Milliseconds())}
}

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// StartPolicy says what a server may start here.
type StartPolicy string

// Values of StartPolicy.
const (
	StartOff   StartPolicy = "off"   // nothing
	StartKnown StartPolicy = "known" // agents of the table, by name
	StartAny   StartPolicy = "any"   // any argv
)

// Policy is policy.json: what a server may make this host do. It is edited
// only on the host and enforced on each decoded frame (DESIGN §9).
type Policy struct {
	// Watch: sessions and their output are sent.
	Watch bool `json:"watch"`
	// Answer: a decision on what an agent asked is passed on.
	Answer bool `json:"answer"`
	// Input: keys and text are written to sessions; sizes, names and signals count as input.
	Input bool `json:"input"`
	// Start: what may be started.
	Start StartPolicy `json:"start"`
	// Exec: commands outside a session.
	Exec bool `json:"exec"`
	// Rules: lasting permissions made on the server.
	Rules bool `json:"rules"`
	// Tasks: the task system over the wire.
	Tasks bool `json:"tasks"`
	// Files: reading and uploading files.
	Files bool `json:"files"`
	// Locked: everything but Watch is off, whatever stands above.
	Locked bool `json:"locked"`
}

// DefaultPolicy is that of a paired host without a policy file: watching,
// answering, typing and starting known agents.
func DefaultPolicy() Policy {
	return Policy{Watch: true, Answer: true, Input: true, Start: StartKnown}
}

// PolicyPath is where the policy is kept.
func (d Dirs) PolicyPath() string { return filepath.Join(d.Config, "policy.json") }

// LoadPolicy reads policy.json over the defaults; without a file the defaults
// hold. On an error the returned policy allows nothing, so that a damaged file
// never opens a door.
func LoadPolicy(d Dirs) (Policy, error) {
	path := d.PolicyPath()
	if err := checkPrivateFile(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return DefaultPolicy(), nil
		}
		return Policy{Start: StartOff}, err
	}
	policy := DefaultPolicy()
	if err := ReadJSON(path, &policy); err != nil {
		return Policy{Start: StartOff}, err
	}
	if err := policy.Validate(); err != nil {
		return Policy{Start: StartOff}, fmt.Errorf("%s: %w", path, err)
	}
	return policy, nil
}

// Save writes policy.json atomically.
func (p Policy) Save(d Dirs) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("save policy: %w", err)
	}
	if err := d.Create(); err != nil {
		return err
	}
	return WriteJSON(d.PolicyPath(), p)
}

// Validate fails when a value is not one of those that exist.
func (p Policy) Validate() error {
	switch p.Start {
	case StartOff, StartKnown, StartAny:
		return nil
	}
	return fmt.Errorf("start is %q: use off, known or any", p.Start)
}

// Effective is the policy with the lock applied.
func (p Policy) Effective() Policy {
	if p.Locked {
		return Policy{Watch: p.Watch, Start: StartOff, Locked: true}
	}
	return p
}

// AllowsStart says whether a server may start this: a known agent by name, or
// an argv.
func (p Policy) AllowsStart(agent string, argv []string) bool {
	switch p.Effective().Start {
	case StartAny:
		return true
	case StartKnown:
		_, known := AgentByName(agent)
		return known && len(argv) == 0
	}
	return false
}

package uplink

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// maxAudit is the size in bytes at which the audit moves to a second file; the
// two together are what is kept.
const maxAudit = 4 << 20

// inputAuditEvery is how often typing of one client into one session is noted.
const inputAuditEvery = time.Minute

// Audit is the host's own record of what the server had it do: calls with
// their outcome, refused frames, who typed where, once a minute, and what this
// host itself asked for. It holds no keystroke and no output. A nil Audit records nothing. Safe for concurrent use.
type Audit struct {
	mu     sync.Mutex
	path   string
	file   *os.File
	size   int64
	noted  map[auditKey]time.Time
	failed error
}

type auditKey struct {
	what, session, client string
}

type auditLine struct {
	Time    time.Time `json:"time"`
	What    string    `json:"what"`
	Session string    `json:"session,omitempty"`
	Client  string    `json:"client,omitempty"`
	Result  string    `json:"result"`
}

// OpenAudit opens the record at path for appending, with mode 0600.
func OpenAudit(path string) (*Audit, error) {
	a := &Audit{path: path, noted: make(map[auditKey]time.Time)}
	if err := a.open(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Audit) open() error {
	file, err := os.OpenFile(a.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open audit: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open audit: %w", err), file.Close())
	}
	a.file, a.size = file, info.Size()
	return nil
}

// Close closes the file and returns the first fault of writing it.
func (a *Audit) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return a.failed
	}
	err := errors.Join(a.failed, a.file.Close())
	a.file = nil
	return err
}

// called notes a call and its outcome: "ok" or a code.
func (a *Audit) called(method, session, result string) {
	if a == nil || method == wire.MethodPage && result == "ok" {
		return // reading history is watching
	}
	if _, known := methods[method]; !known {
		a.sometimes(auditKey{what: "unknown method"}, result)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.append(auditLine{What: method, Session: session, Result: result})
}

// pairing notes that this host asked its server for a code, and what came of it.
func (a *Audit) pairing(result string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.append(auditLine{What: wire.MethodPairingRequest, Result: result})
}

// refused notes a frame that the policy refused, once a minute.
func (a *Audit) refused(what, session, client string) {
	a.sometimes(auditKey{what, session, client}, "forbidden")
}

// input notes that a client types into a session, once a minute.
func (a *Audit) input(session string, client wire.ClientID) {
	if a == nil {
		return
	}
	a.sometimes(auditKey{"input", session, client.String()}, "passed")
}

func (a *Audit) sometimes(key auditKey, result string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if last, ok := a.noted[key]; ok && now.Sub(last) < inputAuditEvery {
		return
	}
	if len(a.noted) > 4096 {
		clear(a.noted)
	}
	a.noted[key] = now
	a.append(auditLine{What: key.what, Session: key.session, Client: key.client, Result: result})
}

// append writes a line. A full disk costs the record, never the work: the
// first fault is kept for Close.
func (a *Audit) append(line auditLine) {
	if a.file == nil {
		return
	}
	line.Time = time.Now().UTC()
	encoded, err := json.Marshal(line)
	if err == nil {
		var n int
		n, err = a.file.Write(append(encoded, '\n'))
		a.size += int64(n)
	}
	if err == nil && a.size >= maxAudit {
		err = a.rotate()
	}
	if err != nil && a.failed == nil {
		a.failed = fmt.Errorf("write audit: %w", err)
	}
}

func (a *Audit) rotate() error {
	err := errors.Join(a.file.Close(), os.Rename(a.path, a.path+".1"))
	a.file = nil
	return errors.Join(err, a.open())
}

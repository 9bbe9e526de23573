package holder

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// Files of a session's directory.
const (
	specFile  = "spec.json"
	birthFile = "birth.json"
	exitFile  = "exit.json"
	stateFile = "state.bin"
	logDir    = "log"
	ownLog    = "holder.log"
)

// birthRecord proves later whether the holder still lives.
type birthRecord struct {
	// PID and Started are the program's process id and start time; HolderPID
	// and HolderStarted the holder's. A start time is the system's own notation:
	// a process id that was used again has another.
	PID           int    `json:"pid"`
	Started       string `json:"started"`
	HolderPID     int    `json:"holder_pid"`
	HolderStarted string `json:"holder_started"`
	// Boot changes with every start of the computer.
	Boot string `json:"boot"`
	// Version is the holder's build.
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	// RefHash is the SHA-256 of the session's capability, in hexadecimal.
	RefHash string `json:"ref_sha256"`
}

// life is what the system says of a process.
type life int

const (
	gone life = iota
	alive
	unknown // the system does not say
)

// dead is empty unless the holder is provably gone; then it is the reason.
func (b birthRecord) dead() string {
	if boot, err := bootID(); err == nil && b.Boot != boot {
		return LostReboot
	}
	switch started, life := processStart(b.HolderPID); {
	case life == gone, life == alive && b.HolderStarted != "" && started != b.HolderStarted:
		return LostHolder
	}
	return ""
}

// exitRecord is how a program ended and what the log then held.
type exitRecord struct {
	daemon.Exit
	Start wire.Position `json:"start"`
	End   wire.Position `json:"end"`
	Cols  uint16        `json:"cols"`
	Rows  uint16        `json:"rows"`
}

func readSpec(dirs daemon.Dirs, id string) (daemon.Spec, error) {
	var spec daemon.Spec
	if err := daemon.ReadJSON(filepath.Join(dirs.SessionDir(id), specFile), &spec); err != nil {
		return spec, err
	}
	if spec.ID != id {
		return spec, fmt.Errorf("%s of session %s is another's", specFile, id)
	}
	return spec, nil
}

// Rename gives a session another name on disk. A running session is renamed by
// asking its holder (wire.MethodRename), which calls this.
func Rename(dirs daemon.Dirs, id, name string) error {
	if err := daemon.ValidateName(name); err != nil {
		return err
	}
	spec, err := readSpec(dirs, id)
	if err != nil {
		return err
	}
	spec.Name = name
	return daemon.WriteJSON(filepath.Join(dirs.SessionDir(id), specFile), spec)
}

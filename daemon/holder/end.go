package holder

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/logging"
)

// finish records how the program ended. The reading goroutine calls it last.
func (s *session) finish() {
	s.inputs.end()
	code, signal := s.process.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	exit := &daemon.Exit{Code: code, Signal: signal, Time: time.Now()}
	record := exitRecord{Exit: *exit, Start: s.log.Start(), End: s.log.End(), Cols: s.cols, Rows: s.rows}
	s.writeEnd(record)
	s.exit, s.lastGone = exit, time.Now()
	for _, timer := range []*time.Timer{s.resizeTimer, s.leaseTimer} {
		if timer != nil {
			timer.Stop()
		}
	}
	s.broadcastUpdate()
	s.wakeReaders()
	close(s.ended)
}

// writeEnd leaves the last screen and the exit record. The record matters more
// than anything else on a full disk: without it the session would count as
// lost, so the screen and then the oldest output make room for it.
func (s *session) writeEnd(record exitRecord) {
	directory := s.dirs.SessionDir(s.spec.ID)
	screen := filepath.Join(directory, stateFile)
	var state []byte
	s.guard(func() { state = s.terminal.State(-1) })
	if err := daemon.WriteFileAtomic(screen, state); err != nil {
		s.logger.Warn("last screen cannot be written", logging.KeyError, err)
	}
	err := daemon.WriteJSON(filepath.Join(directory, exitFile), record)
	if err == nil {
		return
	}
	s.logger.Warn("exit record cannot be written", logging.KeyError, err)
	_ = os.Remove(screen) // it may not be there
	for err != nil {
		if err = daemon.WriteJSON(filepath.Join(directory, exitFile), record); err == nil {
			break
		}
		if dropErr := s.log.shorten(); dropErr != nil {
			s.logger.Error("session ends without a record", logging.KeyError, errors.Join(err, dropErr))
			return
		}
	}
}

// kill ends every process group of the session: HUP, then KILL for what is
// left after KillGrace. It returns at once; the holder waits for it.
func (s *session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killing {
		return
	}
	s.killing = true
	s.routines.Go(s.killGroups)
}

func (s *session) killGroups() {
	s.process.Signal(syscall.SIGHUP)
	deadline := time.Now().Add(daemon.KillGrace)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for s.process.Alive() && time.Now().Before(deadline) {
		<-poll.C
	}
	// A group may be born while others are killed.
	for range 20 {
		if s.process.Signal(syscall.SIGKILL) == 0 {
			return
		}
		<-poll.C
	}
}

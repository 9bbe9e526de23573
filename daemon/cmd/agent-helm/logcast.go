package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/vt"
)

// writeCast writes a session's recording to a file or standard output. It needs
// neither daemon nor holder.
func (c *logsCommand) writeCast(app *app, dirs daemon.Dirs, session daemon.Session) error {
	recording, err := holder.OpenRecording(dirs, session.ID)
	if err != nil {
		return err
	}
	defer recording.Close()
	if session.State == daemon.StateRunning && session.Warning != "" {
		app.note("%s: %s", clean(session.Name, 40), clean(session.Warning, 200))
	}
	if c.Cast == "-" {
		return writeCast(app.stdout, recording)
	}
	file, err := os.OpenFile(c.Cast, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write recording: %w", err)
	}
	if err := errors.Join(writeCast(file, recording), file.Close()); err != nil {
		return fmt.Errorf("write recording: %w", err)
	}
	return nil
}

func writeCast(w io.Writer, recording *holder.Recording) error {
	out := bufio.NewWriterSize(w, 64<<10)
	begin := recording.Begin()
	head := vt.CastHeader{
		Cols: int(begin.Cols), Rows: int(begin.Rows), Start: begin.Time.Unix(),
		Title: clean(recording.Session().Name, daemon.MaxNameRunes), Term: "xterm-256color",
	}
	lines := head.Append(nil)
	var cast vt.Cast
	for {
		if _, err := out.Write(lines); err != nil {
			return err
		}
		piece, err := recording.Next()
		if errors.Is(err, io.EOF) {
			if _, err := out.Write(cast.AppendEnd(lines[:0])); err != nil {
				return err
			}
			return out.Flush()
		}
		if err != nil {
			return err
		}
		lines = appendRecorded(lines[:0], &cast, piece, piece.At-begin.At)
	}
}

func appendRecorded(lines []byte, cast *vt.Cast, piece holder.Recorded, at time.Duration) []byte {
	switch {
	case piece.Remark != "":
		return cast.AppendMarker(lines, at, piece.Remark)
	case piece.Cols > 0:
		return cast.AppendResize(lines, at, int(piece.Cols), int(piece.Rows))
	}
	return cast.AppendOutput(lines, at, piece.Data)
}

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// recordingPiece is how many bytes of output one answer has about, by
	// default and at most. Base64 and JSON double them, which is well below a
	// frame.
	recordingPiece    = 64 << 10
	maxRecordingPiece = 256 << 10
	// eventOverhead is what an event takes beside its output.
	eventOverhead = 64
)

// Search looks through a session's screen and history, at its holder or in what
// it left, and returns internal/vt's SearchResult as JSON.
func (s *Supervisor) Search(ctx context.Context, params wire.SearchParams) (json.RawMessage, error) {
	id := params.ID
	params.ID = ""
	var result json.RawMessage
	err := s.call(ctx, id, wire.MethodSearch, params, &result)
	if !errors.Is(err, ErrEnded) {
		return result, err
	}
	search, fault := holder.NewSearching(params)
	if fault != nil {
		return nil, fault
	}
	terminal, err := s.lastTerminal(ctx, id)
	if err != nil {
		return nil, err
	}
	for !search.Step(terminal) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if result, err = json.Marshal(search.Result()); err != nil {
		return nil, fmt.Errorf("encode search: %w", err)
	}
	return result, nil
}

// Recording reads a piece of a session's recording, whether it runs or not.
func (s *Supervisor) Recording(ctx context.Context, params wire.RecordingParams) (wire.RecordingResult, error) {
	var result wire.RecordingResult
	if _, err := s.inspect(ctx, params.ID); err != nil {
		return result, err
	}
	recording, err := holder.OpenRecording(s.dirs, params.ID)
	switch {
	case errors.Is(err, holder.ErrNoSession):
		return result, ErrUnknownSession
	case errors.Is(err, holder.ErrNoRecording):
		return result, &wire.Fault{Code: wire.CodeInvalid, Message: "no recording is kept of this session: its output is not on the host's disk"}
	case err != nil:
		return result, err
	}
	defer recording.Close()
	begin := recording.Begin()
	result = wire.RecordingResult{
		Cols: begin.Cols, Rows: begin.Rows, BeginMS: begin.At.Milliseconds(), AgeMS: time.Since(begin.Time).Milliseconds(),
		Events: []wire.RecordingEvent{}, End: recording.End(),
	}
	if params.From != nil {
		recording.Seek(*params.From)
	}
	left := recordingPiece
	if params.Max > 0 {
		left = min(params.Max, maxRecordingPiece)
	}
	for left > 0 || recording.Queued() {
		piece, err := recording.Next()
		if errors.Is(err, io.EOF) {
			result.Done = true
			break
		}
		if err != nil {
			return wire.RecordingResult{}, err
		}
		result.Events = append(result.Events, wire.RecordingEvent{
			AtMS: piece.At.Milliseconds(), Data: append([]byte(nil), piece.Data...), Cols: piece.Cols, Rows: piece.Rows, Remark: piece.Remark,
		})
		left -= len(piece.Data) + eventOverhead
	}
	result.Next = recording.Position()
	return result, nil
}

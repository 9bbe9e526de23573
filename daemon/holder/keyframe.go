package holder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// When a segment has begun, what the screen shows soon behind its first byte is
// written beside it. Once the segments before it are gone, a recording begins
// there instead of in the middle of a picture. The file is a line "offset marks
// cols rows bytes" and so many bytes of a repaint.
const (
	keyframeSuffix = ".screen"
	maxKeyframe    = 64 << 10 // a repaint's own bound
)

// A keyframe is the screen at a position.
type keyframe struct {
	position   wire.Position
	cols, rows uint16
	repaint    []byte
}

func keyframePath(dir string, segmentStart uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016x%s", segmentStart, keyframeSuffix))
}

// wantsKeyframe says whether the newest segment still has none.
func (l *diskLog) wantsKeyframe() bool {
	n := len(l.segments)
	return n > 0 && !l.segments[n-1].keyed && l.segments[n-1].start > 0
}

// writeKeyframe writes the screen at the log's end. One that cannot be written
// costs the beginning of a later recording and nothing else.
func (l *diskLog) writeKeyframe(cols, rows uint16, repaint []byte) {
	newest := l.segments[len(l.segments)-1]
	newest.keyed = true
	if len(repaint) > maxKeyframe {
		return
	}
	content := fmt.Appendf(nil, "%d %d %d %d %d\n", l.end.Offset, l.end.Marks, cols, rows, len(repaint))
	path := keyframePath(l.dir, newest.start)
	if err := os.WriteFile(path, append(content, repaint...), 0o600); err != nil {
		_ = os.Remove(path) // a part of it would not be read either
	}
}

// readKeyframe reads the keyframe of a segment.
func readKeyframe(dir string, segmentStart uint64) (keyframe, error) {
	file, err := os.Open(keyframePath(dir, segmentStart))
	if err != nil {
		return keyframe{}, fmt.Errorf("read keyframe: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxKeyframe+256))
	if err != nil {
		return keyframe{}, fmt.Errorf("read keyframe: %w", err)
	}
	head, repaint, _ := bytes.Cut(content, []byte("\n"))
	var k keyframe
	var size int
	if _, err := fmt.Sscanf(string(head), "%d %d %d %d %d", &k.position.Offset, &k.position.Marks, &k.cols, &k.rows, &size); err != nil ||
		size != len(repaint) || k.cols < 1 || k.cols > wire.MaxColumns || k.rows < 1 || k.rows > wire.MaxRows {
		return keyframe{}, errBroken
	}
	k.repaint = repaint
	return k, nil
}

// removeBeside removes what lies beside a segment.
func removeBeside(dir string, segmentStart uint64) error {
	var failed error
	for _, path := range []string{timesPath(dir, segmentStart), keyframePath(dir, segmentStart)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

package uplink

import (
	"bytes"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// BenchmarkOutbox_Flood is the cost of carrying one session's output from the
// holder's frames to a message, without the sockets.
func BenchmarkOutbox_Flood(b *testing.B) {
	box := newOutbox(time.Now)
	box.window.size = windowCeil
	l := box.newLane(1)
	data := bytes.Repeat([]byte("x"), 16<<10)
	var buffer []byte
	var reports []written
	var offset uint64
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := box.put(b.Context(), l, &wire.Output{Offset: offset, Data: data}); err != nil {
			b.Fatal(err)
		}
		offset += uint64(len(data))
		var err error
		if buffer, reports, err = box.next(b.Context(), buffer[:0], reports[:0], func(wire.Frame) {}); err != nil {
			b.Fatal(err)
		}
		box.wrote(reports)
		box.acknowledge(l, offset)
	}
}

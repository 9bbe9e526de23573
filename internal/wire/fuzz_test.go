package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func seedFrames(f *testing.F, add func([]byte)) {
	for _, frame := range samples() {
		add(encode(f, frame))
	}
	for _, frame := range edges() {
		if message := encode(f, frame); len(message) < 4096 {
			add(message)
		}
	}
	add(encode(f, &Ack{}, &Unknown{FrameType: 0xfe, Body: []byte("x")}, &Ack{Offset: 1}))
	add([]byte{0x10, 0xff, 0xff, 0xff, 0xff, 0x7f})
}

// FuzzDecode: any bytes give frames or an error, both decoders agree, and what
// was decoded can be encoded again and then stays the same.
func FuzzDecode(f *testing.F) {
	seedFrames(f, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, message []byte) {
		frame, rest, err := Decode(message)
		fromStream, streamErr := NewReader(bytes.NewReader(message)).ReadFrame()
		if (err == nil) != (streamErr == nil) {
			t.Fatalf("Decode says %v, ReadFrame says %v", err, streamErr)
		}
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of no known kind: %v", err)
			}
			return
		}
		if len(rest) >= len(message) || !bytes.HasSuffix(message, rest) {
			t.Fatalf("%d bytes left of %d", len(rest), len(message))
		}
		first, err := Append(nil, frame)
		if errors.Is(err, ErrTooLarge) {
			return // JSON may grow when it is written our way
		}
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		again, left, err := Decode(first)
		if err != nil || len(left) != 0 {
			t.Fatalf("our own encoding does not decode: %v, %d bytes left", err, len(left))
		}
		second, err := Append(nil, again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("encoding is not stable: %v\n%q\n%q", err, first, second)
		}
		streamed, err := Append(nil, fromStream)
		if err != nil || !bytes.Equal(first, streamed) {
			t.Fatalf("the stream reader read another frame: %v\n%q\n%q", err, first, streamed)
		}
	})
}

// splitReader returns the bytes in two reads that meet at split, then ends.
type splitReader struct {
	b     []byte
	split int
}

func (r *splitReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	limit := len(r.b)
	if r.split > 0 && r.split < limit {
		limit = r.split
	}
	n := copy(p, r.b[:limit])
	r.b, r.split = r.b[n:], max(r.split-n, 0)
	return n, nil
}

// FuzzReader: frames read from a stream do not depend on where it is split, and
// are those of the same bytes in one message.
func FuzzReader(f *testing.F) {
	seedFrames(f, func(b []byte) { f.Add(b, len(b)/2); f.Add(b, 1) })
	f.Fuzz(func(t *testing.T, stream []byte, split int) {
		var fromMessage []byte
		messageErr := DecodeAll(stream, func(frame Frame) error {
			var err error
			fromMessage, err = Append(fromMessage, frame)
			return err
		})
		if errors.Is(messageErr, ErrTooLarge) {
			return
		}
		var fromStream []byte
		reader := NewReader(&splitReader{b: stream, split: split})
		var streamErr error
		for {
			var frame Frame
			if frame, streamErr = reader.ReadFrame(); streamErr != nil {
				break
			}
			var err error
			if fromStream, err = Append(fromStream, frame); err != nil {
				t.Fatalf("encode: %v", err)
			}
		}
		if (messageErr == nil) != (streamErr == io.EOF) {
			t.Fatalf("message: %v, stream: %v", messageErr, streamErr)
		}
		if !bytes.Equal(fromMessage, fromStream) {
			t.Fatalf("frames differ\nmessage %q\nstream  %q", fromMessage, fromStream)
		}
	})
}

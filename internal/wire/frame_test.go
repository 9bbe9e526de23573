package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameFrame compares two frames; an empty slice and none are the same.
func sameFrame(t testing.TB, want, got Frame) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // quicker than a diff of a large frame
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("frame differs (-want +got):\n%s", diff)
	}
}

func TestSamples_coverEveryType(t *testing.T) {
	seen := map[Type]bool{}
	for name, f := range samples() {
		if seen[f.Type()] {
			t.Errorf("%s: second sample of %s", name, f.Type())
		}
		seen[f.Type()] = true
	}
	for frameType := range frameTypes {
		if !seen[frameType] {
			t.Errorf("no sample of %s", frameType)
		}
	}
}

func TestFrame_roundTrip(t *testing.T) {
	frames := edges()
	for _, f := range samples() {
		frames = append(frames, f)
	}
	for _, want := range frames {
		message := encode(t, want)
		got, rest, err := Decode(message)
		if err != nil {
			t.Errorf("%s: %v", want.Type(), err)
			continue
		}
		if len(rest) != 0 {
			t.Errorf("%s: %d bytes left over", want.Type(), len(rest))
		}
		sameFrame(t, want, got)

		got, err = NewReader(iotest.OneByteReader(bytes.NewReader(message))).ReadFrame()
		if err != nil {
			t.Errorf("%s from a stream: %v", want.Type(), err)
			continue
		}
		sameFrame(t, want, got)
	}
}

func TestAppend_keepsWhatIsThere(t *testing.T) {
	prefix := []byte("before")
	message, err := Append(bytes.Clone(prefix), &Ack{Handle: 1, Offset: 2})
	if err != nil || !bytes.HasPrefix(message, prefix) {
		t.Fatalf("Append = %q, %v", message, err)
	}
	message, err = Append(message, &Resize{})
	if !errors.Is(err, ErrMalformed) || !bytes.HasPrefix(message, prefix) || len(message) != len(prefix)+4 {
		t.Fatalf("after a refused frame: %q, %v", message, err)
	}
}

func TestFrame_truncatedAtEveryByte(t *testing.T) {
	for name, f := range samples() {
		message := encode(t, f)
		for n := range message {
			if got, _, err := Decode(message[:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: Decode of %d of %d bytes = %v, %v", name, n, len(message), got, err)
			}
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if got, err := NewReader(bytes.NewReader(message[:n])).ReadFrame(); !errors.Is(err, want) {
				t.Errorf("%s: ReadFrame of %d of %d bytes = %v, %v, want %v", name, n, len(message), got, err, want)
			}
		}
	}
}

// A body that ends early although its length says so is refused, unless the
// missing part was data that runs to the end.
func TestFrame_shortBody(t *testing.T) {
	endsInData := map[string]int{"output": 6, "state": 3, "repaint": 2, "input": 3}
	for name, f := range samples() {
		message := encode(t, f)
		_, n := binary.Uvarint(message[1:])
		body := message[1+n:]
		for cut := range body {
			short := append(binary.AppendUvarint([]byte{message[0]}, uint64(cut)), body[:cut]...)
			_, _, err := Decode(short)
			if allowed := cut >= len(body)-endsInData[name]; (err == nil) != allowed {
				t.Errorf("%s: body of %d of %d bytes: %v", name, cut, len(body), err)
			}
		}
	}
}

func TestFrame_ignoresBytesBehindTheLastField(t *testing.T) {
	for name, want := range samples() {
		switch name {
		case "output", "state", "repaint", "input":
			continue // their last field runs to the end
		}
		message := encode(t, want)
		length, n := binary.Uvarint(message[1:])
		later := append(binary.AppendUvarint([]byte{message[0]}, length+1), message[1+n:]...)
		got, _, err := Decode(append(later, ' '))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameFrame(t, want, got)
	}
}

func TestDecode_skipsUnknownTypes(t *testing.T) {
	message := encode(t, &Ack{Offset: 1}, &Unknown{FrameType: 0xfe, Body: bytes.Repeat([]byte{0xff}, 300)}, &Ack{Offset: 2})
	var offsets []uint64
	var unknown int
	err := DecodeAll(message, func(f Frame) error {
		switch f := f.(type) {
		case *Ack:
			offsets = append(offsets, f.Offset)
		case *Unknown:
			unknown++
		}
		return nil
	})
	if err != nil || unknown != 1 || !cmp.Equal(offsets, []uint64{1, 2}) {
		t.Fatalf("err %v, unknown %d, acks %v", err, unknown, offsets)
	}
	if got := Type(0xfe).String(); got != "unknown frame 0xfe" {
		t.Errorf("name = %q", got)
	}
}

func TestDecodeAll_stopsAtTheFirstError(t *testing.T) {
	stop := errors.New("enough")
	calls := 0
	err := DecodeAll(encode(t, &Ack{}, &Ack{}), func(Frame) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("err %v after %d calls", err, calls)
	}
	calls = 0
	err = DecodeAll(append(encode(t, &Ack{}), 0x10), func(Frame) error { calls++; return nil })
	if !errors.Is(err, ErrTruncated) || calls != 1 {
		t.Errorf("err %v after %d calls", err, calls)
	}
}

func TestAppend_refuses(t *testing.T) {
	for name, test := range map[string]struct {
		frame Frame
		want  error
	}{
		"state chunk":     {&State{Cols: 1, Rows: 1, Data: make([]byte, MaxStateChunk+1)}, ErrTooLarge},
		"repaint":         {&Repaint{Cols: 1, Rows: 1, Data: make([]byte, MaxRepaint+1)}, ErrTooLarge},
		"input":           {&Input{Seq: 1, Data: make([]byte, MaxInput+1)}, ErrTooLarge},
		"output":          {&Output{Data: make([]byte, MaxFrame)}, ErrTooLarge},
		"signal":          {&Exit{Signal: strings.Repeat("S", 33)}, ErrTooLarge},
		"no columns":      {&Resize{Rows: 1}, ErrMalformed},
		"too many rows":   {&ClaimSize{Cols: 1, Rows: MaxRows + 1}, ErrMalformed},
		"owner's columns": {&SizeOwner{Cols: MaxColumns + 1, Rows: 1}, ErrMalformed},
		"state size":      {&State{}, ErrMalformed},
		"repaint size":    {&Repaint{Cols: MaxColumns + 1, Rows: 1}, ErrMalformed},
		"large JSON":      {&Problem{Message: strings.Repeat("x", MaxFrame)}, ErrTooLarge},
		"large unknown":   {&Unknown{FrameType: 0x7f, Body: make([]byte, MaxFrame+1)}, ErrTooLarge},
	} {
		if _, err := Append(nil, test.frame); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if _, err := Append(nil, &Event{Body: []byte("{")}); err == nil {
		t.Error("an event with half a body was encoded")
	}
}

// raw builds a frame by hand.
func raw(frameType Type, body ...byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(frameType)}, uint64(len(body))), body...)
}

func TestDecode_refuses(t *testing.T) {
	overlong := bytes.Repeat([]byte{0x80}, 10)
	zeroClient := make([]byte, 16)
	for name, test := range map[string]struct {
		message []byte
		want    error
	}{
		"length above the limit":      {binary.AppendUvarint([]byte{0x10}, MaxFrame+1), ErrTooLarge},
		"length that never ends":      {append([]byte{0x10}, append(overlong, 0x80, 0x01)...), ErrTooLarge},
		"length of five bytes":        {[]byte{0x11, 0x82, 0x80, 0x80, 0x80, 0x00, 1, 2}, ErrTooLarge},
		"number that never ends":      {raw(TypeAck, append(overlong, 0x80)...), ErrMalformed},
		"handle above 32 bits":        {raw(TypeDetach, 0xff, 0xff, 0xff, 0xff, 0x1f), ErrMalformed},
		"output past the last offset": {raw(TypeOutput, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a'), ErrMalformed},
		"gap past the last offset":    {raw(TypeGap, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1), ErrMalformed},
		"no columns":                  {raw(TypeResize, 0, 0, 1, 0, 24), ErrMalformed},
		"no rows":                     {raw(TypeResize, 0, 0, 1, 80, 0), ErrMalformed},
		"columns above the limit":     {raw(TypeResize, 0, 0, 1, 0xe9, 0x07, 24), ErrMalformed},
		"exit code above 32 bits":     {raw(TypeExit, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0), ErrMalformed},
		"signal above its limit":      {raw(TypeExit, 0, 0, 0, 33), ErrMalformed},
		"input without a number":      {raw(TypeInput, append(append([]byte{0}, zeroClient...), 0, 0, 0, 0)...), ErrMalformed},
		"JSON that is not":            {raw(TypeEvent, '{'), ErrMalformed},
		"JSON of another kind":        {raw(TypeEvent, '[', ']'), ErrMalformed},
		"client that is not hex":      {raw(TypeAttach, []byte(`{"client":"zz020304050607080910111213141516"}`)...), ErrMalformed},
		"client that is short":        {raw(TypeAttach, []byte(`{"client":"0102"}`)...), ErrMalformed},
		"repaint above its limit":     {raw(TypeRepaint, append([]byte{0, 0, 0, 1, 1}, make([]byte, MaxRepaint+1)...)...), ErrTooLarge},
		"state chunk above its limit": {raw(TypeState, append([]byte{0, 0, 0, 0, 1, 1}, make([]byte, MaxStateChunk+1)...)...), ErrTooLarge},
		"input above its limit":       {raw(TypeInput, append(append([]byte{0}, zeroClient...), append([]byte{1, 0, 0, 0}, make([]byte, MaxInput+1)...)...)...), ErrTooLarge},
	} {
		if got, _, err := Decode(test.message); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
		if got, err := NewReader(bytes.NewReader(test.message)).ReadFrame(); err == nil {
			t.Errorf("%s: a stream gave %v", name, got)
		}
	}
}

// The length is checked before it is allocated: a reader of a hostile header
// must not ask for more than MaxFrame.
func TestReader_checksTheLengthFirst(t *testing.T) {
	header := binary.AppendUvarint([]byte{byte(TypeOutput)}, 1<<27)
	allocated := testing.AllocsPerRun(10, func() {
		if _, err := NewReader(bytes.NewReader(header)).ReadFrame(); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("err = %v", err)
		}
	})
	if allocated > 16 {
		t.Errorf("%v allocations for a refused header", allocated)
	}
}

func TestPreamble(t *testing.T) {
	preamble := AppendPreamble(nil)
	rest, minor, err := CutPreamble(append(bytes.Clone(preamble), "rest"...))
	if err != nil || string(rest) != "rest" || minor != VersionMinor {
		t.Fatalf("CutPreamble = %q, %d, %v", rest, minor, err)
	}
	for n := range preamble {
		if _, _, err := CutPreamble(preamble[:n]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d bytes: %v", n, err)
		}
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if _, err := NewReader(bytes.NewReader(preamble[:n])).ReadPreamble(); !errors.Is(err, want) {
			t.Errorf("%d bytes of a stream: %v", n, err)
		}
	}
	for name, test := range map[string]struct {
		bytes string
		want  error
	}{
		"HTTP":            {"GET / HTTP/1.1", ErrMagic},
		"next major":      {"AHLM\x02\x00", ErrVersion},
		"one minor later": {"AHLM\x01\x01", nil},
		"two minor later": {"AHLM\x01\x02", ErrVersion},
		"last minor":      {"AHLM\x01\xff", ErrVersion},
	} {
		if _, _, err := CutPreamble([]byte(test.bytes)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if _, err := NewReader(strings.NewReader(test.bytes)).ReadPreamble(); !errors.Is(err, test.want) {
			t.Errorf("%s from a stream: %v, want %v", name, err, test.want)
		}
	}
}

func TestPosition_Before(t *testing.T) {
	for _, test := range []struct {
		p, q Position
		want bool
	}{
		{Position{1, 0}, Position{2, 0}, true},
		{Position{1, 5}, Position{2, 0}, true},
		{Position{2, 0}, Position{2, 1}, true},
		{Position{2, 1}, Position{2, 1}, false},
		{Position{3, 0}, Position{2, 9}, false},
	} {
		if got := test.p.Before(test.q); got != test.want {
			t.Errorf("%v before %v = %v", test.p, test.q, got)
		}
	}
}

func TestClientID_text(t *testing.T) {
	var c ClientID
	if err := c.UnmarshalText([]byte(testClient.String())); err != nil || c != testClient || c.IsZero() {
		t.Errorf("%v, %v", c, err)
	}
	if err := c.UnmarshalText(nil); err != nil || !c.IsZero() {
		t.Errorf("empty text: %v, %v", c, err)
	}
}

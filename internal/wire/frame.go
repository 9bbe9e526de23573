package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The preamble that opens each direction of a connection.
const (
	Magic        = "AHLM"
	VersionMajor = 1
	VersionMinor = 0

	preambleSize = len(Magic) + 2

	// maxLengthSize bounds the varint of a body's length in bytes.
	maxLengthSize = 4
)

// Limits. A body above its limit is refused before it is allocated.
const (
	// MaxFrame bounds one frame body in bytes.
	MaxFrame = 1 << 20
	// MaxMessage bounds one WebSocket message in bytes: a full frame, its
	// header, and the small frames that a writer puts before it.
	MaxMessage = MaxFrame + 64<<10
	// MaxOutput is the largest Output that our own senders make, in bytes.
	// Small enough that an input or control frame never waits long behind it.
	MaxOutput = 32 << 10
	// MaxInput bounds the data of one Input in bytes.
	MaxInput = 256 << 10
	// MaxStateChunk is the largest piece of state in one State frame, in bytes.
	MaxStateChunk = 256 << 10
	// MaxState bounds a whole state, all its frames together, in bytes.
	MaxState = 64 << 20
	// MaxRepaint bounds the data of one Repaint in bytes (DESIGN §3).
	MaxRepaint = 64 << 10
	// MaxColumns and MaxRows bound a terminal's size in cells.
	MaxColumns = 1000
	MaxRows    = 1000
)

// Errors of decoding. They say what was wrong with the bytes; the connection
// that carried them is to be closed with CloseProtocol.
var (
	ErrMagic     = errors.New("not an agent-helm peer: wrong magic")
	ErrVersion   = errors.New("incompatible protocol version")
	ErrTooLarge  = errors.New("frame exceeds its limit")
	ErrTruncated = errors.New("frame is truncated")
	ErrMalformed = errors.New("frame is malformed")
)

// Frame is one message of the protocol. Its dynamic type is a pointer to one
// of the structs in this package, or *Unknown.
type Frame interface {
	// Type is the frame's number on the wire.
	Type() Type
	// appendBody appends the encoded body to dst.
	appendBody(dst []byte) ([]byte, error)
	// decodeBody fills the frame from a body. Byte slices alias the body.
	decodeBody(body []byte) error
}

// Unknown is a frame of a type that this version does not know. Receivers
// ignore it.
type Unknown struct {
	FrameType Type
	Body      []byte
}

// Type is the number that the peer sent.
func (f *Unknown) Type() Type { return f.FrameType }

func (f *Unknown) appendBody(dst []byte) ([]byte, error) { return append(dst, f.Body...), nil }
func (f *Unknown) decodeBody(body []byte) error          { f.Body = body; return nil }

// AppendPreamble appends the bytes that open a direction.
func AppendPreamble(dst []byte) []byte {
	return append(append(dst, Magic...), VersionMajor, VersionMinor)
}

// CutPreamble checks the preamble at the start of b and returns the rest and
// the peer's minor version. It fails with ErrTruncated, ErrMagic or ErrVersion.
func CutPreamble(b []byte) (rest []byte, minor uint8, err error) {
	if len(b) < preambleSize {
		return nil, 0, fmt.Errorf("preamble: %w", ErrTruncated)
	}
	if string(b[:len(Magic)]) != Magic {
		return nil, 0, ErrMagic
	}
	major, minor := b[len(Magic)], b[len(Magic)+1]
	if major != VersionMajor || absDifference(minor, VersionMinor) > 1 {
		return nil, minor, fmt.Errorf("%w: peer speaks %d.%d, this program %d.%d", ErrVersion, major, minor, VersionMajor, VersionMinor)
	}
	return b[preambleSize:], minor, nil
}

func absDifference(a, b uint8) uint8 {
	if a > b {
		return a - b
	}
	return b - a
}

// Append appends the encoding of f to dst. It fails with ErrTooLarge when the
// body exceeds MaxFrame and with ErrMalformed when a field is out of bounds;
// dst is then returned as it was.
func Append(dst []byte, f Frame) ([]byte, error) {
	start := len(dst)
	dst = append(dst, byte(f.Type()))
	// Room for the largest length that MaxFrame needs (3 bytes); most bodies
	// need fewer, so the body is moved down once its length is known.
	const room = 3
	dst = append(dst, make([]byte, room)...)
	bodyStart := len(dst)
	dst, err := f.appendBody(dst)
	if err != nil {
		return dst[:start], fmt.Errorf("encode %s: %w", f.Type(), err)
	}
	length := len(dst) - bodyStart
	if length > MaxFrame {
		return dst[:start], fmt.Errorf("encode %s of %d bytes: %w", f.Type(), length, ErrTooLarge)
	}
	n := binary.PutUvarint(dst[start+1:bodyStart], uint64(length))
	if n < room {
		copy(dst[start+1+n:], dst[bodyStart:])
	}
	return dst[:start+1+n+length], nil
}

// Decode reads the first frame of message and returns what follows it. Byte
// slices in the frame alias message. It fails with ErrTruncated, ErrTooLarge
// or ErrMalformed and never reads past the message.
func Decode(message []byte) (f Frame, rest []byte, err error) {
	if len(message) == 0 {
		return nil, nil, fmt.Errorf("frame type: %w", ErrTruncated)
	}
	frameType := Type(message[0])
	length, n := binary.Uvarint(message[1:])
	switch {
	case n == 0:
		return nil, nil, fmt.Errorf("length of %s: %w", frameType, ErrTruncated)
	case n < 0 || n > maxLengthSize || length > MaxFrame:
		return nil, nil, fmt.Errorf("length of %s: %w", frameType, ErrTooLarge)
	}
	body := message[1+n:]
	if uint64(len(body)) < length {
		return nil, nil, fmt.Errorf("body of %s: %w", frameType, ErrTruncated)
	}
	rest = body[length:]
	f, err = decodeFrame(frameType, body[:length:length])
	return f, rest, err
}

func decodeFrame(frameType Type, body []byte) (Frame, error) {
	f := newFrame(frameType)
	if err := f.decodeBody(body); err != nil {
		return nil, fmt.Errorf("decode %s: %w", frameType, err)
	}
	return f, nil
}

// Reader reads frames from a byte stream such as a unix socket. It is used by
// one goroutine at a time.
type Reader struct {
	r      io.Reader
	header [1]byte
}

// NewReader returns a Reader of r, which should be buffered.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// ReadPreamble reads and checks the peer's preamble.
func (r *Reader) ReadPreamble() (minor uint8, err error) {
	var preamble [preambleSize]byte
	if _, err := io.ReadFull(r.r, preamble[:]); err != nil {
		return 0, fmt.Errorf("preamble: %w", err)
	}
	_, minor, err = CutPreamble(preamble[:])
	return minor, err
}

// ReadFrame reads one frame. The frame owns its bytes. At a clean end between
// two frames it returns io.EOF; inside a frame, io.ErrUnexpectedEOF.
func (r *Reader) ReadFrame() (Frame, error) {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return nil, err
	}
	frameType := Type(r.header[0])
	length, err := r.readLength()
	if err != nil {
		return nil, fmt.Errorf("length of %s: %w", frameType, err)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r.r, body); err != nil {
		return nil, fmt.Errorf("body of %s: %w", frameType, unexpected(err))
	}
	return decodeFrame(frameType, body)
}

func (r *Reader) readLength() (int, error) {
	var length uint64
	for shift := 0; ; shift += 7 {
		if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
			return 0, unexpected(err)
		}
		length |= uint64(r.header[0]&0x7f) << shift
		if length > MaxFrame || shift >= 7*maxLengthSize {
			return 0, ErrTooLarge
		}
		if r.header[0] < 0x80 {
			return int(length), nil
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// AppendAll appends the encodings of frames in order.
func AppendAll(dst []byte, frames ...Frame) ([]byte, error) {
	var err error
	for _, f := range frames {
		if dst, err = Append(dst, f); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// DecodeAll decodes every frame of one message and calls take for each, in
// order. It stops at the first error of either.
func DecodeAll(message []byte, take func(Frame) error) error {
	for len(message) > 0 {
		f, rest, err := Decode(message)
		if err != nil {
			return err
		}
		if err := take(f); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// body reads the fields of a frame body and remembers the first fault.
type body struct {
	b   []byte
	bad error
}

func (d *body) uvarint(limit uint64) uint64 {
	if d.bad != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	switch {
	case n == 0:
		d.bad = ErrTruncated
		return 0
	case n < 0 || v > limit:
		d.bad = ErrMalformed
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *body) varint() int64 {
	if d.bad != nil {
		return 0
	}
	v, n := binary.Varint(d.b)
	switch {
	case n == 0:
		d.bad = ErrTruncated
		return 0
	case n < 0:
		d.bad = ErrMalformed
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *body) byte() byte {
	if d.bad != nil {
		return 0
	}
	if len(d.b) == 0 {
		d.bad = ErrTruncated
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *body) client() (c ClientID) {
	if d.bad != nil {
		return c
	}
	if len(d.b) < len(c) {
		d.bad = ErrTruncated
		return c
	}
	copy(c[:], d.b)
	d.b = d.b[len(c):]
	return c
}

// data reads a length-prefixed byte string of at most limit bytes.
func (d *body) data(limit int) []byte {
	n := int(d.uvarint(uint64(limit)))
	if d.bad != nil {
		return nil
	}
	if len(d.b) < n {
		d.bad = ErrTruncated
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func appendData(dst, data []byte, limit int) ([]byte, error) {
	if len(data) > limit {
		return dst, ErrTooLarge
	}
	return append(binary.AppendUvarint(dst, uint64(len(data))), data...), nil
}

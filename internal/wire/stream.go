package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
)

// Type is a frame's number on the wire. Numbers are never reused.
type Type uint8

// Frame types. "→ server" is what a host or viewer sends, "→ host" and
// "→ viewer" what the server sends. JSON bodies are the structs of the same
// name in control.go.
const (
	TypeHostHello     Type = 0x01 // host → server, JSON
	TypeHostWelcome   Type = 0x02 // server → host, JSON
	TypeSessionOpen   Type = 0x03 // host → server, JSON
	TypeSessionResume Type = 0x04 // server → host, JSON
	TypeSessionUpdate Type = 0x05 // host → server, holder → daemon, JSON
	TypeSessionClosed Type = 0x06 // host → server, JSON

	TypeViewerHello   Type = 0x08 // viewer → server, JSON
	TypeViewerWelcome Type = 0x09 // server → viewer, JSON
	TypeAttach        Type = 0x0a // viewer → server, JSON
	TypeAttached      Type = 0x0b // server → viewer, JSON
	TypeDetach        Type = 0x0c // viewer → server: handle
	TypeLive          Type = 0x0d // server → viewer, holder → client: handle, offset, marks
	TypeEvent         Type = 0x0e // server → viewer, JSON

	TypeOutput  Type = 0x10 // handle, offset, data: bytes to the end of the body
	TypeAck     Type = 0x11 // handle, offset
	TypeResize  Type = 0x12 // handle, offset, ordinal, columns, rows
	TypeGap     Type = 0x13 // handle, offset, lost
	TypeReset   Type = 0x14 // handle, offset, ordinal
	TypeExit    Type = 0x15 // handle, offset, code (zigzag varint), signal name (length-prefixed)
	TypeState   Type = 0x16 // handle, offset, marks, flags byte (1 first, 2 last), columns, rows, data: to the end
	TypeRepaint Type = 0x17 // handle, offset, marks, columns, rows, data: to the end

	TypeInput       Type = 0x20 // handle, client, seq, kind byte, age ms, sent ms, data: to the end
	TypeInputAck    Type = 0x21 // handle, client, seq, status byte
	TypeRetire      Type = 0x22 // handle, client
	TypeClaimSize   Type = 0x28 // handle, client, reason byte, columns, rows
	TypeReleaseSize Type = 0x29 // handle, client
	TypeSizeOwner   Type = 0x2a // handle, client, kind byte, columns, rows
	TypePresence    Type = 0x2b // handle, client, flags byte (1 visible, 2 focused)

	TypePage      Type = 0x30 // viewer → server, JSON
	TypePageReply Type = 0x31 // server → viewer, JSON
	TypeRPC       Type = 0x38 // JSON
	TypeRPCReply  Type = 0x39 // JSON

	TypeRestarting Type = 0x3c // server → all, JSON
	TypeProblem    Type = 0x3d // JSON
	TypePing       Type = 0x3e // nonce, sent ms
	TypePong       Type = 0x3f // nonce, sent ms

	TypeHolderHello   Type = 0x40 // client → holder, JSON
	TypeHolderWelcome Type = 0x41 // holder → client, JSON
	TypeHolderAttach  Type = 0x42 // client → holder, JSON

	// 0x50–0x5f are kept for asks, 0x60–0x6f for exec (DESIGN §3, §4).
)

// String is the frame's name, for errors and logs.
func (t Type) String() string {
	if entry, ok := frameTypes[t]; ok {
		return entry.name
	}
	return fmt.Sprintf("unknown frame 0x%02x", uint8(t))
}

// Position is how much of a session's stream has been taken in: bytes of
// output, and numbered marks between them.
type Position struct {
	Offset uint64 `json:"offset"`
	Marks  uint32 `json:"marks"`
}

// Before says whether p has something that q has not yet got past.
func (p Position) Before(q Position) bool {
	return p.Offset < q.Offset || (p.Offset == q.Offset && p.Marks < q.Marks)
}

// ClientID names one source of input: random, never shown, kept while input is
// unacknowledged.
type ClientID [16]byte

// String is the hex form used in JSON.
func (c ClientID) String() string { return hex.EncodeToString(c[:]) }

// IsZero says that no client is named.
func (c ClientID) IsZero() bool { return c == ClientID{} }

// MarshalText writes the hex form.
func (c ClientID) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the hex form; the empty string is the zero client.
func (c *ClientID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = ClientID{}
		return nil
	}
	if len(text) != 2*len(c) {
		return fmt.Errorf("client id: %w", ErrMalformed)
	}
	if _, err := hex.Decode(c[:], text); err != nil {
		return fmt.Errorf("client id: %w", ErrMalformed)
	}
	return nil
}

// Output is a run of a session's raw bytes; Offset is that of the first.
type Output struct {
	Handle uint32
	Offset uint64
	Data   []byte
}

// Ack says that every byte below Offset has been taken in: drawn by a
// viewer, fed to the terminal by the server, passed on by the daemon.
type Ack struct {
	Handle uint32
	Offset uint64
}

// Resize is the mark of a new terminal size, effective before the byte at
// Offset. Ordinal counts the session's marks from 1.
type Resize struct {
	Handle     uint32
	Offset     uint64
	Ordinal    uint32
	Cols, Rows uint16
}

// Gap says that this reader will not get Lost bytes from Offset on; a State or
// Repaint follows.
type Gap struct {
	Handle uint32
	Offset uint64
	Lost   uint64
}

// Reset is the mark of a terminal that was set back to its first state.
type Reset struct {
	Handle  uint32
	Offset  uint64
	Ordinal uint32
}

// Exit says that the program ended and its last byte is the one before Offset.
// Signal is the name (such as "SIGKILL"), empty when it exited with Code.
type Exit struct {
	Handle uint32
	Offset uint64
	Code   int32
	Signal string
}

// State is a piece of internal/vt state at a position. First begins a new
// state, Last ends it; a State that is neither follows its predecessor.
type State struct {
	Handle      uint32
	Position    Position
	First, Last bool
	Cols, Rows  uint16
	Data        []byte
}

// Repaint is terminal bytes that draw a session at a position onto a terminal
// just created or reset to Cols × Rows.
type Repaint struct {
	Handle     uint32
	Position   Position
	Cols, Rows uint16
	Data       []byte
}

// Live says that the receiver has caught up with the stream at Position.
type Live struct {
	Handle   uint32
	Position Position
}

// Detach ends an attachment. Nothing more is sent for the handle.
type Detach struct{ Handle uint32 }

// InputKind says how an Input's data becomes bytes for the PTY.
type InputKind uint8

// Kinds of input.
const (
	InputBytes  InputKind = 0 // written as they are: typed text, a physical key
	InputKeys   InputKind = 1 // names separated by one space, encoded by the modes of that moment
	InputPaste  InputKind = 2 // UTF-8 text: control characters removed, bracketed where the program asked for it
	InputSubmit InputKind = 3 // UTF-8 text, then the agent's pause, then Enter, as one operation
)

// Input is one thing that a person did. Seq counts a client's inputs from 1
// without gaps. Age is the milliseconds since it was typed when it was sent,
// Sent the milliseconds since the sender opened this connection.
type Input struct {
	Handle uint32
	Client ClientID
	Seq    uint64
	Kind   InputKind
	Age    uint32
	Sent   uint32
	Data   []byte
}

// InputStatus is what became of an input.
type InputStatus uint8

// Outcomes of an input. Every one but InputApplied means that nothing of it was
// written. After InputGap, InputHostOffline, and InputUnknownClient while its
// first input is still unanswered, the sender repeats what is pending, in order,
// as long as it is young enough; after any other it retires its client id.
const (
	InputApplied       InputStatus = 0 // the last byte was accepted by the PTY, now or earlier
	InputGap           InputStatus = 1 // an earlier input is missing; Seq is the last one applied
	InputUnknownClient InputStatus = 2 // the holder has not seen this client's first input
	InputLate          InputStatus = 3 // older than InputLifetime
	InputRetired       InputStatus = 4 // the answer to Retire, or a retired client; Seq is the last one applied
	InputBlocked       InputStatus = 5 // the program does not read and the queue is full
	InputEnded         InputStatus = 6 // the program has ended
	InputHostOffline   InputStatus = 7 // from the server: the host is not connected
	InputForbidden     InputStatus = 8 // scope, policy or lock
	InputInvalid       InputStatus = 9 // unknown key name, text that is not UTF-8, too large
)

// InputAck is the holder's word on an input, passed unchanged to its client.
type InputAck struct {
	Handle uint32
	Client ClientID
	Seq    uint64
	Status InputStatus
}

// Retire asks the holder never to apply anything of this client again and to
// say what it has applied. The sender may then put the rest back into a draft.
type Retire struct {
	Handle uint32
	Client ClientID
}

// ClaimReason says why a client wants the size.
type ClaimReason uint8

// Reasons to claim a size.
const (
	ClaimFit    ClaimReason = 0 // the person asked for it
	ClaimTyping ClaimReason = 1 // typing while no owner is present
	ClaimAttach ClaimReason = 2 // a local terminal attached
	ClaimResize ClaimReason = 3 // the owner's own window changed
)

// ClaimSize asks the holder for the size. Only the holder decides.
type ClaimSize struct {
	Handle     uint32
	Client     ClientID
	Reason     ClaimReason
	Cols, Rows uint16
}

// ReleaseSize gives the size back; the previous owner's size returns.
type ReleaseSize struct {
	Handle uint32
	Client ClientID
}

// OwnerKind is what sort of client owns a size.
type OwnerKind uint8

// Kinds of owner.
const (
	OwnerNone   OwnerKind = 0
	OwnerViewer OwnerKind = 1
	OwnerLocal  OwnerKind = 2
)

// SizeOwner tells everybody who owns the size now.
type SizeOwner struct {
	Handle     uint32
	Client     ClientID
	Kind       OwnerKind
	Cols, Rows uint16
}

// Presence is a sign of life of a person at a client. It expires after
// PresenceLifetime.
type Presence struct {
	Handle  uint32
	Client  ClientID
	Visible bool
	Focused bool
}

// Ping asks for a Pong with the same nonce. Sent is the milliseconds since the
// sender opened the connection.
type Ping struct {
	Nonce uint64
	Sent  uint32
}

// Pong answers a Ping.
type Pong struct {
	Nonce uint64
	Sent  uint32
}

func (f *Output) Type() Type      { return TypeOutput }
func (f *Ack) Type() Type         { return TypeAck }
func (f *Resize) Type() Type      { return TypeResize }
func (f *Gap) Type() Type         { return TypeGap }
func (f *Reset) Type() Type       { return TypeReset }
func (f *Exit) Type() Type        { return TypeExit }
func (f *State) Type() Type       { return TypeState }
func (f *Repaint) Type() Type     { return TypeRepaint }
func (f *Live) Type() Type        { return TypeLive }
func (f *Detach) Type() Type      { return TypeDetach }
func (f *Input) Type() Type       { return TypeInput }
func (f *InputAck) Type() Type    { return TypeInputAck }
func (f *Retire) Type() Type      { return TypeRetire }
func (f *ClaimSize) Type() Type   { return TypeClaimSize }
func (f *ReleaseSize) Type() Type { return TypeReleaseSize }
func (f *SizeOwner) Type() Type   { return TypeSizeOwner }
func (f *Presence) Type() Type    { return TypePresence }
func (f *Ping) Type() Type        { return TypePing }
func (f *Pong) Type() Type        { return TypePong }

const (
	stateFirst = 1
	stateLast  = 2

	presenceVisible = 1
	presenceFocused = 2

	maxSignalName = 32
)

func appendHandle(dst []byte, handle uint32) []byte {
	return binary.AppendUvarint(dst, uint64(handle))
}

func (d *body) handle() uint32 { return uint32(d.uvarint(math.MaxUint32)) }
func (d *body) offset() uint64 { return d.uvarint(math.MaxUint64) }
func (d *body) count() uint32  { return uint32(d.uvarint(math.MaxUint32)) }
func (d *body) size() (cols, rows uint16) {
	cols, rows = uint16(d.uvarint(MaxColumns)), uint16(d.uvarint(MaxRows))
	if d.bad == nil && (cols == 0 || rows == 0) {
		d.bad = ErrMalformed
	}
	return cols, rows
}

// ownerSize reads a size that is 0 × 0 when there is no owner.
func (d *body) ownerSize() (cols, rows uint16) {
	return uint16(d.uvarint(MaxColumns)), uint16(d.uvarint(MaxRows))
}

func appendSize(dst []byte, cols, rows uint16) ([]byte, error) {
	if cols == 0 || rows == 0 || cols > MaxColumns || rows > MaxRows {
		return dst, ErrMalformed
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(cols)), uint64(rows)), nil
}

func appendPosition(dst []byte, p Position) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, p.Offset), uint64(p.Marks))
}

func (f *Output) appendBody(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(appendHandle(dst, f.Handle), f.Offset)
	return append(dst, f.Data...), nil
}

func (f *Output) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Offset = d.handle(), d.offset()
	f.Data = d.b
	if d.bad == nil && f.Offset > math.MaxUint64-uint64(len(f.Data)) {
		d.bad = ErrMalformed
	}
	return d.bad
}

func (f *Ack) appendBody(dst []byte) ([]byte, error) {
	return binary.AppendUvarint(appendHandle(dst, f.Handle), f.Offset), nil
}

func (f *Ack) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Offset = d.handle(), d.offset()
	return d.bad
}

func (f *Resize) appendBody(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(appendHandle(dst, f.Handle), f.Offset)
	return appendSize(binary.AppendUvarint(dst, uint64(f.Ordinal)), f.Cols, f.Rows)
}

func (f *Resize) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Offset, f.Ordinal = d.handle(), d.offset(), d.count()
	f.Cols, f.Rows = d.size()
	return d.bad
}

func (f *Gap) appendBody(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(appendHandle(dst, f.Handle), f.Offset)
	return binary.AppendUvarint(dst, f.Lost), nil
}

func (f *Gap) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Offset, f.Lost = d.handle(), d.offset(), d.offset()
	if d.bad == nil && f.Offset > math.MaxUint64-f.Lost {
		d.bad = ErrMalformed
	}
	return d.bad
}

func (f *Reset) appendBody(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(appendHandle(dst, f.Handle), f.Offset)
	return binary.AppendUvarint(dst, uint64(f.Ordinal)), nil
}

func (f *Reset) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Offset, f.Ordinal = d.handle(), d.offset(), d.count()
	return d.bad
}

func (f *Exit) appendBody(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(appendHandle(dst, f.Handle), f.Offset)
	return appendData(binary.AppendVarint(dst, int64(f.Code)), []byte(f.Signal), maxSignalName)
}

func (f *Exit) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Offset = d.handle(), d.offset()
	code := d.varint()
	f.Signal = string(d.data(maxSignalName))
	if d.bad == nil && (code > math.MaxInt32 || code < math.MinInt32) {
		d.bad = ErrMalformed
	}
	f.Code = int32(code)
	return d.bad
}

func (f *State) appendBody(dst []byte) ([]byte, error) {
	if len(f.Data) > MaxStateChunk {
		return dst, ErrTooLarge
	}
	var flags byte
	if f.First {
		flags |= stateFirst
	}
	if f.Last {
		flags |= stateLast
	}
	dst = append(appendPosition(appendHandle(dst, f.Handle), f.Position), flags)
	dst, err := appendSize(dst, f.Cols, f.Rows)
	if err != nil {
		return dst, err
	}
	return append(dst, f.Data...), nil
}

func (f *State) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle = d.handle()
	f.Position = Position{Offset: d.offset(), Marks: d.count()}
	flags := d.byte()
	f.First, f.Last = flags&stateFirst != 0, flags&stateLast != 0
	f.Cols, f.Rows = d.size()
	f.Data = d.b
	if d.bad == nil && len(f.Data) > MaxStateChunk {
		return ErrTooLarge
	}
	return d.bad
}

func (f *Repaint) appendBody(dst []byte) ([]byte, error) {
	if len(f.Data) > MaxRepaint {
		return dst, ErrTooLarge
	}
	dst, err := appendSize(appendPosition(appendHandle(dst, f.Handle), f.Position), f.Cols, f.Rows)
	if err != nil {
		return dst, err
	}
	return append(dst, f.Data...), nil
}

func (f *Repaint) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle = d.handle()
	f.Position = Position{Offset: d.offset(), Marks: d.count()}
	f.Cols, f.Rows = d.size()
	f.Data = d.b
	if d.bad == nil && len(f.Data) > MaxRepaint {
		return ErrTooLarge
	}
	return d.bad
}

func (f *Live) appendBody(dst []byte) ([]byte, error) {
	return appendPosition(appendHandle(dst, f.Handle), f.Position), nil
}

func (f *Live) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle = d.handle()
	f.Position = Position{Offset: d.offset(), Marks: d.count()}
	return d.bad
}

func (f *Detach) appendBody(dst []byte) ([]byte, error) { return appendHandle(dst, f.Handle), nil }

func (f *Detach) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle = d.handle()
	return d.bad
}

func (f *Input) appendBody(dst []byte) ([]byte, error) {
	if len(f.Data) > MaxInput {
		return dst, ErrTooLarge
	}
	dst = append(appendHandle(dst, f.Handle), f.Client[:]...)
	dst = append(binary.AppendUvarint(dst, f.Seq), byte(f.Kind))
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(f.Age)), uint64(f.Sent))
	return append(dst, f.Data...), nil
}

func (f *Input) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client, f.Seq = d.handle(), d.client(), d.offset()
	f.Kind = InputKind(d.byte())
	f.Age, f.Sent = d.count(), d.count()
	f.Data = d.b
	if d.bad == nil && len(f.Data) > MaxInput {
		return ErrTooLarge
	}
	if d.bad == nil && f.Seq == 0 {
		return ErrMalformed
	}
	return d.bad
}

func (f *InputAck) appendBody(dst []byte) ([]byte, error) {
	dst = append(appendHandle(dst, f.Handle), f.Client[:]...)
	return append(binary.AppendUvarint(dst, f.Seq), byte(f.Status)), nil
}

func (f *InputAck) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client, f.Seq = d.handle(), d.client(), d.offset()
	f.Status = InputStatus(d.byte())
	return d.bad
}

func (f *Retire) appendBody(dst []byte) ([]byte, error) {
	return append(appendHandle(dst, f.Handle), f.Client[:]...), nil
}

func (f *Retire) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client = d.handle(), d.client()
	return d.bad
}

func (f *ClaimSize) appendBody(dst []byte) ([]byte, error) {
	dst = append(appendHandle(dst, f.Handle), f.Client[:]...)
	return appendSize(append(dst, byte(f.Reason)), f.Cols, f.Rows)
}

func (f *ClaimSize) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client = d.handle(), d.client()
	f.Reason = ClaimReason(d.byte())
	f.Cols, f.Rows = d.size()
	return d.bad
}

func (f *ReleaseSize) appendBody(dst []byte) ([]byte, error) {
	return append(appendHandle(dst, f.Handle), f.Client[:]...), nil
}

func (f *ReleaseSize) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client = d.handle(), d.client()
	return d.bad
}

func (f *SizeOwner) appendBody(dst []byte) ([]byte, error) {
	if f.Cols > MaxColumns || f.Rows > MaxRows {
		return dst, ErrMalformed
	}
	dst = append(appendHandle(dst, f.Handle), f.Client[:]...)
	dst = binary.AppendUvarint(append(dst, byte(f.Kind)), uint64(f.Cols))
	return binary.AppendUvarint(dst, uint64(f.Rows)), nil
}

func (f *SizeOwner) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client = d.handle(), d.client()
	f.Kind = OwnerKind(d.byte())
	f.Cols, f.Rows = d.ownerSize()
	return d.bad
}

func (f *Presence) appendBody(dst []byte) ([]byte, error) {
	var flags byte
	if f.Visible {
		flags |= presenceVisible
	}
	if f.Focused {
		flags |= presenceFocused
	}
	return append(append(appendHandle(dst, f.Handle), f.Client[:]...), flags), nil
}

func (f *Presence) decodeBody(b []byte) error {
	d := body{b: b}
	f.Handle, f.Client = d.handle(), d.client()
	flags := d.byte()
	f.Visible, f.Focused = flags&presenceVisible != 0, flags&presenceFocused != 0
	return d.bad
}

func (f *Ping) appendBody(dst []byte) ([]byte, error) {
	return binary.AppendUvarint(binary.AppendUvarint(dst, f.Nonce), uint64(f.Sent)), nil
}

func (f *Ping) decodeBody(b []byte) error {
	d := body{b: b}
	f.Nonce, f.Sent = d.offset(), d.count()
	return d.bad
}

func (f *Pong) appendBody(dst []byte) ([]byte, error) {
	return binary.AppendUvarint(binary.AppendUvarint(dst, f.Nonce), uint64(f.Sent)), nil
}

func (f *Pong) decodeBody(b []byte) error {
	d := body{b: b}
	f.Nonce, f.Sent = d.offset(), d.count()
	return d.bad
}

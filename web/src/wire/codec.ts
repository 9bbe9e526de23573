import { BodyReader, BodyWriter, WireError } from './bytes'
import type { Frame, FrameOf, FrameType, Position } from './frames'
import { Shape } from './json'
import { magic, maxFrame, maxInput, maxRepaint, maxSignalName, versionMajor, versionMinor } from './limits'

interface Layout<T extends FrameType> {
  number: number
  encode(frame: FrameOf<T>, body: BodyWriter): void
  decode(body: BodyReader): Omit<FrameOf<T>, 'type'>
}

const strict = new TextDecoder('utf-8', { fatal: true })
const encoder = new TextEncoder()

function readJSON(body: BodyReader, what: string): Shape {
  let value: unknown
  try {
    value = JSON.parse(strict.decode(body.rest()))
  } catch {
    throw new WireError('malformed', what)
  }
  return Shape.of(value, what)
}

function writeJSON(body: BodyWriter, value: object): void {
  body.raw(encoder.encode(JSON.stringify(value)))
}

function count(shape: Shape, name: string, fallback?: number): number {
  const value = shape.number(name, fallback)
  if (!Number.isSafeInteger(value) || value < 0) throw new WireError('malformed', name)
  return value
}

function readPosition(body: BodyReader): Position {
  return { offset: body.offset(), marks: body.count() }
}

function writePosition(body: BodyWriter, position: Position): BodyWriter {
  return body.uvarint(position.offset).uvarint(position.marks)
}

const visibleFlag = 1
const focusedFlag = 2

const layouts: { [T in Exclude<FrameType, 'unknown'>]: Layout<T> } = {
  viewer_hello: {
    number: 0x08,
    encode: (f, body) =>
      writeJSON(body, { version: f.version, proof: f.proof || undefined, visible: f.visible }),
    decode(body) {
      const json = readJSON(body, 'ViewerHello')
      return {
        version: json.string('version'),
        proof: json.string('proof', ''),
        visible: json.boolean('visible'),
      }
    },
  },
  viewer_welcome: {
    number: 0x09,
    encode: (f, body) =>
      writeJSON(body, { version: f.version, instance: f.instance, device: f.device, scopes: f.scopes }),
    decode(body) {
      const json = readJSON(body, 'ViewerWelcome')
      const scopes = json.list('scopes', (scope) => {
        if (typeof scope !== 'string') throw new WireError('malformed', 'ViewerWelcome.scopes')
        return scope
      })
      return {
        version: json.string('version', ''),
        instance: json.string('instance', ''),
        device: json.string('device', ''),
        scopes,
      }
    },
  },
  attach: {
    number: 0x0a,
    encode: (f, body) =>
      writeJSON(body, {
        handle: f.handle,
        host: f.host,
        session: f.session,
        from: f.from ?? undefined,
        client: f.client,
        visible: f.visible,
      }),
    decode(body) {
      const json = readJSON(body, 'Attach')
      return {
        handle: count(json, 'handle'),
        host: json.string('host'),
        session: json.string('session'),
        from: json.optional('from', (value) => {
          const from = Shape.of(value, 'Attach.from')
          return { offset: count(from, 'offset'), marks: count(from, 'marks') }
        }),
        client: json.string('client', ''),
        visible: json.boolean('visible'),
      }
    },
  },
  attached: {
    number: 0x0b,
    encode: (f, body) =>
      writeJSON(body, {
        handle: f.handle,
        mode: f.mode,
        cols: f.cols,
        rows: f.rows,
        prompt: f.prompt || undefined,
      }),
    decode(body) {
      const json = readJSON(body, 'Attached')
      return {
        handle: count(json, 'handle'),
        mode: json.word('mode', ['delta', 'repaint'] as const, 'repaint'),
        cols: count(json, 'cols'),
        rows: count(json, 'rows'),
        prompt: json.string('prompt', ''),
      }
    },
  },
  detach: {
    number: 0x0c,
    encode: (f, body) => void body.uvarint(f.handle),
    decode: (body) => ({ handle: body.count() }),
  },
  live: {
    number: 0x0d,
    encode: (f, body) => void writePosition(body.uvarint(f.handle), f.position),
    decode: (body) => ({ handle: body.count(), position: readPosition(body) }),
  },
  event: {
    number: 0x0e,
    encode: (f, body) => writeJSON(body, { kind: f.kind, body: f.body }),
    decode(body) {
      const json = readJSON(body, 'Event')
      return { kind: json.string('kind'), body: json.raw('body') ?? null }
    },
  },
  output: {
    number: 0x10,
    encode: (f, body) => void body.uvarint(f.handle).uvarint(f.offset).raw(f.data),
    decode(body) {
      const [handle, offset, data] = [body.count(), body.offset(), body.rest()]
      if (offset > Number.MAX_SAFE_INTEGER - data.length) throw new WireError('malformed', 'Output')
      return { handle, offset, data }
    },
  },
  ack: {
    number: 0x11,
    encode: (f, body) => void body.uvarint(f.handle).uvarint(f.offset),
    decode: (body) => ({ handle: body.count(), offset: body.offset() }),
  },
  resize: {
    number: 0x12,
    encode: (f, body) =>
      void body.uvarint(f.handle).uvarint(f.offset).uvarint(f.ordinal).size(f.cols, f.rows),
    decode: (body) => ({
      handle: body.count(),
      offset: body.offset(),
      ordinal: body.count(),
      ...body.size(),
    }),
  },
  gap: {
    number: 0x13,
    encode: (f, body) => void body.uvarint(f.handle).uvarint(f.offset).uvarint(f.lost),
    decode: (body) => ({ handle: body.count(), offset: body.offset(), lost: body.offset() }),
  },
  reset: {
    number: 0x14,
    encode: (f, body) => void body.uvarint(f.handle).uvarint(f.offset).uvarint(f.ordinal),
    decode: (body) => ({ handle: body.count(), offset: body.offset(), ordinal: body.count() }),
  },
  exit: {
    number: 0x15,
    encode: (f, body) => void body.uvarint(f.handle).uvarint(f.offset).varint32(f.code).string(f.signal),
    decode: (body) => ({
      handle: body.count(),
      offset: body.offset(),
      code: body.varint32(),
      signal: body.string(maxSignalName),
    }),
  },
  repaint: {
    number: 0x17,
    encode: (f, body) =>
      void writePosition(body.uvarint(f.handle), f.position).size(f.cols, f.rows).raw(f.data),
    decode: (body) => ({
      handle: body.count(),
      position: readPosition(body),
      ...body.size(),
      data: body.rest(maxRepaint),
    }),
  },
  input: {
    number: 0x20,
    encode(f, body) {
      if (f.data.length > maxInput) throw new WireError('too_large', 'Input')
      body.uvarint(f.handle).client(f.client).uvarint(f.seq).byte(f.kind).uvarint(f.age).uvarint(f.sent)
      body.raw(f.data)
    },
    decode(body) {
      const frame = {
        handle: body.count(),
        client: body.client(),
        seq: body.offset(),
        kind: body.byte(),
        age: body.count(),
        sent: body.count(),
        data: body.rest(maxInput),
      }
      if (frame.seq === 0) throw new WireError('malformed', 'Input')
      return frame
    },
  },
  input_ack: {
    number: 0x21,
    encode: (f, body) => void body.uvarint(f.handle).client(f.client).uvarint(f.seq).byte(f.status),
    decode: (body) => ({
      handle: body.count(),
      client: body.client(),
      seq: body.offset(),
      status: body.byte(),
    }),
  },
  retire: {
    number: 0x22,
    encode: (f, body) => void body.uvarint(f.handle).client(f.client),
    decode: (body) => ({ handle: body.count(), client: body.client() }),
  },
  claim_size: {
    number: 0x28,
    encode: (f, body) => void body.uvarint(f.handle).client(f.client).byte(f.reason).size(f.cols, f.rows),
    decode: (body) => ({
      handle: body.count(),
      client: body.client(),
      reason: body.byte(),
      ...body.size(),
    }),
  },
  release_size: {
    number: 0x29,
    encode: (f, body) => void body.uvarint(f.handle).client(f.client),
    decode: (body) => ({ handle: body.count(), client: body.client() }),
  },
  size_owner: {
    number: 0x2a,
    encode: (f, body) =>
      void body.uvarint(f.handle).client(f.client).byte(f.kind).uvarint(f.cols).uvarint(f.rows),
    decode: (body) => ({
      handle: body.count(),
      client: body.client(),
      kind: body.byte(),
      ...body.ownerSize(),
    }),
  },
  presence: {
    number: 0x2b,
    encode: (f, body) =>
      void body
        .uvarint(f.handle)
        .client(f.client)
        .byte((f.visible ? visibleFlag : 0) | (f.focused ? focusedFlag : 0)),
    decode(body) {
      const [handle, client, flags] = [body.count(), body.client(), body.byte()]
      return { handle, client, visible: (flags & visibleFlag) !== 0, focused: (flags & focusedFlag) !== 0 }
    },
  },
  page: {
    number: 0x30,
    encode: (f, body) =>
      writeJSON(body, { handle: f.handle, request: f.request, before: f.before, max: f.max }),
    decode(body) {
      const json = readJSON(body, 'Page')
      return {
        handle: count(json, 'handle'),
        request: count(json, 'request'),
        before: count(json, 'before'),
        max: count(json, 'max'),
      }
    },
  },
  page_reply: {
    number: 0x31,
    encode: (f, body) =>
      writeJSON(body, {
        handle: f.handle,
        request: f.request,
        body: f.body ?? undefined,
        error: f.error || undefined,
      }),
    decode(body) {
      const json = readJSON(body, 'PageReply')
      return {
        handle: count(json, 'handle'),
        request: count(json, 'request'),
        body: json.raw('body') ?? null,
        error: json.string('error', ''),
      }
    },
  },
  restarting: {
    number: 0x3c,
    encode: (f, body) => writeJSON(body, { after_ms: f.afterMs }),
    decode: (body) => ({ afterMs: count(readJSON(body, 'Restarting'), 'after_ms') }),
  },
  problem: {
    number: 0x3d,
    encode: (f, body) => writeJSON(body, { handle: f.handle || undefined, code: f.code, message: f.message }),
    decode(body) {
      const json = readJSON(body, 'Problem')
      return {
        handle: count(json, 'handle', 0),
        code: json.string('code'),
        message: json.string('message', ''),
      }
    },
  },
  ping: {
    number: 0x3e,
    encode: (f, body) => void body.uvarint64(f.nonce).uvarint(f.sent),
    decode: (body) => ({ nonce: body.uvarint64(), sent: body.count() }),
  },
  pong: {
    number: 0x3f,
    encode: (f, body) => void body.uvarint64(f.nonce).uvarint(f.sent),
    decode: (body) => ({ nonce: body.uvarint64(), sent: body.count() }),
  },
}

const typeByNumber = new Map(
  Object.entries(layouts).map(([type, layout]) => [layout.number, type as FrameType]),
)

function layoutOf<T extends FrameType>(type: T): Layout<T> {
  // One cast where a type is looked up by a number: the table above pairs every layout with its own type.
  return layouts[type as Exclude<FrameType, 'unknown'>] as unknown as Layout<T>
}

/** The six bytes that open each direction. */
export function encodePreamble(): Uint8Array<ArrayBuffer> {
  return new BodyWriter().raw(encoder.encode(magic)).byte(versionMajor).byte(versionMinor).finish()
}

/** Checks the preamble at the start of message and returns what follows it. */
export function cutPreamble(message: Uint8Array): Uint8Array {
  const size = magic.length + 2
  if (message.length < size) throw new WireError('truncated', 'preamble')
  for (let i = 0; i < magic.length; i++) {
    if (message[i] !== magic.charCodeAt(i)) throw new WireError('magic', 'preamble')
  }
  const [major, minor] = [message[magic.length], message[magic.length + 1]]
  if (major !== versionMajor || minor === undefined || Math.abs(minor - versionMinor) > 1) {
    throw new WireError('version', `preamble ${major}.${minor}`)
  }
  return message.subarray(size)
}

/** Encodes frames one behind the other, as one message. */
export function encode(...frames: Exclude<Frame, { type: 'unknown' }>[]): Uint8Array<ArrayBuffer> {
  const message = new BodyWriter()
  for (const frame of frames) {
    const layout = layoutOf(frame.type)
    const writer = new BodyWriter()
    layout.encode(frame, writer)
    const body = writer.finish()
    if (body.length > maxFrame) throw new WireError('too_large', frame.type)
    message.byte(layout.number).uvarint(body.length).raw(body)
  }
  return message.finish()
}

/** Decodes the first frame of message and returns it with what follows. Byte fields alias message. */
export function decode(message: Uint8Array): { frame: Frame; rest: Uint8Array } {
  const head = new BodyReader(message, 'frame')
  const number = head.byte()
  const length = head.uvarint()
  if (length > maxFrame) throw new WireError('too_large', 'frame')
  const tail = head.rest()
  if (tail.length < length) throw new WireError('truncated', 'frame')
  const type = typeByNumber.get(number)
  const rest = tail.subarray(length)
  if (type === undefined) return { frame: { type: 'unknown', number }, rest }
  const fields = layoutOf(type).decode(new BodyReader(tail.subarray(0, length), type))
  return { frame: { type, ...fields } as Frame, rest }
}

/** Decodes every frame of one message, in order. */
export function decodeAll(message: Uint8Array): Frame[] {
  const frames: Frame[] = []
  while (message.length > 0) {
    const { frame, rest } = decode(message)
    frames.push(frame)
    message = rest
  }
  return frames
}

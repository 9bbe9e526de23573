import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cutPreamble, decode, decodeAll, encode, encodePreamble, toHex, WireError, type Frame } from '.'

const testdata = resolve(__dirname, '../../../internal/wire/testdata')

type Fields = Record<string, unknown>

/** Reads an annotated hex file: its "# json:" line and its bytes. Nonces need all their bits, so they stay text. */
function golden(file: string): { fields: Fields; message: Uint8Array } {
  const [header = '', ...lines] = readFileSync(resolve(testdata, file), 'utf8').trimEnd().split('\n')
  const json = header.replace('# json: ', '').replace(/"nonce":(\d+)/, '"nonce":"$1"')
  const digits = lines.filter((line) => !line.startsWith('#')).flatMap((line) => line.trim().split(/\s+/))
  return {
    fields: JSON.parse(json) as Fields,
    message: Uint8Array.from(digits.filter(Boolean), (byte) => Number.parseInt(byte, 16)),
  }
}

/** A decoded frame as the goldens write it. */
function asGolden(frame: Frame): Fields {
  const fields: Fields = {}
  for (const [name, value] of Object.entries(frame)) {
    if (name === 'type')
      fields.type = String(value).replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase())
    else if (value instanceof Uint8Array) fields[name] = toHex(value)
    else if (typeof value === 'bigint') fields[name] = value.toString()
    else if (name === 'afterMs') fields.after_ms = value
    else fields[name] = value
  }
  return fields
}

/** JSON leaves empty fields out; decoded frames always have them. */
function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== '' && value !== null && value !== 0),
  )
}

const viewerDialect = [
  'viewer-hello', 'viewer-welcome', 'attach', 'attached', 'detach', 'live', 'event', 'output', 'ack', 'resize', 'gap',
  'reset', 'exit', 'repaint', 'input', 'input-ack', 'retire', 'claim-size', 'release-size', 'size-owner', 'presence',
  'page', 'page-reply', 'restarting', 'problem', 'ping', 'pong',
] // prettier-ignore
const files = readdirSync(testdata).filter((file) => file.endsWith('.hex') && !file.startsWith('preamble'))
const stem = (file: string) => file.replace(/-v\d+\.hex$/, '')

describe('codec/goldens', () => {
  it('has one for every frame of the viewer dialect', () => {
    expect(files.map(stem)).toEqual(expect.arrayContaining(viewerDialect))
  })

  for (const file of files) {
    const { fields, message } = golden(file)
    if (!viewerDialect.includes(stem(file))) {
      it(`skips ${file}, which no viewer receives`, () => {
        const { frame, rest } = decode(message)
        expect(frame).toEqual({ type: 'unknown', number: message[0] })
        expect(rest).toHaveLength(0)
      })
      continue
    }

    it(`decodes ${file}`, () => {
      const { frame, rest } = decode(message)
      expect(rest).toHaveLength(0)
      expect(withoutEmpty(asGolden(frame))).toEqual(withoutEmpty(fields))
    })

    it(`encodes ${file}`, () => {
      const { frame } = decode(message)
      if (frame.type === 'unknown') throw new Error('a known frame')
      const encoded = encode(frame)
      expect(decode(encoded).frame).toEqual(frame)
      if (!message.includes(0x7b)) expect(toHex(encoded)).toBe(toHex(message))
    })

    it(`refuses ${file} cut at every byte`, () => {
      for (let length = 0; length < message.length; length++) {
        expect(() => decode(message.subarray(0, length))).toThrow(WireError)
      }
    })

    it(`never reads past ${file} with every body length`, () => {
      const body = message.subarray(message.length - bodyLength(message))
      for (let length = 0; length < body.length; length++) {
        const shorter = Uint8Array.from([message[0]!, ...varint(length), ...body.subarray(0, length), 0xff])
        try {
          expect(decode(shorter).rest).toEqual(Uint8Array.of(0xff))
        } catch (error) {
          expect(error).toBeInstanceOf(WireError)
        }
      }
    })

    it(`ignores what follows the last field of ${file}`, () => {
      const { frame } = decode(message)
      const open = ['output', 'input', 'repaint'].includes(frame.type) || message.includes(0x7b)
      if (open) return
      const body = message.subarray(message.length - bodyLength(message))
      const longer = Uint8Array.from([message[0]!, ...varint(body.length + 2), ...body, 1, 2])
      expect(decode(longer).frame).toEqual(frame)
    })
  }
})

function varint(value: number): number[] {
  const bytes = []
  for (; value >= 0x80; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80)
  return [...bytes, value]
}

function bodyLength(message: Uint8Array): number {
  let [length, scale, at] = [0, 1, 1]
  for (;;) {
    const byte = message[at++]!
    length += (byte & 0x7f) * scale
    if (byte < 0x80) return length
    scale *= 128
  }
}

describe('codec/limits', () => {
  it('refuses a length above the limit before it looks for the body', () => {
    expect(() => decode(Uint8Array.of(0x10, ...varint((1 << 20) + 1)))).toThrow(/too large/)
  })

  it('refuses an offset that cannot be held exactly', () => {
    const offset = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10] // 2^53
    expect(() => decode(Uint8Array.of(0x11, 9, 1, ...offset))).toThrow(/malformed/)
    const largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]
    expect(decode(Uint8Array.of(0x11, 9, 1, ...largest)).frame).toEqual({
      type: 'ack',
      handle: 1,
      offset: Number.MAX_SAFE_INTEGER,
    })
    expect(() => decode(Uint8Array.of(0x10, 10, 1, ...largest, 7))).toThrow(/malformed/)
  })

  it('refuses a varint that never ends', () => {
    expect(() => decode(Uint8Array.of(0x11, 12, 1, ...Array<number>(11).fill(0x80)))).toThrow(/malformed/)
  })

  it('keeps all 64 bits of a nonce', () => {
    const ping: Frame = { type: 'ping', nonce: 0xffff_ffff_ffff_ffffn, sent: 1 }
    expect(decode(encode(ping)).frame).toEqual(ping)
  })

  it('refuses to send what the other end would refuse', () => {
    const client = '00'.repeat(16)
    expect(() =>
      encode({
        type: 'input',
        handle: 1,
        client,
        seq: 1,
        kind: 0,
        age: 0,
        sent: 0,
        data: new Uint8Array((256 << 10) + 1),
      }),
    ).toThrow(/too large/)
    expect(() => encode({ type: 'claim_size', handle: 1, client, reason: 0, cols: 0, rows: 24 })).toThrow(
      /malformed/,
    )
    expect(() => encode({ type: 'retire', handle: 1, client: 'short' })).toThrow(/malformed/)
  })

  it('refuses JSON that is not an object, not UTF-8 or has fields of another type', () => {
    const frame = (text: string) => Uint8Array.of(0x3d, text.length, ...new TextEncoder().encode(text))
    for (const body of ['[]', 'null', '7', '{', '{"code":7,"message":""}', '{"code":"x","handle":-1}']) {
      expect(() => decode(frame(body)), body).toThrow(WireError)
    }
    expect(() => decode(Uint8Array.of(0x3d, 2, 0xff, 0xfe))).toThrow(WireError)
  })
})

describe('codec/messages', () => {
  it('reads several frames and skips the ones it does not know', () => {
    const frames: Frame[] = [
      { type: 'live', handle: 3, position: { offset: 4, marks: 5 } },
      { type: 'detach', handle: 3 },
    ]
    const [first, second] = frames.map((frame) => encode(frame as Exclude<Frame, { type: 'unknown' }>))
    const message = Uint8Array.from([...first!, 0x7f, 3, 1, 2, 3, ...second!])
    expect(decodeAll(message)).toEqual([frames[0], { type: 'unknown', number: 0x7f }, frames[1]])
  })

  it('survives random bytes', () => {
    let seed = 7
    const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 8
    for (let round = 0; round < 3000; round++) {
      const message = Uint8Array.from({ length: random() % 40 }, () => random() & 0xff)
      try {
        decodeAll(message)
      } catch (error) {
        expect(error).toBeInstanceOf(WireError)
      }
    }
  })
})

describe('preamble', () => {
  it('is the golden one and is cut', () => {
    const { message } = golden('preamble-v1.hex')
    expect(toHex(encodePreamble())).toBe(toHex(message))
    expect(cutPreamble(Uint8Array.from([...message, 9]))).toEqual(Uint8Array.of(9))
  })

  it('is refused when it is short, foreign or of another version', () => {
    const message = encodePreamble()
    for (let length = 0; length < message.length; length++) {
      expect(() => cutPreamble(message.subarray(0, length))).toThrow(/truncated/)
    }
    expect(() => cutPreamble(Uint8Array.of(0x58, ...message.subarray(1)))).toThrow(/magic/)
    for (const [major, minor, fits] of [
      [1, 1, true],
      [1, 2, false],
      [2, 0, false],
      [0, 0, false],
    ] as const) {
      const changed = Uint8Array.of(...message.subarray(0, 4), major, minor)
      if (fits) expect(() => cutPreamble(changed)).not.toThrow()
      else expect(() => cutPreamble(changed)).toThrow(/version/)
    }
  })
})

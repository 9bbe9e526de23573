import { maxSide } from './limits'

/** Why bytes are not a frame. The connection that carried them is closed. */
export class WireError extends Error {
  override readonly name = 'WireError'
  constructor(
    readonly reason: 'truncated' | 'too_large' | 'malformed' | 'magic' | 'version',
    what: string,
  ) {
    super(`${what}: ${reason.replace('_', ' ')}`)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
const encoder = new TextEncoder()

/** Reads the fields of a body from front to back and never past its end. */
export class BodyReader {
  private at = 0

  constructor(
    private readonly bytes: Uint8Array,
    private readonly what: string,
  ) {}

  private fail(reason: 'truncated' | 'too_large' | 'malformed'): never {
    throw new WireError(reason, this.what)
  }

  get left(): number {
    return this.bytes.length - this.at
  }

  byte(): number {
    const value = this.bytes[this.at]
    if (value === undefined) this.fail('truncated')
    this.at++
    return value
  }

  /** An unsigned varint of at most limit. Numbers above 2^53 − 1 cannot be held exactly and are refused. */
  uvarint(limit = Number.MAX_SAFE_INTEGER): number {
    let value = 0
    let scale = 1
    for (let length = 1; length <= 10; length++) {
      const next = this.byte()
      value += (next & 0x7f) * scale
      if (value > limit) this.fail('malformed')
      if (next < 0x80) return value
      scale *= 128
    }
    this.fail('malformed')
  }

  /** An unsigned varint with all its 64 bits. */
  uvarint64(): bigint {
    let value = 0n
    for (let length = 0n; length < 10n; length++) {
      const next = this.byte()
      value |= BigInt(next & 0x7f) << (7n * length)
      if (next < 0x80) {
        if (value > 0xffff_ffff_ffff_ffffn) this.fail('malformed')
        return value
      }
    }
    this.fail('malformed')
  }

  /** A zigzag varint of 32 bits. */
  varint32(): number {
    const raw = this.uvarint(0xffff_ffff)
    return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2
  }

  /** A 32-bit number: a handle, an ordinal, milliseconds. */
  count(): number {
    return this.uvarint(0xffff_ffff)
  }

  offset(): number {
    return this.uvarint()
  }

  size(): { cols: number; rows: number } {
    const size = this.ownerSize()
    if (size.cols === 0 || size.rows === 0) this.fail('malformed')
    return size
  }

  /** A size that is 0 × 0 when there is no owner. */
  ownerSize(): { cols: number; rows: number } {
    return { cols: this.uvarint(maxSide), rows: this.uvarint(maxSide) }
  }

  /** 16 raw bytes as 32 hexadecimal digits. */
  client(): string {
    return toHex(this.take(16))
  }

  /** A length-prefixed string of at most limit bytes. */
  string(limit: number): string {
    const data = this.take(this.uvarint(limit))
    try {
      return utf8.decode(data)
    } catch {
      this.fail('malformed')
    }
  }

  /** The rest of the body. It aliases the message. */
  rest(limit = Infinity): Uint8Array {
    if (this.left > limit) this.fail('too_large')
    return this.take(this.left)
  }

  private take(length: number): Uint8Array {
    if (this.left < length) this.fail('truncated')
    const data = this.bytes.subarray(this.at, this.at + length)
    this.at += length
    return data
  }
}

/** Collects the bytes of frames. */
export class BodyWriter {
  private bytes = new Uint8Array(64)
  private used = 0

  private room(length: number): void {
    if (this.used + length <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.used + length))
    grown.set(this.bytes.subarray(0, this.used))
    this.bytes = grown
  }

  byte(value: number): this {
    this.room(1)
    this.bytes[this.used++] = value
    return this
  }

  uvarint(value: number): this {
    if (!Number.isSafeInteger(value) || value < 0) throw new WireError('malformed', 'number')
    this.room(8)
    while (value >= 0x80) {
      this.bytes[this.used++] = (value % 128) | 0x80
      value = Math.floor(value / 128)
    }
    this.bytes[this.used++] = value
    return this
  }

  uvarint64(value: bigint): this {
    this.room(10)
    while (value >= 0x80n) {
      this.bytes[this.used++] = Number(value & 0x7fn) | 0x80
      value >>= 7n
    }
    this.bytes[this.used++] = Number(value)
    return this
  }

  varint32(value: number): this {
    return this.uvarint(value >= 0 ? value * 2 : -value * 2 - 1)
  }

  client(id: string): this {
    return this.raw(fromHex(id))
  }

  size(cols: number, rows: number): this {
    if (cols < 1 || rows < 1 || cols > maxSide || rows > maxSide) throw new WireError('malformed', 'size')
    return this.uvarint(cols).uvarint(rows)
  }

  string(value: string): this {
    const data = encoder.encode(value)
    return this.uvarint(data.length).raw(data)
  }

  raw(data: Uint8Array): this {
    this.room(data.length)
    this.bytes.set(data, this.used)
    this.used += data.length
    return this
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.used)
  }
}

export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return hex
}

/** The 16 bytes of a client id. */
export function fromHex(id: string): Uint8Array {
  if (!/^[0-9a-f]{32}$/.test(id)) throw new WireError('malformed', 'client id')
  return Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(id.slice(2 * i, 2 * i + 2), 16))
}

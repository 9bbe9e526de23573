/**
 * A QR code (ISO/IEC 18004) of a text: byte mode, error correction M, versions 1 to 12, so at most 287 bytes. Enough for
 * links; drawn here so that a secret goes to no service that draws.
 */

/** Per version from 1: codewords in all, error correction codewords of a block, and the number of blocks. */
const versions: readonly (readonly [total: number, correction: number, blocks: number])[] = [
  [26, 10, 1],
  [44, 16, 1],
  [70, 26, 1],
  [100, 18, 2],
  [134, 24, 2],
  [172, 16, 4],
  [196, 18, 4],
  [242, 22, 4],
  [292, 22, 5],
  [346, 26, 5],
  [404, 30, 5],
  [466, 22, 8],
]

/** Centres of the alignment patterns, per version. */
const alignment: readonly (readonly number[])[] = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
  [6, 30, 54],
  [6, 32, 58],
]

// --- arithmetic in GF(256) with the polynomial 0x11d -----------------------------------------------------------------

const exp = new Uint8Array(512)
const log = new Uint8Array(256)
for (let i = 0, x = 1; i < 255; i++) {
  exp[i] = exp[i + 255] = x
  log[x] = i
  x = (x << 1) ^ (x & 0x80 ? 0x11d : 0)
}

function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : exp[log[a]! + log[b]!]!
}

/** The remainder that a block's data leaves: its error correction codewords. */
function correctionOf(data: Uint8Array, length: number): Uint8Array {
  // The generator polynomial without its first coefficient, which is 1.
  const generator = new Uint8Array(length)
  generator[length - 1] = 1
  for (let i = 0; i < length; i++) {
    for (let j = 0; j < length; j++) {
      generator[j] = times(generator[j]!, exp[i]!) ^ (generator[j + 1] ?? 0)
    }
  }
  const remainder = new Uint8Array(length)
  for (const byte of data) {
    const factor = byte ^ remainder[0]!
    remainder.copyWithin(0, 1)
    remainder[length - 1] = 0
    for (let i = 0; i < length; i++) remainder[i]! ^= times(generator[i]!, factor)
  }
  return remainder
}

// --- from text to codewords ------------------------------------------------------------------------------------------

function versionFor(bytes: number): number {
  for (let version = 1; version <= versions.length; version++) {
    const [total, correction, blocks] = versions[version - 1]!
    // Four bits of mode, then the length in 8 or 16 bits.
    const head = version < 10 ? 2 : 3
    if (bytes + head <= total - correction * blocks) return version
  }
  throw new RangeError(`${bytes} bytes do not fit into a QR code`)
}

function codewords(data: Uint8Array, version: number): Uint8Array {
  const [total, correction, blocks] = versions[version - 1]!
  const capacity = total - correction * blocks
  const bits: number[] = []
  const put = (value: number, length: number) => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >>> i) & 1)
  }
  put(0b0100, 4)
  put(data.length, version < 10 ? 8 : 16)
  for (const byte of data) put(byte, 8)
  put(0, Math.min(4, capacity * 8 - bits.length))
  put(0, (8 - (bits.length % 8)) % 8)
  for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) put(pad, 8)
  const plain = new Uint8Array(capacity)
  bits.forEach((bit, i) => (plain[i >>> 3]! |= bit << (7 - (i & 7))))

  // The later blocks are one longer where the data cannot be divided evenly.
  const short = Math.floor(capacity / blocks)
  const firstLong = blocks - (capacity % blocks)
  const parts: { data: Uint8Array; correction: Uint8Array }[] = []
  for (let block = 0, at = 0; block < blocks; block++) {
    const length = short + (block >= firstLong ? 1 : 0)
    const part = plain.subarray(at, at + length)
    parts.push({ data: part, correction: correctionOf(part, correction) })
    at += length
  }
  const mixed: number[] = []
  for (let i = 0; i <= short; i++) {
    for (const part of parts) if (i < part.data.length) mixed.push(part.data[i]!)
  }
  for (let i = 0; i < correction; i++) for (const part of parts) mixed.push(part.correction[i]!)
  return Uint8Array.from(mixed)
}

// --- from codewords to modules ---------------------------------------------------------------------------------------

const masks: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

/** Appends the remainder of a BCH code. */
function withRemainder(value: number, length: number, polynomial: number): number {
  let rest = value
  for (let i = 0; i < length; i++) rest = (rest << 1) ^ ((rest >>> (length - 1)) & 1 ? polynomial : 0)
  return (value << length) | rest
}

class Grid {
  readonly size: number
  readonly dark: boolean[][]
  private readonly fixed: boolean[][]

  constructor(version: number) {
    this.size = 17 + 4 * version
    const row = () => Array.from({ length: this.size }, () => false)
    this.dark = Array.from({ length: this.size }, row)
    this.fixed = Array.from({ length: this.size }, row)
    for (let i = 0; i < this.size; i++) {
      this.set(6, i, i % 2 === 0)
      this.set(i, 6, i % 2 === 0)
    }
    for (const [x, y] of [
      [3, 3],
      [this.size - 4, 3],
      [3, this.size - 4],
    ] as const)
      this.square(x, y, 4, (distance) => distance !== 2 && distance !== 4)
    const centres = alignment[version - 1]!
    const last = centres.length - 1
    centres.forEach((x, i) =>
      centres.forEach((y, j) => {
        const corner = (i === 0 && j === 0) || (i === 0 && j === last) || (i === last && j === 0)
        if (!corner) this.square(x, y, 2, (distance) => distance !== 1)
      }),
    )
    this.format(0)
    if (version < 7) return
    const bits = withRemainder(version, 12, 0x1f25)
    for (let i = 0; i < 18; i++) {
      const bit = ((bits >>> i) & 1) === 1
      const [a, b] = [this.size - 11 + (i % 3), Math.floor(i / 3)]
      this.set(a, b, bit)
      this.set(b, a, bit)
    }
  }

  private set(x: number, y: number, dark: boolean): void {
    this.dark[y]![x] = dark
    this.fixed[y]![x] = true
  }

  private square(centreX: number, centreY: number, reach: number, dark: (distance: number) => boolean): void {
    for (let y = Math.max(0, centreY - reach); y <= Math.min(this.size - 1, centreY + reach); y++) {
      for (let x = Math.max(0, centreX - reach); x <= Math.min(this.size - 1, centreX + reach); x++) {
        this.set(x, y, dark(Math.max(Math.abs(x - centreX), Math.abs(y - centreY))))
      }
    }
  }

  /** Writes which mask and which correction (M is 0) this is, twice. */
  format(mask: number): void {
    const bits = withRemainder(mask, 10, 0x537) ^ 0x5412
    const bit = (i: number) => ((bits >>> i) & 1) === 1
    for (let i = 0; i <= 5; i++) this.set(8, i, bit(i))
    this.set(8, 7, bit(6))
    this.set(8, 8, bit(7))
    this.set(7, 8, bit(8))
    for (let i = 9; i < 15; i++) this.set(14 - i, 8, bit(i))
    for (let i = 0; i < 8; i++) this.set(this.size - 1 - i, 8, bit(i))
    for (let i = 8; i < 15; i++) this.set(8, this.size - 15 + i, bit(i))
    this.set(8, this.size - 8, true)
  }

  /** Lays the codewords out in pairs of columns, upwards and downwards in turn, from the right. */
  fill(words: Uint8Array): void {
    let at = 0
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5
      for (let step = 0; step < this.size; step++) {
        const upwards = ((right + 1) & 2) === 0
        const y = upwards ? this.size - 1 - step : step
        for (const x of [right, right - 1]) {
          if (this.fixed[y]![x] || at >= words.length * 8) continue
          this.dark[y]![x] = ((words[at >>> 3]! >>> (7 - (at & 7))) & 1) === 1
          at++
        }
      }
    }
  }

  toggle(mask: (x: number, y: number) => boolean): void {
    for (let y = 0; y < this.size; y++) {
      for (let x = 0; x < this.size; x++) {
        if (!this.fixed[y]![x] && mask(x, y)) this.dark[y]![x] = !this.dark[y]![x]
      }
    }
  }

  /** How hard this is to read: runs, blocks, what looks like a finder, and an uneven share of dark. */
  penalty(): number {
    let points = 0
    let dark = 0
    for (let a = 0; a < this.size; a++) {
      for (const across of [true, false]) {
        const line = Array.from({ length: this.size }, (_, b) =>
          across ? this.dark[a]![b]! : this.dark[b]![a]!,
        )
        const text = line.map(Number).join('')
        for (const run of text.match(/0{5,}|1{5,}/g) ?? []) points += run.length - 2
        for (const finder of ['10111010000', '00001011101']) {
          for (let i = text.indexOf(finder); i >= 0; i = text.indexOf(finder, i + 1)) points += 40
        }
        if (across) dark += line.filter(Boolean).length
      }
    }
    for (let y = 1; y < this.size; y++) {
      for (let x = 1; x < this.size; x++) {
        const same = this.dark[y]![x]
        if (
          same === this.dark[y - 1]![x] &&
          same === this.dark[y]![x - 1] &&
          same === this.dark[y - 1]![x - 1]
        )
          points += 3
      }
    }
    const share = (dark * 100) / this.size ** 2
    return points + Math.floor(Math.abs(share - 50) / 5) * 10
  }
}

/** The modules of a QR code, true for dark, without the quiet zone. It fails with a RangeError for too long a text. */
export function qrModules(text: string): boolean[][] {
  const data = new TextEncoder().encode(text)
  const version = versionFor(data.length)
  const grid = new Grid(version)
  grid.fill(codewords(data, version))
  let best = 0
  let least = Infinity
  masks.forEach((mask, number) => {
    grid.toggle(mask)
    grid.format(number)
    const penalty = grid.penalty()
    if (penalty < least) [least, best] = [penalty, number]
    grid.toggle(mask)
  })
  grid.toggle(masks[best]!)
  grid.format(best)
  return grid.dark
}

/** The same as one path of unit squares. */
export function qrPath(text: string): { size: number; path: string } {
  const modules = qrModules(text)
  const path = modules.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return { size: modules.length, path }
}

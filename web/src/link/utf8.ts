/**
 * How many bytes at the end of data begin a character of UTF-8 without ending it, 0 to 3. Bytes that are no UTF-8 count
 * as whole: no end would ever come.
 */
export function unfinishedCharacter(data: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, data.length); back++) {
    const byte = data[data.length - back] ?? 0
    if (byte >= 0x80 && byte < 0xc0) continue // a character goes on
    const length = byte < 0xc0 || byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return back < length ? back : 0
  }
  return 0
}

/** Characters of a pairing code. */
export const codeLength = 6

/** What a person typed or pasted, as the code it means: upper case, without spaces, dashes and anything else. */
export function normalizeCode(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .slice(0, codeLength)
}

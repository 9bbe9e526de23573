/**
 * Emoji that fonts draw as one picture though the terminal counts each of their parts: families and professions (joined
 * by U+200D), skin tones, flags. Drawn as loose cells they would shrink to the width of one and pull the rest of the
 * row to the left; xterm draws what is joined in the room of all its cells.
 */
const pictures =
  /\p{Extended_Pictographic}[\ufe0f\p{EMod}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{EMod}]*)+|\p{Emoji_Modifier_Base}\ufe0f?\p{EMod}|\p{RI}\p{RI}/gu

/** Where text has such pictures, as pairs of beginning and end. For xterm's registerCharacterJoiner. */
export function joinedPictures(text: string): [number, number][] {
  return Array.from(text.matchAll(pictures), (match) => [match.index, match.index + match[0].length])
}

import type { PageLine, Run } from '@/wire'
import type { IBuffer, IBufferCell, IBufferLine } from '@xterm/xterm'

/** The texts of the logical lines above a buffer's screen, oldest first, without the blanks at their ends. */
export function scrollbackTexts(buffer: IBuffer): string[] {
  const texts: string[] = []
  for (let y = 0; y < buffer.baseY; y++) {
    const line = buffer.getLine(y)
    if (line === undefined) break
    const continued = buffer.getLine(y + 1)?.isWrapped ?? false
    const text = line.translateToString(!continued)
    if (line.isWrapped && texts.length > 0) texts[texts.length - 1] += text
    else texts.push(text)
  }
  return texts.map((text) => text.trimEnd())
}

/** The newest lines above a buffer's screen as lines of history, at most `most` of them. */
export function scrollbackLines(buffer: IBuffer, most: number): PageLine[] {
  const lines: PageLine[] = []
  let first = Math.max(0, buffer.baseY - most)
  while (first > 0 && buffer.getLine(first)?.isWrapped) first--
  for (let y = first; y < buffer.baseY; y++) {
    const line = buffer.getLine(y)
    if (line === undefined) break
    const runs = lineRuns(line)
    const last = lines.at(-1)
    if (line.isWrapped && last) last.runs.push(...runs)
    else lines.push({ id: 0, runs, alternate: false, open: false })
  }
  return lines
}

function lineRuns(line: IBufferLine): Run[] {
  const runs: Run[] = []
  let used = line.length
  while (used > 0 && isBlank(line.getCell(used - 1))) used--
  let style = ''
  for (let x = 0; x < used; x++) {
    const cell = line.getCell(x)
    if (cell === undefined || cell.getWidth() === 0) continue
    const run = runOf(cell)
    const text = cell.getChars() || ' '
    const last = runs.at(-1)
    const key = JSON.stringify(run)
    if (last !== undefined && key === style) last.text += text
    else runs.push({ ...run, text })
    style = key
  }
  return runs
}

function isBlank(cell: IBufferCell | undefined): boolean {
  return cell === undefined || (cell.getChars().trim() === '' && cell.isBgDefault() && !cell.isInverse())
}

function runOf(cell: IBufferCell): Run {
  const colour = (isDefault: boolean, isRGB: boolean, value: number) =>
    isDefault ? '' : isRGB ? `#${value.toString(16).padStart(6, '0')}` : String(value)
  return {
    text: '',
    fg: colour(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor()),
    bg: colour(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor()),
    underlineColor: '',
    underline: cell.isUnderline() ? 1 : 0,
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
    italic: cell.isItalic() !== 0,
    inverse: cell.isInverse() !== 0,
    hidden: cell.isInvisible() !== 0,
    strike: cell.isStrikethrough() !== 0,
    overline: cell.isOverline() !== 0,
    link: '',
  }
}

/** Everything in a buffer as text, logical lines, without empty lines at the end. */
export function bufferText(buffer: IBuffer): string {
  const lines: string[] = []
  for (let y = 0; y < buffer.length; y++) {
    const line = buffer.getLine(y)
    if (line === undefined) break
    const continued = buffer.getLine(y + 1)?.isWrapped ?? false
    const text = line.translateToString(!continued)
    if (line.isWrapped && lines.length > 0) lines[lines.length - 1] += text
    else lines.push(text)
  }
  return lines.join('\n').trimEnd()
}

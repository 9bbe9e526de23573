import type { Page, PageLine, Run } from '@/wire'
import { paletteColour } from './theme'

/** Lines asked for at once. */
const pageSize = 200
/** Lines kept on this screen; who wants more reads the text view. */
const mostLines = 10_000
/** How far the server's newest line may be ahead of what this screen has drawn, in lines. */
const farthestAhead = 200

export interface HistoryOptions {
  page(before: number, max: number): Promise<Page>
  /** Texts of the logical lines in the terminal's own scrollback, oldest first. */
  local(): string[]
  /** The rows changed; `below` pixels were added at the end, next to the terminal. */
  changed(below: number): void
}

/** The text of a line without the blanks at its end. */
export function lineText(line: PageLine): string {
  return line.runs
    .map((run) => run.text)
    .join('')
    .trimEnd()
}

/**
 * How many of a page's newest lines the terminal's own scrollback shows already. Both are newest first. The server may
 * be some lines ahead. Where the two differ, because the archive leaves out what a program printed twice, the place of
 * the oldest local line decides; where even that is not found nothing is left out: twice is better than not at all.
 */
export function overlap(page: readonly string[], local: readonly string[]): number {
  if (local.length === 0) return 0
  for (let ahead = 0; ahead <= Math.min(farthestAhead, page.length - 1); ahead++) {
    const both = Math.min(local.length, page.length - ahead)
    let same = 0
    while (same < both && page[ahead + same] === local[same]) same++
    if (same === both) return ahead + both
  }
  const oldest = local.at(-1)
  if (oldest === undefined || oldest === '') return 0
  return page.indexOf(oldest) + 1
}

interface Row {
  /** 0 for a line that came from this screen and has no id yet. */
  id: number
  element: HTMLElement
}

/** The lines above the terminal's own buffer, as DOM rows: pages from the server, kept over every repaint. */
export class History {
  readonly element: HTMLElement
  /** Oldest first. */
  private rows: Row[] = []
  private more = true
  private loading = false
  /** The newest rows are old or provisional: what lies between them and the terminal must be fetched. */
  private stale = true
  private generation = 0
  private failedAt = -Infinity

  constructor(private readonly options: HistoryOptions) {
    this.element = document.createElement('div')
    this.element.className = 'term-history'
    this.element.setAttribute('role', 'log')
    this.element.setAttribute('aria-live', 'off')
    this.element.setAttribute('aria-label', 'Earlier output')
  }

  get height(): number {
    return this.element.offsetHeight
  }

  get isLoading(): boolean {
    return this.loading
  }

  /** Whether the beginning of the session is shown. */
  get isComplete(): boolean {
    return !this.more && !this.stale
  }

  /** The terminal's scrollback no longer goes on from the newest row. */
  markStale(): void {
    this.stale = true
  }

  /** Takes lines that are about to leave the terminal's scrollback, so that they stay until the server's are here. */
  keep(lines: PageLine[]): void {
    this.stale = true
    const height = this.height
    for (const line of lines) this.rows.push({ id: 0, element: this.append(line) })
    this.trim()
    if (lines.length > 0) this.options.changed(this.height - height)
  }

  /** Gets more lines above, or first what is missing below. */
  async load(): Promise<void> {
    // After a failure the person's next scroll asks again, but not every pixel of it.
    if (this.loading || this.isComplete || performance.now() - this.failedAt < 2000) return
    if (!this.stale && this.rows.length >= mostLines) return
    this.loading = true
    const { generation } = this
    try {
      if (this.stale) await this.fill(generation)
      else await this.older(generation)
    } catch {
      this.failedAt = performance.now()
    } finally {
      if (generation === this.generation) this.loading = false
    }
  }

  clear(): void {
    this.generation++
    this.loading = false
    this.rows = []
    this.more = this.stale = true
    this.element.replaceChildren()
  }

  private async older(generation: number): Promise<void> {
    const oldest = this.rows.find((row) => row.id > 0)?.id ?? 0
    const page = await this.options.page(oldest, pageSize)
    if (generation !== this.generation) return
    this.more = page.more
    this.prepend(page.lines)
    this.options.changed(0)
  }

  /** Fetches from the newest line back to the newest row that came from the server. */
  private async fill(generation: number): Promise<void> {
    const newest = this.rows.findLast((row) => row.id > 0)?.id ?? 0
    const fetched: PageLine[] = []
    let before = 0
    let more = true
    const wanted = Math.min(1000, pageSize + this.options.local().length)
    while (more && fetched.length < mostLines) {
      const page = await this.options.page(before, wanted)
      if (generation !== this.generation) return
      fetched.push(...page.lines.filter((line) => line.id > newest))
      more = page.more
      before = page.lines.at(-1)?.id ?? 0
      const reached = page.lines.some((line) => line.id <= newest)
      if (reached || page.lines.length === 0) break
      if (newest === 0 && fetched.length >= wanted) break
    }
    const local = this.options.local().reverse()
    const known = overlap(fetched.map(lineText), local)
    const lines = fetched.slice(known).reverse()
    const height = this.height
    for (const row of this.rows.filter((row) => row.id === 0)) row.element.remove()
    this.rows = this.rows.filter((row) => row.id > 0)
    for (const line of lines) this.rows.push({ id: line.id, element: this.append(line) })
    if (newest === 0) this.more = more
    this.stale = false
    this.trim()
    this.options.changed(this.height - height)
  }

  private append(line: PageLine): HTMLElement {
    const element = rowElement(line)
    this.element.append(element)
    return element
  }

  private prepend(newestFirst: PageLine[]): void {
    const rows = newestFirst.map((line) => ({ id: line.id, element: rowElement(line) })).reverse()
    this.element.prepend(...rows.map((row) => row.element))
    this.rows = [...rows, ...this.rows]
  }

  private trim(): void {
    const tooMany = this.rows.length - mostLines
    if (tooMany <= 0) return
    for (const row of this.rows.splice(0, tooMany)) row.element.remove()
    this.more = true
  }
}

function rowElement(line: PageLine): HTMLElement {
  const row = document.createElement('div')
  row.className = 'term-history-row'
  for (const run of line.runs) row.append(runElement(run))
  return row
}

const underlines = ['', 'solid', 'double', 'wavy', 'dotted', 'dashed']

function colourOf(name: string): string {
  return name === '' || name.startsWith('#') ? name : paletteColour(Number(name))
}

/** Text in one style. The text goes in as text, the style property by property: nothing in it is ever markup. */
function runElement(run: Run): Node {
  const plain =
    !run.fg && !run.bg && !run.bold && !run.dim && !run.italic && !run.inverse && !run.hidden && !run.strike &&
    !run.overline && run.underline === 0 // prettier-ignore
  if (plain) return document.createTextNode(run.text)
  const span = document.createElement('span')
  span.textContent = run.text
  const { style } = span
  let [fg, bg] = [colourOf(run.fg), colourOf(run.bg)]
  if (run.inverse) [fg, bg] = [bg || 'var(--term-bg)', fg || 'var(--term-fg)']
  if (fg) style.color = fg
  if (bg) style.backgroundColor = bg
  if (run.bold) style.fontWeight = 'bold'
  if (run.dim) style.opacity = '0.6'
  if (run.italic) style.fontStyle = 'italic'
  if (run.hidden) style.visibility = 'hidden'
  const lines = [run.underline > 0 && 'underline', run.strike && 'line-through', run.overline && 'overline']
  if (lines.some(Boolean)) {
    style.textDecorationLine = lines.filter(Boolean).join(' ')
    style.textDecorationStyle = underlines[run.underline] ?? 'solid'
    if (run.underlineColor) style.textDecorationColor = colourOf(run.underlineColor)
  }
  return span
}

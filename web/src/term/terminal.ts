import { Emitter, type Attachment } from '@/link'
import { Unicode11Addon } from '@xterm/addon-unicode11'
import { Terminal, type ITheme } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { bufferText, scrollbackLines, scrollbackTexts } from './cells'
import { bindDirect, type Direct } from './direct'
import { History } from './history'
import { binaryBytes, guardInput } from './inputGuard'
import { joinedPictures } from './joiner'
import { linkProvider, safeLink } from './links'
import { createScreen } from './picture'
import { swallowQueries } from './swallow'
import './terminal.css'
import { readFont, readTheme } from './theme'
import { bindGestures } from './gestures'
import { cellSize, Viewport } from './viewport'

export const smallestFont = 8
export const largestFont = 24
/** The smallest text that "fit width" makes by itself. */
const smallestFit = 9
/** Lines that move into the history when a repaint empties the scrollback. */
const keptLines = 500

export interface TerminalOptions {
  /** Pixels, 8 to 24. */
  fontSize: number
  /** Colours; the design tokens of the container when absent. */
  theme?: ITheme
  renderer: 'dom' | 'webgl'
  /** Whether a drag in a full-screen program that ignores the mouse sends PgUp and PgDn. */
  fullScreenPages?: boolean
  /** What the terminal is called for those who do not see it. */
  label?: string
}

/** Something of the terminal that the screen around it should know. */
export interface TerminalEvents {
  /** Lines that came since the person scrolled up; null while the newest are in view. */
  scrolledUp: number | null
  /** A tap on no link. The listener runs inside the touch event and may raise the keyboard. */
  tap: { x: number; y: number }
  doubleTap: { x: number; y: number }
  /** A link was chosen: the whole address, http or https. */
  link: string
  /** A pinch ended with this size. */
  fontSize: number
  /** What is selected now; empty when nothing is. */
  selection: string
  /** A drag in a full-screen program that has no history here: offer the text view. */
  fullScreenDrag: void
  /** Text was pasted; when nobody listens it goes to the program. */
  paste: string
  /** "Fit width" was switched. */
  fitWidth: boolean
}

export interface TerminalView {
  /** The grid that would fit the container now, the keyboard aside. */
  measure(): { cols: number; rows: number }
  setFontSize(pixels: number): void
  /** Takes new colours; without an argument those of the design tokens. */
  setTheme(theme?: ITheme): void
  focus(): void
  blur(): void
  scrollToBottom(): void
  onScrolledUp(listener: (newLines: number | null) => void): () => void
  onTap(listener: (at: { x: number; y: number }) => void): () => void
  on<Name extends keyof TerminalEvents>(
    name: Name,
    listener: (payload: TerminalEvents[Name]) => void,
  ): () => void
  /** Direct typing from the soft keyboard on or off. With a fine pointer the terminal takes keys whenever focused. */
  setDirect(direct: boolean): void
  /**
   * Looks at typed text before it is sent; returning true takes it. For armed modifiers of the toolbar: text is what
   * the keyboard typed just now.
   */
  setTypedFilter(filter: ((text: string) => boolean) | null): void
  /** A toolbar key was pressed: what was typed before is no longer the keyboard's to correct. */
  typedElsewhere(): void
  /** Shrinks the text until the whole width is in view, down to 9 px; false shows it at its size and pans. */
  setFitWidth(fit: boolean): void
  /** Moves the picture by pixels, positive right and down. */
  setPan(dx: number, dy: number): void
  selection(): string
  clearSelection(): void
  /** Everything in the buffer as text. */
  text(): string
  dispose(): void
}

/** Shows an attachment in container, which it fills, until dispose. The attachment stays the caller's. */
export function createTerminal(
  container: HTMLElement,
  attachment: Attachment,
  options: TerminalOptions,
): TerminalView {
  const coarse = matchMedia('(pointer: coarse)').matches
  const events = new Emitter<TerminalEvents>()
  const listeners = new AbortController()
  let fontSize = clampFont(options.fontSize)
  let fitWidth = false
  let typedFilter: ((text: string) => boolean) | null = null
  let pasteListeners = 0
  let disposed = false

  container.classList.add('term-container')
  const stage = document.createElement('div')
  stage.className = 'term-stage'
  const host = document.createElement('div')
  container.append(stage)

  const term = new Terminal({
    allowProposedApi: true,
    altClickMovesCursor: false,
    cursorBlink: !coarse,
    cursorInactiveStyle: coarse ? 'block' : 'outline',
    fontFamily: readFont(container),
    fontSize,
    lineHeight: 1,
    logLevel: 'off',
    minimumContrastRatio: 4.5,
    scrollback: coarse ? 2000 : 5000,
    theme: options.theme ?? readTheme(container),
    linkHandler: { activate: (_event, text) => openLink(text) },
  })
  term.loadAddon(new Unicode11Addon())
  term.unicode.activeVersion = '11'
  swallowQueries(term.parser)

  const history = new History({
    page: (before, max) => attachment.page(before, max),
    local: () => scrollbackTexts(term.buffer.normal),
    changed: (below) => viewport.insertedBelow(below),
  })
  stage.append(history.element, host)
  const viewport = new Viewport(term, container, stage, history, (newLines) =>
    events.emit('scrolledUp', newLines),
  )

  term.open(host)
  term.registerCharacterJoiner(joinedPictures)
  // xterm draws no cursor before it had the focus, which it may never get here, or showed the alternate screen.
  term.write('\x1b[?1047h\x1b[?1047l')
  const { textarea } = term
  if (textarea && options.label) textarea.setAttribute('aria-label', options.label)
  if (textarea && coarse) {
    textarea.disabled = true
    textarea.tabIndex = -1
    textarea.setAttribute('inputmode', 'none')
  }
  if (options.renderer === 'webgl') void useWebgl(term, () => disposed)

  // --- input -----------------------------------------------------------------------------------------------------

  function typed(text: string): void {
    viewport.toBottom()
    if (typedFilter?.(text) !== true) attachment.text(text)
  }

  function pasted(text: string): void {
    viewport.toBottom()
    if (pasteListeners > 0) events.emit('paste', text)
    else attachment.paste(text)
  }

  let pressedInside = false
  const inside = (event: Event) => {
    const within = event.target instanceof Node && container.contains(event.target)
    if (event.type === 'mousedown') pressedInside = within
    // A drag that began here goes on outside.
    return within || (pressedInside && (event.type === 'mousemove' || event.type === 'mouseup'))
  }
  const guard = guardInput(term, window, inside, {
    text(data) {
      // Reports of the mouse come the same way; pointing is no reason to leave what is being read.
      // eslint-disable-next-line no-control-regex
      const report = /^\x1b\[(?:<|M)/.test(data)
      if (!report && !viewport.isFollowing) viewport.toBottom()
      if (report || typedFilter?.(data) !== true) attachment.text(data)
    },
    binary: (data) => void attachment.bytes(binaryBytes(data)),
  })
  container.addEventListener(
    'paste',
    (event) => {
      if (event.target instanceof HTMLElement && event.target.classList.contains('term-bridge')) return
      event.preventDefault()
      event.stopPropagation()
      const text = event.clipboardData?.getData('text/plain') ?? ''
      if (text !== '') pasted(text)
    },
    { capture: true, signal: listeners.signal },
  )
  term.attachCustomKeyEventHandler((event) => {
    if (event.shiftKey && /^Page(Up|Down)$/.test(event.key) && term.buffer.active.type === 'normal') {
      const row = cellSize(term)?.height ?? 0
      const page = Math.min(container.clientHeight, row * term.rows) - row
      if (event.type === 'keydown') viewport.move(0, event.key === 'PageUp' ? page : -page)
      event.preventDefault()
      return false
    }
    // The browser's own: copy and paste of terminals on Linux and Windows.
    const copyPaste = event.ctrlKey && event.shiftKey && /^[cv]$/i.test(event.key)
    if (copyPaste && event.type === 'keydown' && /^c$/i.test(event.key) && term.hasSelection()) {
      event.preventDefault()
      document.execCommand('copy')
    }
    return !copyPaste
  })

  // The terminal may be smaller than its container; a press beside it means it all the same.
  container.addEventListener(
    'mousedown',
    (event) => {
      if (coarse || (event.target instanceof Node && term.element?.contains(event.target))) return
      event.preventDefault()
      term.focus()
    },
    { signal: listeners.signal },
  )

  let direct: Direct | null = null
  function setDirect(on: boolean): void {
    if (!coarse || on === (direct !== null)) return
    direct?.dispose()
    direct = on
      ? bindDirect(container, { text: typed, key: (name) => void attachment.keys([name]), paste: pasted })
      : null
  }

  // --- size ------------------------------------------------------------------------------------------------------

  /** The container at its tallest for its width: on touch screens it shrinks while the keyboard is up. */
  let widest = 0
  let tallest = 0

  function measure(): { cols: number; rows: number } {
    const cell = cellSize(term)
    if (cell === null) return { cols: 0, rows: 0 }
    // A fitted font is smaller than the one the person chose.
    const scale = fontSize / (term.options.fontSize ?? fontSize)
    const height = coarse ? Math.max(tallest, container.clientHeight) : container.clientHeight
    return {
      // Half a pixel of the last column may be missing: a whole column is worth more.
      cols: Math.max(2, Math.floor((container.clientWidth + 0.5) / (cell.width * scale))),
      rows: Math.max(1, Math.floor(height / (cell.height * scale))),
    }
  }

  function containerResized(): void {
    const { clientWidth, clientHeight } = container
    if (clientWidth === 0 || clientHeight === 0) return
    const widthChanged = clientWidth !== widest
    tallest = widthChanged ? clientHeight : Math.max(tallest, clientHeight)
    widest = clientWidth
    applyFont()
    // The keyboard must not resize the session: each change makes agents draw their frame again.
    if (!coarse || widthChanged) reportSize()
  }

  function reportSize(): void {
    const size = measure()
    if (size.cols > 0) attachment.resized(size.cols, size.rows)
  }

  function applyFont(): void {
    let size = fontSize
    const cell = cellSize(term)
    if (fitWidth && cell !== null) {
      const current = term.options.fontSize ?? fontSize
      const natural = (cell.width / current) * fontSize * term.cols
      const fitting = Math.floor((fontSize * container.clientWidth * 2) / natural) / 2
      size = Math.min(fontSize, Math.max(Math.min(smallestFit, fontSize), fitting))
    }
    if (size !== term.options.fontSize) term.options.fontSize = size
    history.element.style.fontSize = `${size}px`
    viewport.layout()
  }

  function setFontSize(pixels: number): void {
    const next = clampFont(pixels)
    if (next === fontSize) return
    fontSize = next
    applyFont()
    reportSize()
  }

  function setFitWidth(fit: boolean): void {
    if (fit === fitWidth) return
    fitWidth = fit
    applyFont()
    events.emit('fitWidth', fit)
  }

  const observer = new ResizeObserver(containerResized)
  observer.observe(container)
  attachment.setMeasure(() => {
    const size = measure()
    return size.cols > 0 ? size : null
  })

  // --- picture ---------------------------------------------------------------------------------------------------

  const screen = createScreen(term, {
    leaving() {
      viewport.hold()
      if (term.buffer.active.type === 'normal') history.keep(scrollbackLines(term.buffer.normal, keptLines))
      else history.markStale()
    },
    repainted() {
      // The last write of a terminal that was closed meanwhile ends like any other.
      if (disposed) return
      viewport.release()
      applyFont()
    },
    resized: applyFont,
  })
  let bufferType = term.buffer.active.type
  const subscriptions = [
    term.onWriteParsed(() => viewport.layout()),
    term.onSelectionChange(selectionChanged),
    term.buffer.onBufferChange((buffer) => {
      if (buffer.type !== bufferType) viewport.toBottom()
      bufferType = buffer.type
    }),
    term.onScroll(() => {
      if (term.buffer.normal.baseY >= (term.options.scrollback ?? 0)) history.markStale()
    }),
    term.registerLinkProvider(linkProvider(term, openLink)),
  ]
  const gestures = bindGestures(container, term, viewport, {
    coarse,
    fullScreenPages: options.fullScreenPages ?? false,
    during: guard.during,
    press: (name) => void attachment.keys([name]),
    openLink,
    emit: (name, payload) => events.emit(name, payload),
    selected: selectionChanged,
    toggleFit: () => {
      if (viewport.isWide || fitWidth) setFitWidth(!fitWidth)
    },
    pinch: (factor, start) => {
      fitWidth = false
      const size = clampFont(start * factor)
      if (size !== term.options.fontSize) {
        fontSize = size
        applyFont()
      }
    },
    pinchEnd: () => {
      events.emit('fontSize', fontSize)
      reportSize()
    },
    fontSize: () => fontSize,
  })

  function selectionChanged(): void {
    events.emit('selection', term.getSelection())
  }

  function openLink(text: string): void {
    const link = safeLink(text)
    if (link !== null) events.emit('link', link)
  }

  containerResized()
  attachment.display(screen)

  return {
    measure,
    setFontSize,
    setTheme(theme) {
      term.options.theme = theme ?? readTheme(container)
    },
    focus() {
      if (direct) direct.focus()
      else if (!coarse) term.focus()
    },
    blur() {
      direct?.blur()
      term.blur()
    },
    scrollToBottom: () => viewport.toBottom(),
    onScrolledUp: (listener) => events.on('scrolledUp', listener),
    onTap: (listener) => events.on('tap', listener),
    on(name, listener) {
      const off = events.on(name, listener)
      if (name !== 'paste') return off
      pasteListeners++
      return () => {
        pasteListeners--
        off()
      }
    },
    setDirect,
    setTypedFilter(filter) {
      typedFilter = filter
    },
    typedElsewhere: () => direct?.reset(),
    setFitWidth,
    setPan: (dx, dy) => void viewport.move(dx, dy),
    selection: () => term.getSelection(),
    clearSelection: () => term.clearSelection(),
    text: () => bufferText(term.buffer.active),
    dispose() {
      if (disposed) return
      disposed = true
      attachment.display(null)
      attachment.setMeasure(null)
      listeners.abort()
      observer.disconnect()
      gestures.dispose()
      direct?.dispose()
      guard.dispose()
      for (const subscription of subscriptions) subscription.dispose()
      events.clear()
      history.clear()
      term.dispose()
      stage.remove()
      container.classList.remove('term-container')
    },
  }
}

function clampFont(pixels: number): number {
  return Math.min(largestFont, Math.max(smallestFont, Math.round(pixels)))
}

/** Draws with WebGL, and with the DOM again when the context is lost or was never there. */
async function useWebgl(term: Terminal, disposed: () => boolean): Promise<void> {
  try {
    const { WebglAddon } = await import('@xterm/addon-webgl')
    if (disposed()) return
    const addon = new WebglAddon(true)
    addon.onContextLoss(() => addon.dispose())
    term.loadAddon(addon)
  } catch {
    // The DOM renderer is in place already.
  }
}

/** Kinds of events in which a person types or points. */
const kinds = [
  'keydown',
  'keypress',
  'keyup',
  'beforeinput',
  'input',
  'compositionstart',
  'compositionupdate',
  'compositionend',
  'mousedown',
  'mousemove',
  'mouseup',
  'wheel',
] as const

/** How long after the end of a composition xterm may still send the composed text, in milliseconds. */
const composedFor = 250

interface Disposable {
  dispose(): void
}

/** The part of xterm that sends; the same in the browser and headless. */
export interface Source {
  onData(listener: (data: string) => void): Disposable
  onBinary(listener: (data: string) => void): Disposable
}

/** Where events come from. */
export interface Surface {
  addEventListener(
    type: string,
    listener: (event: Event) => void,
    options: { capture: boolean; passive: boolean },
  ): void
  removeEventListener(type: string, listener: (event: Event) => void, options: { capture: boolean }): void
}

/**
 * Lets nothing of what xterm sends through but what a person does right now (THREATS S-12). xterm sends its answers to
 * queries on the same way as keys; here data counts as a person's only while the browser is dispatching an event of
 * the keyboard, mouse or wheel to the terminal. Terminal output is parsed in tasks of its own, never during such a
 * dispatch. The one thing that xterm sends later is the text of an ended composition; exactly that text may pass, once.
 */
export function guardInput(
  source: Source,
  surface: Surface,
  inside: (event: Event) => boolean,
  forward: { text(data: string): void; binary(data: string): void },
): { during(action: () => void): void; dispose(): void } {
  let current: Event | null = null
  let acting = false
  let composed: { text: string; until: number } | null = null

  const watch = (event: Event) => {
    if (!inside(event)) return
    current = event
    if (event.type === 'compositionend') {
      const text = (event as CompositionEvent).data
      composed = text === '' ? null : { text, until: performance.now() + composedFor }
    }
  }
  for (const kind of kinds) surface.addEventListener(kind, watch, { capture: true, passive: true })

  const personActs = () => acting || (current !== null && current.eventPhase !== 0)
  const isComposed = (data: string) => {
    const expected = composed
    if (expected === null || expected.text !== data || performance.now() > expected.until) return false
    composed = null
    return true
  }
  const subscriptions = [
    source.onData((data) => {
      // Focus reports are presence's business: the holder sends them when the first client comes and the last leaves.
      if (data === '\x1b[I' || data === '\x1b[O') return
      if (personActs() || isComposed(data)) forward.text(data)
    }),
    source.onBinary((data) => {
      if (personActs()) forward.binary(data)
    }),
  ]

  return {
    /** Runs one of our own handlers, in which xterm may send. */
    during(action) {
      acting = true
      try {
        action()
      } finally {
        acting = false
      }
    },
    dispose() {
      for (const subscription of subscriptions) subscription.dispose()
      for (const kind of kinds) surface.removeEventListener(kind, watch, { capture: true })
    },
  }
}

/** The bytes of a string whose characters each stand for one byte, as onBinary gives them. */
export function binaryBytes(data: string): Uint8Array {
  return Uint8Array.from(data, (character) => character.charCodeAt(0) & 0xff)
}

import { computed, reactive, type ComputedRef } from 'vue'

export type Modifier = 'ctrl' | 'alt'
export type ModifierState = 'off' | 'next' | 'lock'

/** Within this many ms a second tap on a modifier locks it. */
const doubleTap = 350

export interface Modifiers {
  state: Readonly<Record<Modifier, ModifierState>>
  /** Whether any modifier would change the next key. */
  armed: ComputedRef<boolean>
  /** A tap: off → next → (quickly) lock → off. */
  tap(modifier: Modifier): void
  lock(modifier: Modifier): void
  /** The name of a key with the armed modifiers ("ctrl+alt+up"); those armed for one key are spent. */
  apply(key: string): string
  /** Disarms what was armed for the next key only, as a burst of text does. */
  disarm(): void
  clear(): void
}

/** Sticky Ctrl and Alt of the key toolbar. */
export function useModifiers(): Modifiers {
  const state = reactive<Record<Modifier, ModifierState>>({ ctrl: 'off', alt: 'off' })
  const tapped = { ctrl: 0, alt: 0 }
  const names: Modifier[] = ['ctrl', 'alt']

  function tap(modifier: Modifier) {
    const now = Date.now()
    const again = now - tapped[modifier] < doubleTap
    tapped[modifier] = now
    if (state[modifier] === 'off') state[modifier] = 'next'
    else state[modifier] = state[modifier] === 'next' && again ? 'lock' : 'off'
  }

  function disarm() {
    for (const name of names) if (state[name] === 'next') state[name] = 'off'
  }

  function apply(key: string): string {
    const held = names.filter((name) => state[name] !== 'off')
    disarm()
    return [...held, key].join('+')
  }

  function clear() {
    for (const name of names) state[name] = 'off'
  }

  return {
    state,
    armed: computed(() => names.some((name) => state[name] !== 'off')),
    tap,
    lock: (modifier) => {
      state[modifier] = 'lock'
    },
    apply,
    disarm,
    clear,
  }
}

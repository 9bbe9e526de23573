import type { IconName } from '@/ui/icons'

/** A key of the toolbar. Keys travel by name; the holder encodes them by the program's modes at that moment. */
export interface Key {
  /** The key's name on the wire, such as "up" or "shift+tab". */
  name: string
  /** What is drawn on it, unless it has an icon. */
  label: string
  /** What it is called aloud. */
  spoken: string
  icon?: IconName
  /** Repeats while held. */
  repeats?: boolean
  /** What a swipe up sends instead. */
  above?: { name: string; label: string }
}

/** A place of the toolbar that is no key: a sticky modifier, the OS keyboard, the palette. */
export type Place = Key | 'ctrl' | 'alt' | 'keyboard' | 'more'

const esc: Key = { name: 'esc', label: 'Esc', spoken: 'Esc', above: { name: '`', label: '`' } }
const tab: Key = { name: 'tab', label: 'Tab', spoken: 'Tab' }
const backTab: Key = { name: 'shift+tab', label: '⇧Tab', spoken: 'Shift Tab' }
const interrupt: Key = {
  name: 'ctrl+c',
  label: '^C',
  spoken: 'Control C',
  above: { name: 'ctrl+d', label: '^D' },
}
const yes: Key = { name: 'y', label: 'y', spoken: 'y', above: { name: '1', label: '1' } }
const no: Key = { name: 'n', label: 'n', spoken: 'n', above: { name: '2', label: '2' } }
const enter: Key = {
  name: 'enter',
  label: '⏎',
  spoken: 'Enter',
  icon: 'enter',
  above: { name: 'shift+enter', label: '⇧⏎' },
}
const up: Key = { name: 'up', label: '↑', spoken: 'Up', icon: 'arrU', repeats: true }
const left: Key = { name: 'left', label: '←', spoken: 'Left', icon: 'arrL', repeats: true }
const down: Key = { name: 'down', label: '↓', spoken: 'Down', icon: 'arrD', repeats: true }
const right: Key = { name: 'right', label: '→', spoken: 'Right', icon: 'arrR', repeats: true }

/** Both rows, while no OS keyboard is up: seven keys each, arrows as an inverted T. */
export const fullRows: Place[][] = [
  [esc, tab, backTab, up, interrupt, yes, 'keyboard'],
  ['ctrl', 'alt', left, down, right, no, enter],
]

/** One row over the OS keyboard, which has its own y; the other keys keep their places. */
export const shortRows: Place[][] = [[esc, tab, backTab, up, interrupt, 'more', 'keyboard']]

/** The second row, when asked for over the OS keyboard. */
export const secondRow: Place[] = ['ctrl', 'alt', left, down, right, no, enter]

function named(names: string[]): Key[] {
  return names.map((name) => {
    const control = /^ctrl\+(.)$/.exec(name)?.[1]
    const label = control ? `^${control.toUpperCase()}` : (labels[name] ?? name)
    return {
      name,
      label,
      spoken: control ? `Control ${control.toUpperCase()}` : (spoken[name] ?? label),
      repeats: repeating.has(name),
    }
  })
}

const labels: Record<string, string> = {
  home: 'Home',
  end: 'End',
  pageup: 'PgUp',
  pagedown: 'PgDn',
  delete: 'Del',
  insert: 'Ins',
  backspace: '⌫',
  'shift+enter': '⇧⏎',
  space: '␣',
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, `F${i + 1}`])),
}
const spoken: Record<string, string> = {
  pageup: 'Page up',
  pagedown: 'Page down',
  delete: 'Delete',
  insert: 'Insert',
  backspace: 'Backspace',
  'shift+enter': 'Shift Enter',
  space: 'Space',
  '/': 'Slash',
  '|': 'Pipe',
  '~': 'Tilde',
  '-': 'Minus',
  '`': 'Backtick',
}
const repeating = new Set(['backspace', 'delete', 'pageup', 'pagedown'])

/** What Ctrl is mostly wanted for. In compose mode an armed Ctrl shows these: there is no keystroke it could apply to. */
export const controlKeys = named('cdzrluwaekotb'.split('').map((letter) => `ctrl+${letter}`))

/** All that has no place in the rows. */
export const moreKeys: Key[] = [
  ...named(['home', 'pageup', 'pagedown', 'end', 'backspace', 'delete', 'shift+enter']),
  ...named(['/', '|', '~', '-', '`', 'space', 'insert']),
  ...controlKeys,
  ...named(Array.from({ length: 12 }, (_, i) => `f${i + 1}`)),
]

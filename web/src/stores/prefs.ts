import { defineStore } from 'pinia'
import { reactive, toRefs, watch } from 'vue'
import { readJSON, writeJSON } from './storage'

export type Theme = 'system' | 'dark' | 'light' | 'contrast'
export type FocusGesture = 'tap' | 'double_tap' | 'button'
export type DragInFullScreen = 'nothing' | 'pages'

interface Prefs {
  theme: Theme
  /** Pixels of the terminal's font, 8 to 24. */
  fontSize: number
  /** Return sends the message instead of beginning a new line. */
  returnSends: boolean
  renderer: 'dom' | 'webgl'
  /** What raises the keyboard on a touch screen. */
  focusGesture: FocusGesture
  /** What a drag does in a full-screen program that does not listen to the mouse. */
  fullScreenDrag: DragInFullScreen
  /** A short vibration with every key, where the device can. */
  haptics: boolean
  /** Sessions in direct mode, by key. */
  direct: Record<string, boolean>
  /** The toolbar preset of a session, by key; absent means by its agent. */
  toolbar: Record<string, string>
}

const name = 'agent-helm.prefs'
export const smallestFont = 8
export const largestFont = 24
/** Sessions whose choices are remembered. */
const remembered = 200

function defaults(): Prefs {
  const coarse = typeof matchMedia === 'function' && matchMedia('(pointer: coarse)').matches
  return {
    theme: 'system',
    fontSize: coarse ? 12 : 13,
    returnSends: false,
    renderer: 'dom',
    focusGesture: 'tap',
    fullScreenDrag: 'nothing',
    haptics: true,
    direct: {},
    toolbar: {},
  }
}

function clampFont(size: number): number {
  return Math.min(largestFont, Math.max(smallestFont, Math.round(size)))
}

/** Takes from storage what has the right type; anything else keeps its default. */
function load(): Prefs {
  const prefs = defaults()
  const stored = readJSON(name)
  if (typeof stored !== 'object' || stored === null) return prefs
  const target = prefs as unknown as Record<string, unknown>
  for (const [field, value] of Object.entries(stored)) {
    if (typeof value === typeof target[field] && value !== null) target[field] = value
  }
  prefs.fontSize = clampFont(Number.isFinite(prefs.fontSize) ? prefs.fontSize : defaults().fontSize)
  if (!['system', 'dark', 'light', 'contrast'].includes(prefs.theme)) prefs.theme = 'system'
  if (!['dom', 'webgl'].includes(prefs.renderer)) prefs.renderer = 'dom'
  if (!['tap', 'double_tap', 'button'].includes(prefs.focusGesture)) prefs.focusGesture = 'tap'
  if (!['nothing', 'pages'].includes(prefs.fullScreenDrag)) prefs.fullScreenDrag = 'nothing'
  return prefs
}

function without<T>(choices: Record<string, T>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(choices).filter(([other]) => other !== key))
}

/** Keeps the latest choices; a key that is set anew counts as late. */
function limited<T>(choices: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(choices).slice(-remembered))
}

/** What the person chose on this device. Kept in this browser only. */
export const usePrefsStore = defineStore('prefs', () => {
  const prefs = reactive(load())

  watch(prefs, () => writeJSON(name, prefs), { deep: true, flush: 'sync' })

  function setFontSize(size: number): void {
    prefs.fontSize = clampFont(size)
  }

  /** Whether keys go to the program one by one in this session. */
  function isDirect(key: string): boolean {
    return prefs.direct[key] ?? false
  }

  function setDirect(key: string, direct: boolean): void {
    prefs.direct = limited({ ...without(prefs.direct, key), [key]: direct })
  }

  function toolbarOf(key: string): string | null {
    return prefs.toolbar[key] ?? null
  }

  function setToolbar(key: string, preset: string | null): void {
    const others = without(prefs.toolbar, key)
    prefs.toolbar = limited(preset === null ? others : { ...others, [key]: preset })
  }

  return { ...toRefs(prefs), setFontSize, isDirect, setDirect, toolbarOf, setToolbar }
})

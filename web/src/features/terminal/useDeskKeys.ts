import { onScopeDispose } from 'vue'

/** Whether the platform's command key is ⌘. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** How a shortcut is written: ⌘ on Apple's systems, Ctrl Alt elsewhere, where Ctrl alone belongs to the program. */
export function shortcutKeys(key: string): string[] {
  return isMac ? ['⌘', key] : ['Ctrl', 'Alt', key]
}

/**
 * Shortcuts of a desk, by key. They are taken before the terminal sees them, and only with a combination that no
 * program in a terminal receives.
 */
export function useDeskKeys(shortcuts: Record<string, () => void>): void {
  function keydown(press: KeyboardEvent) {
    const command = isMac
      ? press.metaKey && !press.ctrlKey && !press.altKey
      : press.ctrlKey && press.altKey && !press.metaKey
    if (!command || press.shiftKey) return
    const run = shortcuts[press.code]
    if (!run) return
    press.preventDefault()
    press.stopPropagation()
    run()
  }
  window.addEventListener('keydown', keydown, true)
  onScopeDispose(() => window.removeEventListener('keydown', keydown, true))
}

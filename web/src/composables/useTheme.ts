import { onScopeDispose, watch } from 'vue'

export type Theme = 'system' | 'dark' | 'light' | 'contrast'

/** Keeps the root element's theme in step with the choice and the system's own wish; boot.js sets the first one. */
export function useTheme(chosen: () => Theme): void {
  const light = window.matchMedia('(prefers-color-scheme: light)')
  const more = window.matchMedia('(prefers-contrast: more)')

  function apply() {
    const theme = chosen()
    const root = document.documentElement
    const system = theme === 'system' || theme === 'contrast'
    root.dataset.theme = theme === 'light' || (system && light.matches) ? 'light' : 'dark'
    root.dataset.contrast = theme === 'contrast' || (theme === 'system' && more.matches) ? 'more' : 'normal'
    const bar = getComputedStyle(root).getPropertyValue('--bg-bar').trim()
    for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]'))
      meta.content = bar
  }

  watch(chosen, apply, { immediate: true })
  light.addEventListener('change', apply)
  more.addEventListener('change', apply)
  onScopeDispose(() => {
    light.removeEventListener('change', apply)
    more.removeEventListener('change', apply)
  })
}

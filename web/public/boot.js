// Runs before anything else loads: no imports, no network, no storage of secrets.
;(function () {
  'use strict'

  // A pairing link carries its ticket in the fragment. Take it out of the address bar and of this history
  // entry at once, so that neither a reload, a shared screenshot nor synced history can leak it.
  const ticket = /^#t=([\w-]{1,512})$/.exec(location.hash)
  if (location.hash.startsWith('#t=')) {
    history.replaceState(history.state, '', location.pathname + location.search)
  }
  if (ticket) {
    Object.defineProperty(window, 'agentHelmTicket', { value: ticket[1], configurable: true })
  }

  // The theme must be right at first paint. Colours are plain hex values (xterm reads them), so "system" is
  // resolved here; composables/useTheme.ts follows later changes.
  let prefs = {}
  try {
    prefs = JSON.parse(localStorage.getItem('agent-helm.prefs') || '{}')
  } catch {
    // Unreadable or blocked storage means defaults.
  }
  const light = matchMedia('(prefers-color-scheme: light)').matches
  const more = matchMedia('(prefers-contrast: more)').matches
  const root = document.documentElement
  const chosen = prefs.theme
  root.dataset.theme = chosen === 'light' || (chosen !== 'dark' && light) ? 'light' : 'dark'
  root.dataset.contrast =
    chosen === 'contrast' || (chosen !== 'light' && chosen !== 'dark' && more) ? 'more' : 'normal'
})()

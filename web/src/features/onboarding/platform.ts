/** Where the app runs, as far as installing it goes. */
export type Platform =
  | 'installed' // from the Home Screen or as an app of its own
  | 'ios' // a tab on an iPhone or iPad: the installed app has another storage, and so another pairing
  | 'android' // a tab on Android: the installed app shares its storage
  | 'desk'

/** Tells where this page runs. An iPad calls itself a Mac, and is told by its touch screen. */
export function platformOf(userAgent: string, touchPoints: number, standalone: boolean): Platform {
  if (standalone) return 'installed'
  if (/iPhone|iPad|iPod/.test(userAgent)) return 'ios'
  if (/Macintosh/.test(userAgent) && touchPoints > 1) return 'ios'
  return /Android/.test(userAgent) ? 'android' : 'desk'
}

export function platform(): Platform {
  const standalone = window.matchMedia('(display-mode: standalone)').matches
  return platformOf(navigator.userAgent, navigator.maxTouchPoints, standalone)
}

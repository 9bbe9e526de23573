import type { IconName } from '@/ui/icons'

export interface Tab {
  name: 'sessions' | 'hosts' | 'settings'
  label: string
  icon: IconName
}

/** A tab appears with the release that fills it. */
export const tabs: Tab[] = [
  { name: 'sessions', label: 'Sessions', icon: 'sessions' },
  { name: 'hosts', label: 'Hosts', icon: 'host' },
  { name: 'settings', label: 'Settings', icon: 'settings' },
]

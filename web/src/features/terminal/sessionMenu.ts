import type { AttachmentState, Session } from '@/stores/types'
import type { MenuItem } from '@/ui/AppMenu.vue'

/** What this device is called in "Fit to this …". */
export type DeviceWord = 'phone' | 'window'

/** The session's menu: what can be done with it now. */
export function sessionMenu(
  session: Session | undefined,
  state: AttachmentState,
  device: DeviceWord,
  may: { type: boolean; administer: boolean; guest: boolean },
): MenuItem[] {
  if (may.guest) {
    return [
      { id: 'find', label: 'Find…', icon: 'search' },
      { id: 'leave', label: 'Stop watching', icon: 'x', note: 'The link does not work a second time' },
    ]
  }
  const running = session?.state === 'running' && may.type
  const live = state.phase === 'live'
  const grid = state.cols > 0 ? `now ${state.cols} × ${state.rows}` : ''
  const items: (MenuItem | false)[] = [
    running && {
      id: 'fit',
      label: `Fit to this ${device}`,
      icon: 'phone',
      note: state.mine ? `${grid}, sized here` : grid,
      disabled: !live || state.mine,
    },
    running &&
      state.mine && {
        id: 'release',
        label: 'Hand the size back',
        icon: 'back',
        note: 'The screen before this one sizes it again',
        disabled: !live,
      },
    running && { id: 'paste', label: 'Paste…', icon: 'copy', disabled: !live },
    { id: 'find', label: 'Find…', icon: 'search' },
    may.type && { id: 'rename', label: 'Rename…', icon: 'pen', disabled: !session },
    { id: 'link', label: 'Copy link', icon: 'link', note: 'Works on your own devices only' },
    may.administer && {
      id: 'share',
      label: 'Share: watch only…',
      icon: 'share',
      note: 'A link for somebody else, for a while',
      disabled: !session,
    },
    running && { id: 'stop', label: 'Stop…', icon: 'stop', danger: true },
  ]
  return items.filter((item) => item !== false)
}

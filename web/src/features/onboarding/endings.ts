import type { Ended } from '@/stores/identity'

export interface Ending {
  title: string
  text: string
}

/** Why this browser is nobody any more, and what helps, in words. */
export function endingOf(
  ended: Ended | null,
  was: { guest: unknown; insecure: boolean } | null,
): Ending | null {
  switch (ended) {
    case 'guest_over':
      return {
        title: 'Your time to watch is over',
        text: 'The link was for a while only, and that while has passed. Ask whoever invited you for a new one.',
      }
    case 'revoked':
      if (was?.guest) {
        return {
          title: 'Watching was ended',
          text: 'Whoever invited you ended it. Ask for a new link to go on.',
        }
      }
      return {
        title: 'This device’s access was ended',
        text: 'It was revoked on another device or on the server. Pair it again to go on. What you had written is kept for as long as this page stays open.',
      }
    case 'expired':
      return {
        title: 'This device was signed out',
        text: `${
          was?.insecure
            ? 'Over plain HTTP a sign-in lasts 24 hours.'
            : 'It was not here for too long, so its sign-in ended by itself.'
        } Pair it again, and you are back where you were. What you had written is kept.`,
      }
    case 'left_untold':
      return {
        title: 'You signed out here',
        text: 'The server could not be reached and still lists this device. It is told when this app next has a connection. Until then the browser keeps its cookie: if this device is out of your hands, end its access on another one.',
      }
    case 'left_listed':
      return {
        title: 'You signed out here',
        text: 'The server still lists this device. Nobody can use it any more: over plain HTTP a sign-in takes what was deleted here. End its access on another device to take it off the list.',
      }
    case 'signed_out':
      return { title: 'You signed out', text: 'Pair this device again whenever you want it back.' }
    case 'never_paired':
    case null:
      return null
  }
}

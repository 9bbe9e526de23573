import type { Session } from '@/stores/types'

/** Sessions by their names: "refactor-auth on mac-mini". One that this device does not know is said to be gone. */
export function sessionNames(
  keys: readonly { host: string; id: string }[],
  byKey: (host: string, id: string) => Session | undefined,
): string {
  const names = keys.map(({ host, id }) => {
    const session = byKey(host, id)
    return session ? `${session.name} on ${session.host_name}` : 'a session that is gone'
  })
  return names.join(', ')
}

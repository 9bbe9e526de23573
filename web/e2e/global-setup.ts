import { access } from 'node:fs/promises'
import path from 'node:path'

/** The tests drive the real binaries, as `make build` leaves them. */
export default async function globalSetup(): Promise<void> {
  for (const name of ['agent-helm', 'agent-helm-server']) {
    const file = path.resolve(import.meta.dirname, '../../bin', name)
    await access(file).catch(() => {
      throw new Error(`${file} is missing: run make build first`)
    })
  }
}

/**
 * The browser's storage, which may be full, forbidden or hold what another version wrote. Reading gives null then, and
 * writing does nothing: all that lives here is a convenience.
 */
export function readJSON(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null')
  } catch {
    return null
  }
}

export function writeJSON(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // Full or forbidden; see above.
  }
}

export function remove(name: string): void {
  try {
    localStorage.removeItem(name)
  } catch {
    // As above.
  }
}

/** The names in storage that begin with prefix. */
export function names(prefix: string): string[] {
  try {
    return Array.from({ length: localStorage.length }, (_, i) => localStorage.key(i) ?? '').filter((name) =>
      name.startsWith(prefix),
    )
  } catch {
    return []
  }
}

/** A small typed event source. A listener that throws does not keep the others from hearing. */
export class Emitter<Events extends object> {
  private readonly listeners = new Map<keyof Events, Set<(payload: never) => void>>()

  /** Calls listener for every event of that name; the returned function ends it. */
  on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): () => void {
    const set = this.listeners.get(name) ?? new Set()
    this.listeners.set(name, set)
    set.add(listener)
    return () => void set.delete(listener)
  }

  emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) {
      try {
        ;(listener as (payload: Events[Name]) => void)(payload)
      } catch (error) {
        reportError(error)
      }
    }
  }

  clear(): void {
    this.listeners.clear()
  }
}

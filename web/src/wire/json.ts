import { WireError } from './bytes'

/** An object that came as JSON, whose fields are not believed yet. */
export type Fields = { readonly [name: string]: unknown }

/** Reads the fields of JSON from outside. A field of the wrong type is a malformed frame. */
export class Shape {
  constructor(
    private readonly fields: Fields,
    private readonly what: string,
  ) {}

  static of(value: unknown, what: string): Shape {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new WireError('malformed', what)
    return new Shape(value as Fields, what)
  }

  raw(name: string): unknown {
    return this.fields[name]
  }

  private bad(name: string): never {
    throw new WireError('malformed', `${this.what}.${name}`)
  }

  private absent(name: string): boolean {
    return this.fields[name] === undefined || this.fields[name] === null
  }

  string(name: string, fallback?: string): string {
    const value = this.fields[name]
    if (typeof value === 'string') return value
    if (fallback !== undefined && this.absent(name)) return fallback
    return this.bad(name)
  }

  number(name: string, fallback?: number): number {
    const value = this.fields[name]
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (fallback !== undefined && this.absent(name)) return fallback
    return this.bad(name)
  }

  boolean(name: string, fallback = false): boolean {
    const value = this.fields[name]
    if (typeof value === 'boolean') return value
    return this.absent(name) ? fallback : this.bad(name)
  }

  optional<T>(name: string, read: (value: unknown) => T): T | null {
    return this.absent(name) ? null : read(this.fields[name])
  }

  list<T>(name: string, read: (value: unknown) => T): T[] {
    const value = this.fields[name]
    if (this.absent(name)) return []
    if (!Array.isArray(value)) return this.bad(name)
    return value.map(read)
  }

  /** One of the words that this version knows; anything else becomes fallback. */
  word<T extends string>(name: string, words: readonly T[], fallback: T): T {
    const value = this.fields[name]
    return words.find((word) => word === value) ?? fallback
  }
}

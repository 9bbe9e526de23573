import rows from '../../../internal/vt/testdata/queries/queries.json'

/** One question that programs ask terminals; the README beside the table says what the fields mean. */
export interface QueryRow {
  name: string
  /** An example, as it is written to the terminal. */
  query: string
  class: string
  prefix: string
  intermediates: string
  final: string
  osc: number | null
}

export const queryTable: readonly QueryRow[] = rows

interface Disposable {
  dispose(): void
}

/** The part of xterm's parser that takes handlers; the same in the browser and headless. */
export interface ParserHooks {
  registerCsiHandler(
    id: { prefix?: string; intermediates?: string; final: string },
    callback: (params: (number | number[])[]) => boolean,
  ): Disposable
  registerDcsHandler(
    id: { prefix?: string; intermediates?: string; final: string },
    callback: (data: string, params: (number | number[])[]) => boolean,
  ): Disposable
  registerEscHandler(id: { intermediates?: string; final: string }, callback: () => boolean): Disposable
  registerOscHandler(ident: number, callback: (data: string) => boolean): Disposable
}
